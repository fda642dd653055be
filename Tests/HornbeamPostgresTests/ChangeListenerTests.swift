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
}
#endif
