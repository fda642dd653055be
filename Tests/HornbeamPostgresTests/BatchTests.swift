#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Batch requests over a store in a real PostgreSQL server.
@Suite(.enabled(if: PostgresServer.isThere)) struct BatchTests {
    private func containers() throws -> (PersistentContainer, PersistentContainer) {
        let schema = PostgresServer.freshSchema()
        return (try PostgresServer.container(schema), try PostgresServer.container(schema))
    }

    /// Authors a0, a1, … born in 1900, 1901, …
    private func fill(_ container: PersistentContainer, _ count: Int) throws {
        let rows = (0 ..< count).map { ["name": PropertyValue.string("a\($0)"), "born": .int(Int64(1900 + $0))] }
        #expect(try container.newContext().execute(BatchInsertRequest(entityName: "Author", objects: rows)).count == count)
    }

    private func births(_ container: PersistentContainer, _ format: String? = nil) throws -> [PropertyValue] {
        var request = FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("born"), FetchSort("name")])
        request.predicate = try format.map { try FetchPredicate(format: $0) }
        return try container.newContext().fetch(request).map { try $0.value(forKey: "born") }
    }

    private func update(_ format: String, _ value: String) throws -> BatchUpdateRequest {
        var request = BatchUpdateRequest(entityName: "Author", predicate: try FetchPredicate(format: format))
        request.propertiesToUpdate["born"] = try FetchExpression(format: value)
        request.resultType = .count
        return request
    }

    @Test("BAT-1 … BAT-3: batches change the rows of the server, and other processes see them")
    func batchesChangeTheServer() throws {
        let (first, second) = try containers()
        try fill(first, 20)
        #expect(try births(second).count == 20)
        let context = first.newContext()
        #expect(try context.execute(update("born >= 1910", "born + 100")).count == 10)
        #expect(try births(second, "born >= 2010").count == 10)
        // A condition that SQL cannot test.
        #expect(try context.execute(update("name MATCHES 'a[0-4]'", "1800")).count == 5)
        #expect(try births(second, "born == 1800").count == 5)
        let delete = BatchDeleteRequest(entityName: "Author", predicate: try FetchPredicate(format: "born < 2015"))
        #expect(try context.execute(delete).count == 15)
        #expect(try births(second) == [2015, 2016, 2017, 2018, 2019])
    }

    @Test("BAT-2: an update that starts from rows which another process has changed applies to the new rows")
    func updatesUseTheNewestRows() throws {
        let (first, second) = try containers()
        try fill(first, 3)
        let held = first.newContext()
        #expect(try held.fetch(FetchRequest<ManagedObject>(entityName: "Author")).count == 3)
        try second.newContext().execute(update("born == 1902", "1950"))
        #expect(try first.newContext().execute(update("born > 1900", "born + 1")).count == 2)
        #expect(try births(second) == [1900, 1902, 1951])
        #expect(try births(first) == [1900, 1902, 1951])
    }

    @Test("BAT-2: two processes that increment the same rows lose no increment")
    func concurrentUpdatesAreSerialized() async throws {
        let (first, second) = try containers()
        try fill(first, 5)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for container in [first, second] {
                let request = try update("born >= 0", "born + 1")
                group.addTask {
                    for _ in 0 ..< 10 { try container.newContext().execute(request) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try births(second) == [1920, 1921, 1922, 1923, 1924])
    }

    @Test("BAT-1: values that only the server has are conflicts, and rows with them are skipped or update the stored objects")
    func uniqueValuesOfTheServer() throws {
        let (first, second) = try containers()
        try fill(first, 4)
        let rows = (2 ..< 6).map { ["name": PropertyValue.string("a\($0)"), "born": .int(1990)] }
        var request = BatchInsertRequest(entityName: "Author", objects: rows)
        let error = hornbeamError { try second.newContext().execute(request) }
        #expect(error?.code == .constraintConflict)
        #expect(error?.message.contains("row 1") == true, "\(error?.message ?? "")")
        #expect(try births(first).count == 4)
        request = BatchInsertRequest(entityName: "Author", objects: rows)
        request.onConflict = .skip
        let skipped = try second.newContext().execute(request)
        #expect(skipped.count == 2 && skipped.skippedCount == 2)
        #expect(try births(first) == [1900, 1901, 1902, 1903, 1990, 1990])
        request = BatchInsertRequest(entityName: "Author", objects: rows)
        request.onConflict = .update
        let updated = try second.newContext().execute(request)
        #expect(updated.count == 4 && updated.updatedCount == 4)
        #expect(try births(first) == [1900, 1901, 1990, 1990, 1990, 1990])
    }

    @Test("BAT-1: a batch insert that refers to an object which does not exist names it, and inserts nothing")
    func insertsThatReferToMissingObjects() throws {
        let (first, second) = try containers()
        try fill(first, 2)
        let held = second.newContext()
        let author = try #require(held.fetch(FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("born")])).first)
        let id = author.objectID
        let delete = BatchDeleteRequest(entityName: "Author", predicate: try FetchPredicate(format: "born == 1900"))
        #expect(try first.newContext().execute(delete).count == 1)
        let rows = ["b", "c"].map { ["title": PropertyValue.string($0), "author": .objectID(id)] }
        let error = hornbeamError { try second.newContext().execute(BatchInsertRequest(entityName: "Book", objects: rows)) }
        #expect(error?.code == .objectNotFound, "\(error?.message ?? "")")
        #expect(error?.objectIDs == [id])
        #expect(try first.newContext().count(FetchRequest<ManagedObject>(entityName: "Book")) == 0)
    }

    @Test("BAT-3: delete rules apply to objects that this process has not read")
    func deleteRulesReachUnreadObjects() throws {
        let (first, second) = try containers()
        try fill(first, 2)
        let context = first.newContext()
        let authors = try context.fetch(FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("born")]))
        let desk = try context.insert(entityNamed: "Desk")
        try desk.setValue(.objectID(authors[0].objectID), forKey: "owner")
        for number in 0 ..< 3 {
            let book = try context.insert(entityNamed: "Book")
            try book.setValue(.string("b\(number)"), forKey: "title")
            try book.setValue(.objectID(authors[number % 2].objectID), forKey: "author")
        }
        try context.save()
        let delete = BatchDeleteRequest(entityName: "Author", predicate: try FetchPredicate(format: "born == 1900"))
        #expect(try second.newContext().execute(delete).count == 3)
        let reader = second.newContext()
        #expect(try reader.fetch(FetchRequest<ManagedObject>(entityName: "Book")).map { try $0.value(forKey: "title") } == ["b1"])
        #expect(try reader.fetch(FetchRequest<ManagedObject>(entityName: "Desk")).map { try $0.value(forKey: "owner") } == [.null])
    }

    @Test("BAT-4: an update is announced in this process and in others")
    func updatesAreAnnounced() async throws {
        let (first, second) = try containers()
        try fill(first, 3)
        let (mine, other) = (first.newContext(), second.newContext())
        let request = FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("born")])
        let (here, there) = (try #require(mine.fetch(request).first), try #require(other.fetch(request).first))
        #expect(try here.value(forKey: "born") == 1900 && there.value(forKey: "born") == 1900)
        try first.newContext().execute(update("born == 1900", "1850"))
        try mine.mergeChanges()
        #expect(try here.value(forKey: "born") == 1850)
        for _ in 0 ..< 500 {
            try other.mergeChanges()
            if try there.value(forKey: "born") == 1850 { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(try there.value(forKey: "born") == 1850)
    }

    @Test("BAT-2: values that the server refuses are the same errors as in a store in memory, and nothing is changed")
    func refusedValuesAreTheSameErrors() throws {
        let (first, second) = try containers()
        let memory = try PostgresServer.container(.inMemory())
        try fill(first, 3)
        try fill(memory, 3)
        var tooLarge = try update("born >= 1901", "born + 2147483000")
        var taken = BatchUpdateRequest(entityName: "Author")
        taken.set("name", to: .string("same"))
        var missing = BatchUpdateRequest(entityName: "Author")
        missing.set("name", to: .null)
        tooLarge.resultType = .objectIDs
        for request in [tooLarge, taken, missing] {
            let (error, expected) = (
                hornbeamError { try first.newContext().execute(request) }, hornbeamError { try memory.newContext().execute(request) }
            )
            #expect(expected != nil && error?.code == expected?.code, "\(error?.message ?? "") \(expected?.message ?? "")")
            #expect(error?.objectIDs.count == expected?.objectIDs.count)
        }
        #expect(try births(second) == [1900, 1901, 1902])
    }

    @Test("BAT-4: a list shows objects that this process reads for the first time after the server has updated them")
    func listsShowUnreadObjects() throws {
        let (first, second) = try containers()
        try fill(first, 4)
        let context = second.newContext()
        let request = FetchRequest<ManagedObject>(entityName: "Author", predicate: try FetchPredicate(format: "born > 2000"), sortedBy: [FetchSort("born")])
        let list = try FetchedResultsController(request, in: context)
        list.onChange = { _ in }
        try list.performFetch()
        #expect(list.fetchedObjects?.count == 0)
        #expect(try second.newContext().execute(update("born >= 1902", "born + 100")).count == 2)
        try context.mergeChanges()
        context.processPendingChanges()
        let shown = try list.fetchedObjects?.map { try $0.value(forKey: "born") }
        #expect(shown == [2002, 2003])
    }

    @Test("BAT-3: objects without relationships are deleted by the server, also those that a context holds")
    func plainObjectsAreDeleted() throws {
        let (first, second) = try containers()
        let rows = (0 ..< 5).map { ["int16": PropertyValue.int(Int64($0))] }
        try first.newContext().execute(BatchInsertRequest(entityName: "Values", objects: rows))
        let context = second.newContext()
        let held = try context.fetch(FetchRequest<ManagedObject>(entityName: "Values", sortedBy: [FetchSort("int16")]))
        var delete = BatchDeleteRequest(entityName: "Values", predicate: try FetchPredicate(format: "int16 >= 3"))
        delete.resultType = .objectIDs
        let result = try second.newContext().execute(delete)
        #expect(result.count == 2 && Set(result.objectIDs) == Set(held.suffix(2).map(\.objectID)))
        try context.mergeChanges()
        #expect(held.map(\.isDeleted) == [false, false, false, true, true])
        #expect(try first.newContext().count(FetchRequest<ManagedObject>(entityName: "Values")) == 3)
    }
}
#endif
