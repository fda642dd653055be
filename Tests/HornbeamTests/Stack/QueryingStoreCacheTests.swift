import Foundation
import Hornbeam
import HornbeamConformance
import Testing

/// The cached rows of stores that answer queries: new rows, rows that other processes have changed, and members.
@Suite struct QueryingStoreCacheTests {
    /// Makes stores, containers and requests.
    private let stores = QueryingStoreTests()

    @Test("CST-3: rows of a table are cached beside rows that were cached before, in any order, and their changes are read again")
    func tablesAreCached() throws {
        let store = try stores.storeWithAuthors(100, answersTables: true)
        let container = try stores.container(store)
        let context = container.newContext()
        #expect(try stores.births(context.fetch(stores.authors("born IN {1950, 1910, 1990}"))) == [1910, 1950, 1990])
        var descending = try stores.authors("born > 1905")
        descending.sortDescriptors = [FetchSort("born", ascending: false)]
        #expect(try stores.births(context.fetch(descending)) == (1906 ... 1999).reversed().map { .int($0) })
        let other = try stores.container(AnsweringStore(sharing: store)).newContext()
        for author in try other.fetch(stores.authors("born < 1920")) { try author.setValue(.string("new \(author.value(forKey: "born"))"), forKey: "name") }
        try other.save()
        // Rows that are cached in an older version, and rows that are not cached.
        let found = try container.newContext().fetch(stores.authors("born < 1925"))
        #expect(try found.map { try $0.value(forKey: "name") } == (1900 ..< 1925).map { .string($0 < 1920 ? "new \($0)" : "a\($0 - 1900)") })
    }

    @Test("CST-3: the negative zero in a row is cached as zero, as a save stores it", arguments: [false, true])
    func negativeZero(answersTables: Bool) throws {
        let store = AnsweringStore(answersTables: answersTables)
        store.database.change { content in
            for key in [1, 2] as [UInt64] { content.rows[key] = CustomStoreRow(CustomStoreKey("Author", key), values: ["height": .double(-0.0)], version: 1) }
            content.lastKey = 2
        }
        let model = try ManagedObjectModel { Entity("Author") { Attribute("height", .double, optional: true) } }
        let container = try PersistentContainer(name: "Test", model: model)
        container.persistentStoreDescriptions = [.custom(store)]
        try container.loadPersistentStores()
        let found = try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Author"))
        let signs = try found.map { author in
            guard case .double(let height) = try author.value(forKey: "height") else { throw HornbeamError(.typeMismatch, "The height is no number.") }
            return height.sign
        }
        #expect(signs == [.plus, .plus])
    }

    @Test("CST-3: a key that no object can have is reported, in any order of the rows", arguments: [false, true], [0, 1 << 48] as [UInt64])
    func impossibleKeys(isAscending: Bool, key: UInt64) throws {
        let store = AnsweringStore(answersTables: true)
        store.database.change { content in
            for key in [1, 2, key] { content.rows[key] = CustomStoreRow(CustomStoreKey("Author", key), values: ["born": .int(Int64(key))], version: 1) }
            content.lastKey = 2
        }
        let model = try ManagedObjectModel { Entity("Author") { Attribute("born", .integer64, optional: true) } }
        let container = try PersistentContainer(name: "Test", model: model)
        container.persistentStoreDescriptions = [.custom(store)]
        try container.loadPersistentStores()
        var request = FetchRequest<ManagedObject>(entityName: "Author")
        request.sortDescriptors = [FetchSort("born", ascending: isAscending)]
        let error = hornbeamError { _ = try container.newContext().fetch(request) }
        #expect(error?.code == .storeOperationFailed, "\(error?.message ?? "")")
    }

