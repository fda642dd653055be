#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamPostgres
import Synchronization
import Testing

/// The handler of the saves of other processes, and the table of saves.
@Suite(.enabled(if: PostgresServer.isThere), .serialized) struct ChangeListenerTests {
    @Test("after close, the handler of changes is not running and is not called", .timeLimit(.minutes(20)))
    func closingWaitsForTheHandler() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let store = PostgresStore(PostgresServer.connection ?? "", schema: schema)
        try store.open(StoreConformance.model())
        let (entered, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let events = Mutex<[String]>([])
        try store.observeChanges { _ in
            events.withLock { $0.append("begin") }
            entered.signal()
            release.wait()
            events.withLock { $0.append("end") }
        }
        let context = container.newContext()
        try context.make("Author", ["name": "a"])
        try context.save()
        entered.wait()
        let closed = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            do { try store.close() } catch { Issue.record(error) }
            events.withLock { $0.append("closed") }
            closed.signal()
        }
        usleep(300_000)
        #expect(events.withLock { $0 } == ["begin"])
        release.signal()
        closed.wait()
        #expect(events.withLock { $0 } == ["begin", "end", "closed"])
        try context.make("Author", ["name": "b"])
        try context.save()
        usleep(500_000)
        #expect(events.withLock { $0 }.count == 3)
    }

    @Test("a handler that fails receives the same changes again", .timeLimit(.minutes(20)))
    func failedHandlersAreCalledAgain() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let store = PostgresStore(PostgresServer.connection ?? "", schema: schema)
        try store.open(StoreConformance.model())
        let calls = Mutex<[Int]>([])
        let done = DispatchSemaphore(value: 0)
        try store.observeChanges { changes in
            let count = calls.withLock { calls in
                calls.append(changes.changed.count)
                return calls.count
            }
            if count == 1 { throw HornbeamError(.storeOperationFailed, "not now") }
            done.signal()
        }
        let context = container.newContext()
        try context.make("Author", ["name": "a"])
        try context.save()
        done.wait()
        #expect(calls.withLock { $0 } == [1, 1])
        try store.close()
    }

    @Test("a save without a notification is read after a while", .timeLimit(.minutes(20)))
    func lostNotifications() async throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        let author = try context.make("Author", ["name": "a"])
        try context.save()
        let key = try PostgresServer.run("SELECT _id FROM \"\(schema)\".\"Author\"")
        try PostgresServer.run(
            """
            BEGIN; UPDATE "\(schema)"."Author" SET name = 'b', _version = _version + 1;
            INSERT INTO "\(schema)"._hornbeam_saves (token, source, changed, deleted) VALUES (gen_random_uuid(), gen_random_uuid(), '\(key):Author', ''); COMMIT
            """)
        while try author.value(forKey: "name") != "b" {
            try await Task.sleep(for: .milliseconds(20))
            try context.mergeChanges()
        }
    }

    @Test("saves older than a week are deleted from the table of saves", .timeLimit(.minutes(20)))
    func retention() async throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        try context.make("Author", ["name": "a"])
        try context.save()
        try PostgresServer.run(
            """
            INSERT INTO "\(schema)"._hornbeam_saves (token, source, transaction, saved_at)
            SELECT gen_random_uuid(), gen_random_uuid(), '3'::xid8, now() - d * interval '1 day' FROM generate_series(6, 9) d
            """)
        func days() throws -> String {
            try PostgresServer.run(
                "SELECT string_agg(extract(day FROM now() - saved_at)::text, ' ' ORDER BY saved_at) FROM \"\(schema)\"._hornbeam_saves")
        }
        while try days() != "6 0" { try await Task.sleep(for: .milliseconds(100)) }
        try container.close()
    }

    /// Each read was after a notification, and only the others deleted.
    @Test("saves older than a week are deleted also while several processes save without a pause", .timeLimit(.minutes(20)))
    func retentionWithoutPauses() throws {
        let schema = PostgresServer.freshSchema()
        try PostgresServer.container(schema).close()
        // More than one deletion deletes.
        try PostgresServer.run(
            """
            INSERT INTO "\(schema)"._hornbeam_saves (token, source, transaction, saved_at)
            SELECT gen_random_uuid(), gen_random_uuid(), '3'::xid8, now() - interval '8 days' FROM generate_series(1, 25000)
            """)
        let containers = try (0 ..< 2).map { _ in try PostgresServer.container(schema) }
        let old = "SELECT count(*) FROM \"\(schema)\"._hornbeam_saves WHERE saved_at < now() - interval '1 day'"
        DispatchQueue.concurrentPerform(iterations: 2) { number in
            do {
                let context = containers[number].newContext()
                let end = Date() + 60
                while try PostgresServer.sql(old) != "0", Date() < end {
                    for _ in 0 ..< 50 {
                        try context.make("Tag", ["label": "t"])
                        try context.save()
                    }
                }
            } catch { Issue.record(error) }
        }
        #expect(try PostgresServer.sql(old) == "0")
        for container in containers { try container.close() }
    }

    @Test(
        "PSC-22: a process that was away for longer than saves are kept has old values until it fetches their objects, and receives later saves",
        .timeLimit(.minutes(20)))
    func longAbsence() async throws {
        let (schema, application) = (PostgresServer.freshSchema(), "away" + UUID().uuidString.prefix(8))
        let proxy = try SocketProxy(server: PostgresServer.folder)
        let away = try PostgresServer.container(
            .postgres("host=\(proxy.folder) user=hornbeam dbname=postgres application_name=\(application)", schema: schema, connectionsMax: 2))
        let container = try PostgresServer.container(schema)
        let writer = container.newContext()
        let (first, second) = (try writer.make("Author", ["name": "first", "born": 1]), try writer.make("Author", ["name": "second", "born": 1]))
        let third = try writer.make("Author", ["name": "third", "born": 1])
        try writer.save()
        let reader = away.newContext()
        let (missed, seen, gone) = (
            try reader.existingObject(with: first.objectID), try reader.existingObject(with: second.objectID), try reader.existingObject(with: third.objectID)
        )
        for author in [missed, seen, gone] { #expect(try author.value(forKey: "born") == 1) }
        proxy.setAway(.closed)
        let sessions = "FROM pg_stat_activity WHERE application_name = '\(application)'"
        while try PostgresServer.sql("SELECT count(pg_terminate_backend(pid)) \(sessions)") != "0" { try await Task.sleep(for: .milliseconds(20)) }
        try first.setValue(2, forKey: "born")
        writer.delete(third)
        try writer.save()
        try PostgresServer.sql("DELETE FROM \"\(schema)\"._hornbeam_saves")
        proxy.setAway(nil)
        try second.setValue(2, forKey: "born")
        try writer.save()
        while try seen.value(forKey: "born") != 2 {
            try await Task.sleep(for: .milliseconds(20))
            try reader.mergeChanges()
        }
        #expect(try missed.value(forKey: "born") == 1)
        #expect(try gone.value(forKey: "born") == 1)
        #expect(try reader.all("Author", by: "name").map { try $0.value(forKey: "born") } == [2, 2])
        // A save that is based on an old row is a conflict, as always.
        try gone.setValue(3, forKey: "born")
        #expect(hornbeamError { try reader.save() } != nil)
        #expect(try PostgresServer.sql("SELECT string_agg(born::text, ' ') FROM \"\(schema)\".\"Author\"") == "2 2")
        for container in [container, away] { try container.close() }
    }
}
#endif
