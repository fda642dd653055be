internal import Hornbeam
internal import HornbeamModel

extension ConformanceCheck {
    static let fetches = ConformanceCheck("predicates, orders, limits and counts have the same results as in memory") { bench in
        let writer = bench.newContext()
        for number in 0 ..< 30 { try writer.make("Author", ["name": .string("a\(number)"), "born": .int(Int64(number * 7 % 10))]) }
        try writer.save()
        try bench.everywhere { reader in
            for format in ["born > 5", "name BEGINSWITH 'a1'", "born IN {1, 2} OR name == 'a7'", "born == nil", "NOT born < 8"] {
                let all = try reader.all("Author")
                let predicate = try FetchPredicate(format: format)
                let wanted = try Set(all.filter { try predicate.evaluate(with: $0) }.map(\.objectID))
                let found = Set(try reader.all("Author", by: nil, format).map(\.objectID))
                try bench.require(found == wanted, "\(format) finds \(found.count) instead of \(wanted.count)")
            }
            var request = FetchRequest<ManagedObject>(entityName: "Author")
            request.sortDescriptors = [FetchSort("born", ascending: false), FetchSort("name")]
            let whole = try reader.fetch(request).map(\.objectID)
            request.fetchOffset = 3
            request.fetchLimit = 5
            try bench.require(try reader.fetch(request).map(\.objectID) == Array(whole[3 ..< 8]), "offset and limit return other objects")
            try bench.require(try whole.count == 30 && reader.count(request) == 5, "the counts are wrong")
        }
    }

    static let inheritance = ConformanceCheck("a fetch of an entity finds the objects of its subentities, with their own entities") { bench in
        let writer = bench.newContext()
        try writer.make("Book", ["title": "b", "pages": 3])
        try writer.make("Song", ["title": "s", "seconds": 1.5])
        try writer.save()
        try bench.everywhere { reader in
            let works = try reader.all("Work", by: "title")
            try bench.require(works.map(\.entity.name) == ["Book", "Song"], "found \(works.map(\.entity.name))")
            try bench.require(try reader.all("Song").count == 1, "there is not one song")
        }
    }

    static let uniqueValues = ConformanceCheck("a unique value is saved once, and the second save of it is refused") { bench in
        let (first, second) = (bench.newContext(), bench.newContext())
        try first.make("Author", ["name": "same"])
        try first.save()
        try second.make("Author", ["name": "same"])
        try bench.requireError(.constraintConflict) { try second.save() }
        second.rollback()
        try second.make("Author", ["name": "other"])
        try second.save()
        try bench.everywhere { reader in
            let names = try reader.all("Author", by: "name").map { try $0.value(forKey: "name") }
            try bench.require(names == ["other", "same"], "the names are \(names)")
        }
    }

    static let conflicts = ConformanceCheck("a save of an object that another context changed is refused, and can be merged") { bench in
        let writer = bench.newContext()
        let object = try writer.make("Author", ["name": "a", "born": 1])
        try writer.save()
        let stale = bench.newContext()
        stale.automaticallyMergesChangesFromParent = false
        let mine = try stale.existingObject(with: object.objectID)
        try mine.setValue(2, forKey: "born")
        try object.setValue(3, forKey: "born")
        try writer.save()
        try bench.requireError(.mergeConflict) { try stale.save() }
        stale.mergePolicy = .mergeByPropertyObjectTrump
        try stale.save()
        try bench.everywhere { reader in
            let born = try reader.existingObject(with: object.objectID).value(forKey: "born")
            try bench.require(born == 2, "the value is \(born)")
        }
    }

    static let failures = ConformanceCheck("a save that is refused writes nothing, and the context can save later") { bench in
        let writer = bench.newContext()
        try writer.make("Author", ["name": "there"])
        try writer.save()
        let context = bench.newContext()
        try context.make("Tag", ["label": "with it"])
        let bad = try context.make("Author")
        try bench.requireError(.missingRequiredValue) { try context.save() }
        try bad.setValue("there", forKey: "name")
        try bench.requireError(.constraintConflict) { try context.save() }
        try bench.require(try bench.newContext().all("Tag").isEmpty, "half of a refused save was written")
        try bad.setValue("good", forKey: "name")
        try context.save()
        try bench.everywhere { reader in
            let counts = try (reader.all("Tag").count, reader.all("Author").count)
            try bench.require(counts == (1, 2), "there are \(counts) tags and authors")
        }
    }

    static let notes = ConformanceCheck("the metadata is stored, or refused with unsupportedRequest") { bench in
        let coordinator = bench.container.persistentStoreCoordinator
        let store = coordinator.persistentStores[0]
        do {
            try coordinator.setMetadata(["note": "kept", "version": 3], for: store)
        } catch let error as HornbeamError where error.code == .unsupportedRequest { return }
        try bench.everywhere { _ in
            let coordinator = bench.container.persistentStoreCoordinator
            let notes = try coordinator.metadata(for: coordinator.persistentStores[0])
            try bench.require(notes["note"] == "kept" && notes["version"] == 3, "the notes are \(notes)")
            try bench.require(coordinator.persistentStores[0].identifier == store.identifier, "the identity changed")
        }
    }

    static let manyRows = ConformanceCheck("a thousand objects are saved, changed and deleted in one save") { bench in
        let writer = bench.newContext()
        let tags = try (0 ..< 1000).map { try writer.make("Tag", ["label": .string("t\($0)")]) }
        try writer.save()
        for (number, tag) in tags.enumerated() {
            if number % 3 == 0 { writer.delete(tag) } else if number % 3 == 1 { try tag.setValue("changed", forKey: "label") }
        }
        try writer.save()
        try bench.everywhere { reader in
            let counts = try (reader.all("Tag").count, reader.all("Tag", by: nil, "label == 'changed'").count)
            try bench.require(counts == (666, 333), "there are \(counts)")
        }
    }
}