    @Test("CST-3: a row of a table with a unique value that a cached object had is cached, and so is the object's new row")
    func tablesWithExchangedUniqueValues() throws {
        let store = try stores.storeWithAuthors(4, answersTables: true)
        let container = try stores.container(store)
        #expect(try container.newContext().fetch(stores.authors("born == 1900")).count == 1)
        let other = try stores.container(AnsweringStore(sharing: store)).newContext()
        let (first, second) = (try #require(other.fetch(stores.authors("born == 1900")).first), try #require(other.fetch(stores.authors("born == 1901")).first))
        try first.setValue(.string("renamed"), forKey: "name")
        try other.save()
        try second.setValue(.string("a0"), forKey: "name")
        try other.save()
        let context = container.newContext()
        #expect(try context.fetch(stores.authors("born == 1901")).map { try $0.value(forKey: "name") } == [.string("a0")])
        #expect(try context.fetch(stores.authors()).map { try $0.value(forKey: "name") } == [.string("renamed"), .string("a0"), .string("a2"), .string("a3")])
    }

    @Test("CST-3: members whose rows were cached as a table are found when the relationship is read, in each context")
    func membersOfTables() throws {
        let store = try storeWithBooks(20)
        let container = try stores.container(store)
        let (first, second) = (container.newContext(), container.newContext())
        let books = FetchRequest<ManagedObject>(entityName: "Book", sortedBy: [FetchSort("title")])
        #expect(try first.fetch(books).count == 20)
        for context in [first, second] {
            for author in try context.fetch(stores.authors()) {
                let titles = try author.objectIDs(forRelationshipNamed: "works").map { try context.existingObject(with: $0).value(forKey: "title") }
                let number = try author.value(forKey: "born") == 1900 ? 0 : 1
                #expect(Set(titles) == Set((0 ..< 20).filter { $0 % 2 == number }.map { PropertyValue.string("b\($0)") }))
            }
        }
        // A condition over the relationship, which is decided here.
        #expect(try stores.births(second.fetch(stores.authors("ANY works.title MATCHES 'b1[13]'"))) == [1901])
    }

    @Test("CST-3: rows that were cached as a table are changed and deleted, by this process and by another one")
    func changesOfTables() throws {
        let store = try storeWithBooks(20)
        let container = try stores.container(store)
        let context = container.newContext()
        let books = FetchRequest<ManagedObject>(entityName: "Book", sortedBy: [FetchSort("title")])
        let found = try context.fetch(books)
        let authors = try context.fetch(stores.authors())
        try found[0].setValue(authors[1], forKey: "author")
        try found[1].setValue("renamed", forKey: "title")
        context.delete(found[2])
        try context.save()
        let process = try stores.container(AnsweringStore(sharing: store)).newContext()
        let theirs = try process.fetch(books)
        #expect(theirs.count == 19)
        try theirs[0].setValue(process.fetch(stores.authors()).first, forKey: "author")
        process.delete(theirs[3])
        try process.save()
        for other in [context, container.newContext()] {
            #expect(try other.fetch(books).map { try $0.value(forKey: "title") } == theirs.indices.filter { $0 != 3 }.map { try theirs[$0].value(forKey: "title") })
            let counts = try other.fetch(stores.authors()).map { try $0.objectIDs(forRelationshipNamed: "works").count }
            let expected = try process.fetch(stores.authors()).map { try $0.objectIDs(forRelationshipNamed: "works").count }
            #expect(counts == expected && counts.reduce(0, +) == 18)
        }
    }

    @Test("CST-3, MOD-8: a unique value of a row that was cached as a table is a conflict that names its object")
    func uniqueValuesOfTables() throws {
        let store = try stores.storeWithAuthors(4, answersTables: true)
        let context = try stores.container(store).newContext()
        let found = try context.fetch(stores.authors())
        let new = try context.insert(entityNamed: "Author")
        try new.setValue("a2", forKey: "name")
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .constraintConflict)
        #expect(error?.constraintConflicts.first?.storedID == found[2].objectID)
        // The value is free when its object has another one.
        try found[2].setValue("other", forKey: "name")
        try context.save()
        #expect(try stores.container(AnsweringStore(sharing: store)).newContext().fetch(stores.authors("name == 'a2'")).count == 1)
        // Objects exchange their values.
        try found[0].setValue("a1", forKey: "name")
        try found[1].setValue("a0", forKey: "name")
        try context.save()
        #expect(try context.fetch(stores.authors("name == 'a1'")) == [found[0]])
    }

