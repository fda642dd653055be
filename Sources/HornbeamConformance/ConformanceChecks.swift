internal import Hornbeam
internal import HornbeamModel

extension ConformanceCheck {
    static let all: [ConformanceCheck] = [
        values, identities, changes, deletions, toOnes, manyToMany, orders, fetches, conditions, inheritance, uniqueValues, conflicts, failures,
        notes, manyRows, history, historyParts, historyOfThreads,
    ]

    private static let values = ConformanceCheck("values of every type are read as they were saved, and so are missing values") { bench in
        let writer = bench.newContext()
        let ids = try ConformanceModel.samples.map { values in
            let object = try writer.make("Values", values)
            try writer.save()
            return object.objectID
        }
        try bench.everywhere { reader in
            for (id, values) in zip(ids, ConformanceModel.samples) {
                let object = try reader.existingObject(with: id)
                for property in object.entity.attributes {
                    let (found, wanted) = (try object.value(forKey: property.name), values[property.name] ?? .null)
                    try bench.require(found == wanted, "\(property.name) is \(found) instead of \(wanted)")
                }
            }
        }
    }

    private static let identities = ConformanceCheck("IDs are permanent, can be made from their URIs, and are never reused") { bench in
        let context = bench.newContext()
        let objects = try ["Author", "Tag", "Shelf"].map { name in
            try context.make(name, name == "Author" ? ["name": "a"] : name == "Tag" ? ["label": "t"] : [:])
        }
        try context.obtainPermanentIDs(for: [objects[0]])
        let early = objects[0].objectID
        try context.save()
        var seen = Set(objects.map(\.objectID.reference))
        try bench.require(early == objects[0].objectID && seen.count == 3, "the IDs are \(objects.map(\.objectID))")
        for object in objects {
            let coordinator = bench.container.persistentStoreCoordinator
            let id = coordinator.managedObjectID(forURIRepresentation: object.objectID.uriRepresentation())
            try bench.require(id == object.objectID, "\(object.objectID) became \(String(describing: id))")
            context.delete(object)
        }
        try context.save()
        let last = seen.max() ?? 0
        try bench.everywhere { reader in
            let new = try reader.make("Tag", ["label": "n"])
            try reader.save()
            try bench.require(seen.insert(new.objectID.reference).inserted, "the key \(last) was assigned twice")
            reader.delete(new)
            try reader.save()
        }
    }

    private static let changes = ConformanceCheck("changes are visible in other contexts, and durable") { bench in
        let writer = bench.newContext()
        let object = try writer.make("Author", ["name": "old", "born": 1900])
        try writer.save()
        let other = bench.newContext()
        let seen = try other.existingObject(with: object.objectID)
        _ = try seen.value(forKey: "name")
        try object.setValue("new", forKey: "name")
        try object.setValue(.null, forKey: "born")
        try writer.save()
        try other.mergeChanges()
        let shown = try seen.value(forKey: "name")
        try bench.require(shown == "new", "the other context shows \(shown)")
        try bench.everywhere { reader in
            let found = try reader.existingObject(with: object.objectID)
            let values = try [found.value(forKey: "name"), found.value(forKey: "born")]
            try bench.require(values == ["new", .null], "found \(values)")
        }
    }

    private static let deletions = ConformanceCheck("deleted objects no longer exist, nor do the objects of their cascade rules") { bench in
        let writer = bench.newContext()
        let author = try writer.make("Author", ["name": "a"])
        let book = try writer.make("Book", ["title": "b"])
        let kept = try writer.make("Song", ["title": "s"])
        try book.setObject(author, forKey: "author")
        try writer.save()
        writer.delete(author)
        try writer.save()
        try bench.everywhere { reader in
            try bench.require(try reader.all("Author").isEmpty && reader.all("Book").isEmpty, "an object still exists")
            try bench.require(try reader.all("Work").map(\.objectID) == [kept.objectID], "another object was deleted too")
            try bench.requireError(.objectNotFound) { _ = try reader.existingObject(with: book.objectID) }
        }
    }

    private static let toOnes = ConformanceCheck("to-one relationships and their inverses agree") { bench in
        let writer = bench.newContext()
        let (author, desk) = (try writer.make("Author", ["name": "a"]), try writer.make("Desk"))
        try author.setObject(desk, forKey: "desk")
        let books = try (0 ..< 5).map { try writer.make("Book", ["title": .string("b\($0)")]) }
        for book in books { try book.setObject(author, forKey: "author") }
        try writer.save()
        try books[4].setObject(nil, forKey: "author")
        try writer.save()
        try bench.everywhere { reader in
            let found = try reader.existingObject(with: author.objectID)
            let works = Set(try found.objectIDs(forRelationshipNamed: "works"))
            try bench.require(works == Set(books[0 ..< 4].map(\.objectID)), "there are \(works.count) works instead of 4")
            try bench.require(try found.objectIDs(forRelationshipNamed: "desk") == [desk.objectID], "the desk is lost")
            let back = try reader.existingObject(with: desk.objectID).objectIDs(forRelationshipNamed: "owner")
            try bench.require(back == [author.objectID], "the desk's owner is \(back)")
        }
    }

    private static let manyToMany = ConformanceCheck("members of many-to-many relationships are found from both ends") { bench in
        let writer = bench.newContext()
        let authors = try (0 ..< 3).map { try writer.make("Author", ["name": .string("a\($0)")]) }
        let tags = try (0 ..< 3).map { try writer.make("Tag", ["label": .string("t\($0)")]) }
        let book = try writer.make("Book", ["title": "b"])
        try book.setObjects(tags, forKey: "tags")
        try authors[0].setObjects([authors[1], authors[2]], forKey: "friends")
        try writer.save()
        try book.setObjects([tags[0], tags[2]], forKey: "tags")
        try writer.save()
        try bench.everywhere { reader in
            let found = Set(try reader.existingObject(with: book.objectID).objectIDs(forRelationshipNamed: "tags"))
            try bench.require(found == [tags[0].objectID, tags[2].objectID], "the tags are \(found)")
            let works = try tags.map { try reader.existingObject(with: $0.objectID).objectIDs(forRelationshipNamed: "works") }
            try bench.require(works == [[book.objectID], [], [book.objectID]], "the works of the tags are \(works)")
            let friends = try reader.existingObject(with: authors[2].objectID).objectIDs(forRelationshipNamed: "friends")
            try bench.require(friends == [authors[0].objectID], "the friends of a friend are \(friends)")
        }
    }

    private static let orders = ConformanceCheck("ordered relationships keep their order") { bench in
        let writer = bench.newContext()
        let shelf = try writer.make("Shelf")
        let books = try (0 ..< 6).map { try writer.make("Book", ["title": .string("b\($0)")]) }
        try shelf.setObjects([3, 1, 0, 2].map { books[$0] }, forKey: "books")
        try writer.save()
        let order = [5, 0, 3, 2, 4].map { books[$0] }
        try shelf.setObjects(order, forKey: "books")
        try writer.save()
        try bench.everywhere { reader in
            let found = try reader.existingObject(with: shelf.objectID).objectIDs(forRelationshipNamed: "books")
            try bench.require(found == order.map(\.objectID), "the order is \(found)")
        }
    }
}
