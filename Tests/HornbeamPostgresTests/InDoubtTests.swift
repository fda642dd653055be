#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Saves and batches whose answers are lost while the server stays away.
@Suite(.enabled(if: PostgresServer.isThere)) struct InDoubtTests {
    private func filled(_ schema: String) throws -> (SocketProxy, PersistentContainer, ManagedObjectContext, ManagedObject) {
        let (proxy, container) = try PostgresServer.proxied(schema, connectionTimeout: .milliseconds(400))
        let context = container.newContext()
        let author = try context.make("Author", ["name": "a", "born": 1900])
        try context.save()
        return (proxy, container, context, author)
    }

    /// A context whose save of a tag was written, which it does not know: the server is away.
    private func withSaveInDoubt(_ schema: String) throws -> (SocketProxy, PersistentContainer, ManagedObjectContext) {
        let (proxy, container, context, _) = try filled(schema)
        try context.make("Tag", ["label": "next"])
        usleep(200_000)
        proxy.setAway(.closed)
        proxy.closeAtMessage(1, .fromServer)
        #expect(hornbeamError { try context.save() }?.message.contains("unknown") == true)
        return (proxy, container, context)
    }

    private func count(_ schema: String, _ condition: String) throws -> String {
        try PostgresServer.run("SELECT count(*) FROM \"\(schema)\".\"Author\" WHERE \(condition)")
    }

    /// The save locks a row first, so its COMMIT is in the second message.
    @Test("a save whose server stays away after its COMMIT is written once when the app repeats it", arguments: SocketProxy.Direction.allCases)
    func repeatedSaves(direction: SocketProxy.Direction) throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container, context, author) = try filled(schema)
        let new = try context.make("Author", ["name": "new"])
        let gone = try context.make("Author", ["name": "gone"])
        try context.save()
        let next = try context.make("Author", ["name": "next"])
        try author.setValue(1901, forKey: "born")
        context.delete(gone)
        // The answer to the last notification has arrived.
        usleep(200_000)
        proxy.setAway(.closed)
        proxy.closeAtMessage(2, direction)
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .storeOperationFailed, "\(error?.message ?? "")")
        #expect(error?.message.contains("unknown") == true, "\(error?.message ?? "")")
        #expect(try count(schema, "name = 'next'") == (direction == .fromServer ? "1" : "0"))
        // The server is still away.
        #expect(hornbeamError { try context.save() }?.code == .storeOperationFailed)
        #expect(context.hasChanges)
        // Changes after the save in doubt are saved too.
        try new.setValue(1950, forKey: "born")
        proxy.setAway(nil)
        try context.save()
        #expect(!context.hasChanges)
        #expect(try count(schema, "name = 'next'") == "1")
        #expect(try count(schema, "born = 1901") == "1")
        #expect(try count(schema, "name = 'gone'") == "0")
        #expect(try count(schema, "born = 1950") == "1")
        #expect(try count(schema, "TRUE") == "3")
        try next.setValue(2000, forKey: "born")
        try context.save()
        #expect(try container.newContext().all("Author", by: "name", "born == 2000").count == 1)
        #expect(try PostgresServer.container(schema).newContext().all("Author", by: "name").count == 3)
    }

    /// The error of the query for the outcome was thrown as the error of the save, which the app then repeated with new keys.
    @Test("a save whose outcome cannot be queried is in doubt, and written once")
    func failedQueriesForOutcomes() throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container, context, _) = try filled(schema)
        try context.make("Tag", ["label": "next"])
        usleep(200_000)
        // Another process seems to have migrated the tables while this one has no connection.
        proxy.beforeMessage(1) {
            do { try PostgresServer.run("UPDATE \"\(schema)\"._hornbeam SET value = value || 'x' WHERE name = 'model'") } catch { Issue.record(error) }
        }
        proxy.closeAtMessage(1, .fromServer)
        let error = hornbeamError { try context.save() }
        #expect(error?.message.contains("unknown") == true, "\(error?.message ?? "")")
        try PostgresServer.run("UPDATE \"\(schema)\"._hornbeam SET value = left(value, -1) WHERE name = 'model'")
        try context.save()
        #expect(try PostgresServer.run("SELECT count(*) FROM \"\(schema)\".\"Tag\"") == "1")
        try container.close()
    }

    @Test("the outcome of a save is found out after its store was removed and added again", arguments: [false, true])
    func storesThatAreAddedAgain(isRead: Bool) throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container, context) = try withSaveInDoubt(schema)
        let coordinator = container.persistentStoreCoordinator
        let description = try #require(container.persistentStoreDescriptions.first)
        try coordinator.remove(#require(coordinator.persistentStores.first))
        // A read without the store must not take the save for one that was not written.
        if isRead { #expect(hornbeamError { try context.mergeChanges() }?.code == .closed) }
        proxy.setAway(nil)
        try coordinator.addPersistentStore(description)
        try context.save()
        #expect(!context.hasChanges)
        #expect(try PostgresServer.run("SELECT count(*) FROM \"\(schema)\".\"Tag\"") == "1")
        try container.close()
    }

    /// In a child context, the outcome was queried in the transaction of the reads, which cannot write.
    @Test("a fetch with prefetching finds out the outcome of a save in doubt, also of the parent", arguments: [false, true])
    func prefetchingInDoubt(isChild: Bool) throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container, context) = try withSaveInDoubt(schema)
        proxy.setAway(nil)
        var request = FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("name")])
        request.relationshipKeyPathsForPrefetching = ["works"]
        #expect(try (isChild ? context.newChildContext() : context).fetch(request).count == 1)
        #expect(!context.hasChanges)
        try container.close()
    }

    @Test("a batch whose answer is lost is executed once", arguments: SocketProxy.Direction.allCases)
    func batches(direction: SocketProxy.Direction) throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container, context, author) = try filled(schema)
        var request = BatchUpdateRequest(entityName: "Author")
        request.propertiesToUpdate["born"] = try FetchExpression(format: "born + 1")
        request.resultType = .objectIDs
        usleep(200_000)
        proxy.closeAtMessage(1, direction)
        let result = try container.newContext().execute(request)
        #expect(proxy.closedCount == 1)
        #expect(result.objectIDs == [author.objectID])
        #expect(try count(schema, "born = 1901") == "1")
        try context.mergeChanges()
        #expect(try author.value(forKey: "born") == 1901)
    }

    /// The rows of a fetch of many objects are cached without entries in the indexes of unique values.
    @Test("a batch whose answer is lost changes rows that a fetch of many objects has cached", arguments: [false, true])
    func batchesOverManyCachedRows(isDelete: Bool) throws {
        let schema = PostgresServer.freshSchema()
        let model = try ManagedObjectModel {
            Entity("Item") {
                Attribute("code", .string, unique: true)
                Attribute("number", .integer64)
            }
        }
        let rows = (0 ..< 300).map { ["code": PropertyValue.string("c\($0)"), "number": .int(Int64($0))] }
        try PostgresServer.container(schema, model).newContext().execute(BatchInsertRequest(entityName: "Item", objects: rows))
        let (proxy, container) = try PostgresServer.proxied(schema, model: model)
        let context = container.newContext()
        let held = try context.all("Item", by: "number")
        #expect(try held[7].value(forKey: "code") == "c7")
        usleep(200_000)
        proxy.closeAtMessage(1, .fromServer)
        let seven = try FetchPredicate(format: "number == 7")
        if isDelete {
            #expect(try container.newContext().execute(BatchDeleteRequest(entityName: "Item", predicate: seven)).count == 1)
        } else {
            var update = BatchUpdateRequest(entityName: "Item", predicate: seven)
            update.set("number", to: 7000)
            #expect(try container.newContext().execute(update).count == 1)
        }
        #expect(proxy.closedCount == 1)
        try context.mergeChanges()
        #expect(held[7].isDeleted == isDelete)
        if !isDelete { #expect(try held[7].value(forKey: "number") == 7000) }
        // The value is free after the delete, and taken after the update.
        try context.make("Item", ["code": "c7", "number": 7000])
        #expect(hornbeamError { try context.save() }?.code == (isDelete ? nil : .constraintConflict))
        context.rollback()
        // Tested here, on the cached rows.
        #expect(try container.newContext().all("Item", by: "number", "code MATCHES 'c7'").map { try $0.value(forKey: "number") } == [7000])
        #expect(try PostgresServer.run("SELECT count(*), sum(number) FROM \"\(schema)\".\"Item\"") == "300|\(299 * 150 - 7 + 7000)")
        try container.close()
    }

    @Test("a batch that was written with an unknown outcome is announced to this process too", .timeLimit(.minutes(20)))
    func announcedBatches() async throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container, context, author) = try filled(schema)
        var request = BatchUpdateRequest(entityName: "Author")
        request.propertiesToUpdate["born"] = try FetchExpression(format: "born + 1")
        usleep(200_000)
        proxy.setAway(.closed)
        proxy.closeAtMessage(1, .fromServer)
        #expect(hornbeamError { _ = try container.newContext().execute(request) }?.message.contains("unknown") == true)
        #expect(try author.value(forKey: "born") == 1900)
        proxy.setAway(nil)
        // Without a fetch.
        while try author.value(forKey: "born") != 1901 {
            try await Task.sleep(for: .milliseconds(20))
            try context.mergeChanges()
        }
        try container.close()
    }

    @Test("a save that was written with an unknown outcome is announced to the other contexts of this process", .timeLimit(.minutes(20)))
    func announcedSaves() async throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container, context, author) = try filled(schema)
        let other = container.newContext()
        let same = try #require(other.all("Author", by: "name").first)
        try author.setValue(1901, forKey: "born")
        usleep(200_000)
        proxy.setAway(.closed)
        proxy.closeAtMessage(2, .fromServer)
        #expect(hornbeamError { try context.save() }?.message.contains("unknown") == true)
        proxy.setAway(nil)
        while try same.value(forKey: "born") != 1901 {
            try await Task.sleep(for: .milliseconds(20))
            try other.mergeChanges()
        }
        // The context then finds out that it has written the save.
        try context.save()
        #expect(!context.hasChanges)
        #expect(try count(schema, "born = 1901") == "1")
        try container.close()
    }

    @Test("the error of a batch insert with an unknown outcome advises to look at the objects first")
    func batchInserts() throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container, _, _) = try filled(schema)
        usleep(200_000)
        proxy.setAway(.closed)
        proxy.closeAtMessage(1, .fromServer)
        let request = BatchInsertRequest(entityName: "Tag", objects: [["label": "t"]])
        let error = hornbeamError { _ = try container.newContext().execute(request) }
        #expect(try PostgresServer.run("SELECT count(*) FROM \"\(schema)\".\"Tag\"") == "1")
        #expect(error?.message.contains("unknown") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("Look at the objects before you repeat a batch") == true)
        proxy.setAway(nil)
        try container.close()
    }

    @Test("the error of a batch that was executed before the connection was lost says that it was executed")
    func executedBatches() throws {
        let schema = PostgresServer.freshSchema()
        try PostgresServer.run(
            "CREATE SCHEMA \"\(schema)\"; CREATE TABLE \"\(schema)\".authors (id bigserial PRIMARY KEY, born integer, _version bigint NOT NULL DEFAULT 1)")
        let model = try ManagedObjectModel {
            Entity("Author", userInfo: ["postgres.table": "authors"]) { Attribute("born", .integer32, optional: true) }
        }
        let proxy = try SocketProxy(server: PostgresServer.folder)
        // Without notifications, the second message is the read of the changed rows: triggers of an existing table can change more than the batch.
        let container = try PostgresServer.container(
            .postgres(
                "host=\(proxy.folder) user=hornbeam dbname=postgres", schema: schema, connectionsMax: 2, connectionTimeout: .milliseconds(400),
                pollInterval: .seconds(600)), model)
        let context = container.newContext()
        let author = try context.make("Author", ["born": 1900])
        try context.save()
        var request = BatchUpdateRequest(entityName: "Author")
        request.propertiesToUpdate["born"] = try FetchExpression(format: "born + 1")
        proxy.setAway(.closed)
        proxy.closeAtMessage(2, .toServer)
        let error = hornbeamError { _ = try container.newContext().execute(request) }
        #expect(try PostgresServer.run("SELECT born FROM \"\(schema)\".authors") == "1901")
        #expect(error?.message.contains("executed the batch") == true, "\(error?.message ?? "")")
        proxy.setAway(nil)
        #expect(try container.newContext().all("Author", by: "born", "born == 1901").map(\.objectID) == [author.objectID])
        try container.close()
    }

    @Test func aBatchWhoseServerStaysAwayIsReported() throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container, _, _) = try filled(schema)
        var request = BatchUpdateRequest(entityName: "Author")
        request.propertiesToUpdate["born"] = try FetchExpression(format: "born + 1")
        usleep(200_000)
        proxy.setAway(.closed)
        proxy.closeAtMessage(1, .fromServer)
        let error = hornbeamError { _ = try container.newContext().execute(request) }
        #expect(error?.code == .storeOperationFailed)
        #expect(error?.message.contains("unknown") == true, "\(error?.message ?? "")")
        #expect(try count(schema, "born = 1901") == "1")
        proxy.setAway(nil)
        #expect(try container.newContext().all("Author", by: "name", "born == 1901").count == 1)
    }
}
#endif