    @Test("CST-3: a fetch that is decided here leaves out a deleted object whose row was cached as a table, in each order", arguments: ["name", "born"])
    func deletedRowsOfTables(order: String) throws {
        let store = try stores.storeWithAuthors(10, answersTables: true)
        let context = try stores.container(store).newContext()
        #expect(try context.fetch(stores.authors()).count == 10)
        let other = try stores.container(AnsweringStore(sharing: store)).newContext()
        other.delete(try #require(other.fetch(stores.authors("born == 1905")).first))
        try other.save()
        // The costs of a scan and of a path over the unique names depend on the order.
        var request = try stores.authors("name >= 'a' AND works.@count < 5")
        request.sortDescriptors = [FetchSort(order)]
        #expect(try stores.births(context.fetch(request)) == (1900 ..< 1910 as Range<Int64>).filter { $0 != 1905 }.map { .int($0) })
    }

    @Test("CST-3: a fetch that is decided here reads no members that another process deleted", arguments: [false, true])
    func deletedMembers(readsRelationships: Bool) throws {
        let store = try storeWithBooks(4)
        let context = try stores.container(store).newContext()
        let books = FetchRequest<ManagedObject>(entityName: "Book", sortedBy: [FetchSort("title")])
        #expect(try context.fetch(books).count == 4)
        if readsRelationships {
            for author in try context.fetch(stores.authors()) { #expect(try author.objectIDs(forRelationshipNamed: "works").count == 2) }
        }
        let other = try stores.container(AnsweringStore(sharing: store)).newContext()
        other.delete(try #require(other.fetch(books).dropFirst().first))
        try other.save()
        #expect(try stores.births(context.fetch(stores.authors("ANY works.title MATCHES 'b1'"))) == [])
        #expect(try stores.births(context.fetch(stores.authors("ANY works.title MATCHES 'b[13]'"))) == [1901])
        #expect(try stores.births(context.fetch(stores.authors("works.@count == 1"))) == [1901])
        var counts = FetchRequest<[String: PropertyValue]>(entityName: "Author", sortedBy: [FetchSort("born")])
        counts.propertiesToFetch = try [.expression("n", "SUBQUERY(works, $w, $w.title == 'b1').@count")]
        #expect(try context.fetch(counts) == [["n": 0], ["n": 0]])
    }

    @Test("CST-3, BAT-2: a batch update that is executed here reads no members that another process deleted")
    func deletedMembersInBatches() throws {
        let store = try storeWithBooks(4)
        let context = try stores.container(store).newContext()
        for author in try context.fetch(stores.authors()) { #expect(try author.objectIDs(forRelationshipNamed: "works").count == 2) }
        let other = try stores.container(AnsweringStore(sharing: store)).newContext()
        other.delete(try #require(other.fetch(FetchRequest<ManagedObject>(entityName: "Book", sortedBy: [FetchSort("title")])).dropFirst().first))
        try other.save()
        var update = BatchUpdateRequest(entityName: "Author")
        update.propertiesToUpdate["born"] = try FetchExpression(format: "works.@count")
        try context.execute(update)
        #expect(try stores.births(context.fetch(stores.authors())) == [1, 2])
    }

    @Test("CST-3: a relationship is read again if rows of an answer were cached as a table and the others were refused")
    func refusedRowsBesideTables() throws {
        let store = try storeWithBooks(2)
        let container = try stores.container(store)
        let context = container.newContext()
        let author = try #require(context.fetch(stores.authors("born == 1900")).first)
        #expect(try author.objectIDs(forRelationshipNamed: "works").count == 1)
        let other = try stores.container(AnsweringStore(sharing: store)).newContext()
        let book = try other.insert(entityNamed: "Book")
        try book.setValue("new", forKey: "title")
        try book.setValue(other.fetch(stores.authors("born == 1900")).first, forKey: "author")
        try other.save()
        // A row with a key that no object has. It has members, so it is not part of the table.
        store.database.change { content in
            content.rows[0] = CustomStoreRow(CustomStoreKey("Book", 0), values: ["title": "bad"], members: ["tags": [CustomStoreKey("Tag", 1000)]])
        }
        let books = FetchRequest<ManagedObject>(entityName: "Book", sortedBy: [FetchSort("title")])
        #expect(hornbeamError { _ = try context.fetch(books) }?.code == .storeOperationFailed)
        store.database.change { $0.rows[0] = nil }
        let same = try container.newContext().existingObject(with: author.objectID)
        #expect(try same.objectIDs(forRelationshipNamed: "works").contains(book.objectID))
        #expect(try author.objectIDs(forRelationshipNamed: "works").contains(book.objectID))
    }

    @Test("CST-3, MOC-18: objects of a released context read the rows and members that are loaded later")
    func objectsWithoutContext() throws {
        let store = try storeWithBooks(20)
        let container = try stores.container(store)
        let books = try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Book", sortedBy: [FetchSort("title")]))
        let complete = try FetchPredicate(format: "author.works.@count == 10 AND SUBQUERY(author.works, $w, $w.author == author).@count == 10")
        for round in 0 ..< 3 {
            for book in books { #expect(try complete.evaluate(with: book), "round \(round)") }
            // Other rows make snapshots of the cache.
            _ = try container.newContext().fetch(stores.authors("born == \(1900 + round)"))
        }
    }

    /// A store with two authors, whose rows have members, and books of both in turn, whose rows are in tables.
    private func storeWithBooks(_ count: Int) throws -> AnsweringStore {
        let store = try stores.storeWithAuthors(2, answersTables: true)
        let context = try stores.container(store).newContext()
        let authors = try context.fetch(stores.authors())
        for number in 0 ..< count {
            let book = try context.insert(entityNamed: "Book")
            try book.setValue(.string("b\(number)"), forKey: "title")
            try book.setValue(authors[number % 2], forKey: "author")
        }
        try context.save()
        return AnsweringStore(sharing: store)
    }

    @Test("CST-3: a relationship that another context has read is complete in each context")
    func membersInSeveralContexts() throws {
        let store = try stores.storeWithAuthors(1)
        let writer = try stores.container(store).newContext()
        let book = try writer.insert(entityNamed: "Book")
        try book.setValue("b", forKey: "title")
        let author = try #require(writer.fetch(stores.authors()).first)
        try book.setValue(author, forKey: "author")
        try writer.save()
        let fresh = try stores.container(AnsweringStore(sharing: store))
        let (first, second, third) = (fresh.newContext(), fresh.newContext(), fresh.newContext())
        let child = third.newChildContext()
        var found: [ManagedObject] = []
        for context in [first, second, child] { found += try context.fetch(stores.authors()) }
        #expect(found.count == 3)
        // The first one loads the books into the cache, after the snapshots of the others.
        for author in found { #expect(try author.objectIDs(forRelationshipNamed: "works").count == 1) }
    }

    @Test("CST-3: a relationship is read again after a fetch, without the members that another process removed")
    func formerMembersLeave() throws {
        let store = try stores.storeWithAuthors(2)
        let (mine, other) = (try stores.container(store).newContext(), try stores.container(AnsweringStore(sharing: store)).newContext())
        let mineFirst = try #require(mine.fetch(stores.authors("born == 1900")).first)
        let book = try mine.insert(entityNamed: "Book")
        try book.setValue("b", forKey: "title")
        try book.setValue(mineFirst, forKey: "author")
        try mine.save()
        #expect(try mineFirst.objectIDs(forRelationshipNamed: "works") == [book.objectID])
        let same = try #require(other.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        try same.setValue(try other.fetch(stores.authors("born == 1901")).first, forKey: "author")
        try other.save()
        _ = try mine.fetch(stores.authors("born == 1900"))
        #expect(try mineFirst.objectIDs(forRelationshipNamed: "works") == [])
    }

    @Test("CST-3: contexts merge the saves that the store announces, without a fetch")
    func announcedSavesAreMerged() throws {
        let store = try stores.storeWithAuthors(3)
        let listening = AnsweringStore(sharing: store, announces: true)
        let container = try stores.container(listening)
        let context = container.newContext()
        let found = try context.fetch(stores.authors())
        #expect(try found[0].objectIDs(forRelationshipNamed: "works") == [])
        let other = try stores.container(AnsweringStore(sharing: store)).newContext()
        let same = try other.fetch(stores.authors())
        try same[1].setValue("renamed", forKey: "name")
        other.delete(same[2])
        let book = try other.insert(entityNamed: "Book")
        try book.setValue("b", forKey: "title")
        try book.setValue(same[0], forKey: "author")
        try other.save()
        _ = listening.takeLog()
        try context.mergeChanges()
        #expect(try found[1].value(forKey: "name") == "renamed")
        #expect(found[2].isDeleted)
        #expect(try found[0].objectIDs(forRelationshipNamed: "works") == [book.objectID])
        let log = listening.takeLog()
        #expect(log == ["rows 2"])
    }

    @Test("CST-3: an answer that was read before a save of the same process is read again")
    func answersDoNotReplaceNewerRows() throws {
        let store = try stores.storeWithAuthors(3)
        let container = try stores.container(store)
        let context = container.newContext()
        let request = try stores.authors("born >= 1901")
        _ = try context.fetch(request)
        _ = store.takeLog()
        store.callAfterReading {
            let other = container.newContext()
            guard let author = try? other.fetch(FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("born")])).last else { return }
            try? author.setValue(2000, forKey: "born")
            try? other.save()
        }
        #expect(try stores.births(context.fetch(request)) == [1901, 2000])
        let log = store.takeLog()
        #expect(log == ["objects 2", "objects 3", "objects 2"])
    }

    @Test(
        "CST-3: rows of a read that another read has overtaken do not replace newer rows; those of an object that was made again do",
        arguments: [false, true], [false, true])
    func overtakenReads(answersTables: Bool, prefetches: Bool) throws {
        let store = try stores.storeWithAuthors(2, answersTables: answersTables)
        let container = try stores.container(store)
        let process = try stores.container(AnsweringStore(sharing: store))
        store.callAfterReading {
            let request = FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("name")])
            let context = process.newContext()
            guard let author = try? context.fetch(request).first else { return }
            try? author.setValue(2000, forKey: "born")
            try? context.save()
            // Another context reads the newer row before the first one caches the older row.
            _ = try? container.newContext().fetch(request)
        }
        var request = FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("name")])
        if prefetches { request.relationshipKeyPathsForPrefetching = ["desk"] }
        let context = container.newContext()
        let found = try context.fetch(request)
        #expect(try stores.births(found) == [2000, 1901])
        let key = try #require(found.first).objectID.reference
        store.database.change { content in
            content.rows[key]?.version = 1
            content.rows[key]?.values["born"] = 3000
        }
        #expect(try stores.births(container.newContext().fetch(request)) == [3000, 1901])
    }
}
