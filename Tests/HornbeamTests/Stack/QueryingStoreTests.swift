import Foundation
import Hornbeam
import HornbeamConformance
import Testing

/// Custom stores that answer fetches and counts themselves.
@Suite struct QueryingStoreTests {
    func container(_ store: AnsweringStore, _ others: [PersistentStoreDescription] = []) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Test", model: StoreConformance.model())
        container.persistentStoreDescriptions = [.custom(store)] + others
        try container.loadPersistentStores()
        return container
    }

    /// A store with authors a0, a1, …, born in 1900, 1901, …
    func storeWithAuthors(_ count: Int, answersTables: Bool = false) throws -> AnsweringStore {
        let store = AnsweringStore(answersTables: answersTables)
        let container = try container(store)
        let context = container.newContext()
        for number in 0 ..< count {
            let author = try context.insert(entityNamed: "Author")
            try author.setValue(.string("a\(number)"), forKey: "name")
            try author.setValue(.int(Int64(1900 + number)), forKey: "born")
        }
        try context.save()
        try container.close()
        _ = store.takeLog()
        return AnsweringStore(sharing: store)
    }

    func authors(_ format: String? = nil, limit: Int = 0, offset: Int = 0) throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("born")])
        request.predicate = try format.map { try FetchPredicate(format: $0) }
        request.fetchLimit = limit
        request.fetchOffset = offset
        return request
    }

    func births(_ objects: [ManagedObject]) throws -> [PropertyValue] { try objects.map { try $0.value(forKey: "born") } }

    @Test("CST-3: a store that answers queries passes the conformance suite", arguments: [false, true])
    func answeringStoreConforms(answersTables: Bool) throws {
        let conformance = StoreConformance(
            reopening: { .custom(AnsweringStore(sharing: try #require($0.customStore as? AnsweringStore))) }
        ) { .custom(AnsweringStore(answersTables: answersTables)) }
        for failure in conformance.run() { Issue.record("\(failure)") }
    }

    @Test("CST-3: the error of a rule that only the store has names the objects, new ones by their temporary IDs")
    func violations() throws {
        let context = try container(storeWithAuthors(1)).newContext()
        let old = try #require(context.fetch(authors()).first)
        let new = try context.insert(entityNamed: "Author")
        for (author, name) in [(old, "old"), (new, "new")] {
            try author.setValue(.string(name), forKey: "name")
            try author.setValue(-1, forKey: "born")
        }
        var error: HornbeamError?
        do { try context.save() } catch let failure as HornbeamError { error = failure }
        #expect(error?.code == .validation && error?.key == "born")
        #expect(Set(error?.objectIDs ?? []) == [old.objectID, new.objectID] && new.objectID.isTemporaryID)
        #expect(context.hasChanges)
        try old.setValue(1, forKey: "born")
        try new.setValue(1, forKey: "born")
        try context.save()
        #expect(!new.objectID.isTemporaryID)
    }

    @Test("CST-3, FET-4: a fetch reads the rows of its window only, and a count reads no row")
    func windowIsAppliedByTheStore() throws {
        let store = try storeWithAuthors(100)
        let context = try container(store).newContext()
        #expect(try births(context.fetch(authors("born >= 1910", limit: 3, offset: 20))) == [1930, 1931, 1932])
        #expect(store.takeLog() == ["objects 3"])
        #expect(try context.count(authors("born >= 1910")) == 90)
        #expect(store.takeLog() == ["count 90"])
    }

    @Test("CST-3: Hornbeam finds the results when the store cannot")
    func otherConditionsAreDecidedHere() throws {
        let store = try storeWithAuthors(100)
        let context = try container(store).newContext()
        #expect(try births(context.fetch(authors("name MATCHES 'a.5' AND born > 1930", limit: 2, offset: 1))) == [1945, 1955])
        #expect(store.takeLog() == ["rows 150"])
        #expect(try context.count(authors("ANY works.title == nil OR name ENDSWITH '7'")) == 10)
        #expect(store.takeLog() == ["rows 150"])
        #expect(try context.explain(authors("name MATCHES 'a.5'")) == "fetch Author\n  by the store")
        #expect(try context.explain(authors("length:(name) > 3"))
            == "fetch Author\n  by the store: more rows, of which Hornbeam finds the results")
    }

    @Test("CST-3, FET-10: unsaved changes are part of the results, with offset and limit")
    func unsavedChangesAreIncluded() throws {
        let store = try storeWithAuthors(20)
        let context = try container(store).newContext()
        let first = try #require(context.fetch(authors("born == 1900")).first)
        try first.setValue(1912, forKey: "born")
        let last = try #require(context.fetch(authors("born == 1919")).first)
        context.delete(last)
        let new = try context.insert(entityNamed: "Author")
        try new.setValue("new", forKey: "name")
        try new.setValue(1914, forKey: "born")
        #expect(try births(context.fetch(authors("born >= 1910", limit: 6, offset: 1))) == [1911, 1912, 1912, 1913, 1914, 1914])
        #expect(try context.count(authors("born >= 1910")) == 11)
        let child = context.newChildContext()
        #expect(try births(child.fetch(authors("born >= 1918"))) == [1918])
        #expect(try child.count(authors()) == 20)
    }

    @Test("CST-3, MRG-1: a save over a row that another process changed is refused like in Hornbeam's own stores")
    func changedRowsAreConflicts() throws {
        let store = try storeWithAuthors(3)
        let (mine, other) = (try container(store).newContext(), try container(AnsweringStore(sharing: store)).newContext())
        let author = try #require(mine.fetch(authors("born == 1901")).first)
        try author.setValue("mine", forKey: "name")
        let same = try #require(other.fetch(authors("born == 1901")).first)
        try same.setValue("other", forKey: "name")
        try other.save()
        #expect(hornbeamError { try mine.save() }?.code == .mergeConflict)
        mine.mergePolicy = .mergeByPropertyObjectTrump
        try mine.save()
        #expect(try container(AnsweringStore(sharing: store)).newContext().count(authors("name == 'mine'")) == 1)
        try same.setValue("late", forKey: "name")
        other.delete(try #require(other.fetch(authors("born == 1900")).first))
        let gone = try #require(mine.fetch(authors("born == 1900")).first)
        try gone.setValue("gone", forKey: "name")
        other.mergePolicy = .mergeByPropertyObjectTrump
        try other.save()
        mine.mergePolicy = .error
        #expect(hornbeamError { try mine.save() }?.code == .mergeConflict)
    }

    @Test("CST-3, MOD-8: a unique value that another process saved is a conflict with its object")
    func takenUniqueValuesAreConflicts() throws {
        let store = try storeWithAuthors(3)
        let context = try container(store).newContext()
        let author = try context.insert(entityNamed: "Author")
        try author.setValue("a2", forKey: "name")
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .constraintConflict)
        #expect(error?.message.contains("and the stored Author/p3 have the same value") == true)
        context.mergePolicy = .mergeByPropertyObjectTrump
        try author.setValue(2000, forKey: "born")
        try context.save()
        #expect(try births(context.fetch(authors("name == 'a2'"))) == [2000])
        #expect(try context.count(authors()) == 3)
    }

    @Test("CST-3, FET-11: prefetching loads the objects of a relationship with one call")
    func prefetchingLoadsTogether() throws {
        let store = try storeWithAuthors(5)
        let writer = try container(store).newContext()
        for author in try writer.fetch(authors()) {
            let desk = try writer.insert(entityNamed: "Desk")
            try author.setValue(desk, forKey: "desk")
        }
        try writer.save()
        let fresh = AnsweringStore(sharing: store)
        let context = try container(fresh).newContext()
        var request = try authors()
        request.relationshipKeyPathsForPrefetching = ["desk"]
        let found = try context.fetch(request)
        for author in found { _ = try author.object(forKey: "desk")?.value(forKey: "place") }
        let log = fresh.takeLog()
        #expect(log == ["objects 5", "rows 5"])
    }

    @Test("CST-3, FET-14: dictionaries and groups read the objects that their columns need")
    func dictionariesReadRelatedObjects() throws {
        let store = try storeWithAuthors(4)
        let writer = try container(store).newContext()
        for author in try writer.fetch(authors("born > 1901")) {
            let desk = try writer.insert(entityNamed: "Desk")
            try desk.setValue("attic", forKey: "place")
            try author.setValue(desk, forKey: "desk")
        }
        try writer.save()
        let context = try container(AnsweringStore(sharing: store)).newContext()
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Author", sortedBy: [FetchSort("born")])
        request.propertiesToFetch = ["born", "desk.place"]
        let rows = try context.fetch(request)
        #expect(rows.map { $0["desk.place"] } == [.null, .null, "attic", "attic"])
        request.propertiesToFetch = ["desk.place", .count(as: "n")]
        request.propertiesToGroupBy = ["desk.place"]
        request.sortDescriptors = [FetchSort("desk.place")]
        #expect(try context.fetch(request) == [["desk.place": .null, "n": 2], ["desk.place": "attic", "n": 2]])
    }

    @Test("CST-3: random requests have the same results as in a store in memory, with unsaved changes", arguments: 1 ... 6)
    func answersAreThoseOfTheEngine(seed: UInt64) throws {
        var random = Xorshift(seed)
        let server = AnsweringStore()
        let memory = try PersistentContainer(name: "Memory", model: StoreConformance.model())
        memory.persistentStoreDescriptions = [.inMemory()]
        try memory.loadPersistentStores()
        let containers = [try container(server), memory]
        let values = (0 ..< 40).map { _ in random.below(5) == 0 ? PropertyValue.null : .int(Int64(random.below(7))) }
        for container in containers { try insert(values, into: container.newContext()) }
        let contexts = [try container(AnsweringStore(sharing: server)).newContext(), memory.newContext()]
        for step in 0 ..< 80 {
            if step == 40 {
                let changes = (0 ..< 6).map { _ in (place: random.below(40), value: PropertyValue.int(Int64(random.below(7)))) }
                for context in contexts { try change(context, changes) }
            }
            let request = try random.request()
            let results = try contexts.map { context in try context.fetch(request).map { try $0.value(forKey: "name") } }
            #expect(results[0] == results[1], "seed \(seed), step \(step): \(request)")
            #expect(try contexts[0].count(request) == contexts[1].count(request), "seed \(seed), step \(step): count of \(request)")
        }
    }

    private func insert(_ births: [PropertyValue], into context: ManagedObjectContext) throws {
        for (number, born) in births.enumerated() {
            let author = try context.insert(entityNamed: "Author")
            try author.setValue(.string("a\(number)"), forKey: "name")
            try author.setValue(born, forKey: "born")
            if case .int = born { try author.setValue(try context.insert(entityNamed: "Desk"), forKey: "desk") }
        }
        try context.save()
    }

    /// Changes some authors, deletes one and adds one, and saves nothing.
    private func change(_ context: ManagedObjectContext, _ changes: [(place: Int, value: PropertyValue)]) throws {
        let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("name")]))
        for (place, value) in changes { try all[place].setValue(value, forKey: "born") }
        context.delete(all[7])
        let author = try context.insert(entityNamed: "Author")
        try author.setValue("z", forKey: "name")
        try author.setValue(3, forKey: "born")
    }

    @Test("CST-3, FET-14: groups are made by the store, and here while objects have unsaved changes")
    func groupsAreMadeByTheStore() throws {
        let store = try storeWithAuthors(10)
        let context = try container(store).newContext()
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Author", predicate: try FetchPredicate(format: "born > 1907"))
        request.propertiesToFetch = ["born", .count(as: "n")]
        request.propertiesToGroupBy = ["born"]
        #expect(try context.fetch(request) == [["born": 1908, "n": 1], ["born": 1909, "n": 1]])
        var log = store.takeLog()
        #expect(log == ["groups 2"])
        try #require(context.fetch(authors("born == 1908")).first).setValue(1909, forKey: "born")
        #expect(try context.fetch(request) == [["born": 1909, "n": 2]])
        request.havingPredicate = try FetchPredicate(format: "n > 1")
        context.rollback()
        _ = store.takeLog()
        #expect(try context.fetch(request) == [])
        log = store.takeLog()
        #expect(log == ["groups 2"])
    }

    @Test("BAT-1, CST-3: rows of a batch insert whose values only the store has are refused, skipped, or update the stored objects")
    func batchInsertsMeetUniqueValues() throws {
        let store = try storeWithAuthors(3)
        let context = try container(store).newContext()
        let rows = (1 ..< 5).map { ["name": PropertyValue.string("a\($0)"), "born": .int(1990)] }
        var request = BatchInsertRequest(entityName: "Author", objects: rows)
        #expect(hornbeamError { try context.execute(request) }?.code == .constraintConflict)
        request = BatchInsertRequest(entityName: "Author", objects: rows)
        request.onConflict = .skip
        let skipped = try context.execute(request)
        #expect(skipped.count == 2 && skipped.skippedCount == 2)
        request = BatchInsertRequest(entityName: "Author", objects: rows)
        request.onConflict = .update
        request.resultType = .objectIDs
        let updated = try context.execute(request)
        #expect(updated.count == 4 && updated.updatedCount == 4 && updated.objectIDs.count == 4)
        let other = try container(AnsweringStore(sharing: store)).newContext()
        #expect(try births(other.fetch(authors())) == [1900, 1990, 1990, 1990, 1990])
    }

    @Test("BAT-2, BAT-3, CST-3: batches change and delete the newest rows, also those that another process has changed meanwhile")
    func batchesUseTheNewestRows() throws {
        let store = try storeWithAuthors(5)
        let mine = try container(store).newContext()
        let held = try #require(mine.fetch(authors("born == 1904")).first)
        let other = try container(AnsweringStore(sharing: store)).newContext()
        try #require(other.fetch(authors("born == 1904")).first).setValue(1950, forKey: "born")
        try other.save()
        var update = BatchUpdateRequest(entityName: "Author", predicate: try FetchPredicate(format: "born >= 1903"))
        update.propertiesToUpdate["born"] = try FetchExpression(format: "born + 1")
        update.resultType = .count
        #expect(try mine.execute(update).count == 2)
        #expect(try held.value(forKey: "born") == 1951)
        #expect(try births(other.fetch(authors())) == [1900, 1901, 1902, 1904, 1951])
        let delete = BatchDeleteRequest(entityName: "Author", predicate: try FetchPredicate(format: "name MATCHES 'a[0-2]'"))
        #expect(try mine.execute(delete).count == 3)
        #expect(try births(container(AnsweringStore(sharing: store)).newContext().fetch(authors())) == [1904, 1951])
    }

    @Test("QGN-1, PSC-2: query generations and saves over several stores are refused", arguments: StoreKind.allCases)
    func impossibleRequestsAreRefused(kind: StoreKind) throws {
        let store = AnsweringStore()
        let context = try container(store).newContext()
        #expect(hornbeamError { try context.setQueryGeneration(from: .current) }?.code == .unsupportedRequest)
        let both = try container(AnsweringStore(sharing: store), [Stack.freshDescription(kind)])
        let writer = both.newContext()
        for store in both.persistentStoreCoordinator.persistentStores {
            let tag = try writer.insert(entityNamed: "Tag")
            try tag.setValue("t", forKey: "label")
            try writer.assign(tag, to: store)
        }
        #expect(hornbeamError { try writer.save() }?.code == .unsupportedRequest)
        #expect(try both.newContext().count(FetchRequest<ManagedObject>(entityName: "Tag")) == 0)
    }
}

/// Pseudo-random numbers and requests for authors.
private struct Xorshift {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func below(_ count: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(count))
    }

    mutating func request() throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: "Author")
        let tests = [
            "born == \(below(7))", "born != \(below(7))", "born > \(below(7))", "NOT born <= \(below(7))", "born == nil", "born IN {1, 3, nil}",
            "name > 'a2' OR born < 2", "desk == nil", "name LIKE 'a*\(below(9))'", "desk.place == nil AND born > 1",
        ]
        request.predicate = try FetchPredicate(format: tests[below(tests.count)])
        for key in ["born", "name"] where below(2) == 0 { request.sortDescriptors.append(FetchSort(key, ascending: below(2) == 0)) }
        if below(2) == 0 { request.fetchLimit = below(9) }
        if below(3) == 0 { request.fetchOffset = below(9) }
        return request
    }
}
