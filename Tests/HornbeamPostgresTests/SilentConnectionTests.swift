#if Postgres
import Foundation
import Hornbeam
import Testing

@testable import HornbeamPostgres

/// Connections that stay open and bring no answer, as behind a proxy or a firewall that has stopped forwarding, and sessions that the server ends.
@Suite(.enabled(if: PostgresServer.isThere), .serialized) struct SilentConnectionTests {
    private func opened(_ schema: String) throws -> (SocketProxy, PersistentContainer) {
        let proxy = try SocketProxy(server: PostgresServer.folder)
        let description = PersistentStoreDescription.postgres(
            "host=\(proxy.folder) user=hornbeam dbname=postgres", schema: schema, connectionsMax: 2, connectionTimeout: .seconds(1),
            statementTimeout: .seconds(1))
        return (proxy, try PostgresServer.container(description))
    }

    @Test("a fetch whose answer does not arrive ends after statementTimeout and connectionTimeout, and the next one succeeds", .timeLimit(.minutes(20)))
    func fetches() throws {
        let (proxy, container) = try opened(PostgresServer.freshSchema())
        proxy.holdAnswers(after: 0)
        let start = ContinuousClock.now
        let error = hornbeamError { _ = try container.newContext().all("Author", by: "name") }
        #expect(error?.code == .storeOperationFailed, "\(error?.message ?? "")")
        #expect(ContinuousClock.now - start > .milliseconds(1_900))
        proxy.holdAnswers(after: nil)
        #expect(try container.newContext().all("Author", by: "name").isEmpty)
        try container.close()
    }

    @Test("a save whose answer does not arrive is in doubt, and is written once", .timeLimit(.minutes(20)))
    func saves() throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container) = try opened(schema)
        let context = container.newContext()
        let tag = try context.make("Tag", ["label": "once"])
        try context.obtainPermanentIDs(for: [tag])
        proxy.holdAnswers(after: 0)
        let error = hornbeamError { try context.save() }
        #expect(error?.message.contains("unknown") == true, "\(error?.message ?? "")")
        proxy.holdAnswers(after: nil)
        try context.save()
        #expect(!context.hasChanges)
        #expect(try PostgresServer.sql("SELECT count(*) FROM \"\(schema)\".\"Tag\"") == "1")
        try container.close()
    }

    @Test("a save whose proxy stops reading it ends after tcp_user_timeout, and is written once", .timeLimit(.minutes(20)))
    func savesThatAreNotRead() throws {
        let schema = PostgresServer.freshSchema()
        let proxy = try StallingProxy(server: PostgresServer.folder)
        let parameters = "host=127.0.0.1 port=\(proxy.port) sslmode=disable gssencmode=disable user=hornbeam dbname=postgres tcp_user_timeout=1000"
        let container = try PostgresServer.container(.postgres(parameters, schema: schema, connectionsMax: 2, connectionTimeout: .seconds(1)))
        let context = container.newContext()
        let new = try context.make("Values", ["data": .data(Data(count: 20 << 20))])
        try context.obtainPermanentIDs(for: [new])
        proxy.stopReading(after: 1 << 20)
        let error = hornbeamError { try context.save() }
        #expect(error?.message.contains("unknown") == true, "\(error?.message ?? "")")
        proxy.stopReading(after: nil)
        // The server may not have noticed yet that the first connection has ended.
        while context.hasChanges {
            do { try context.save() } catch { usleep(100_000) }
        }
        #expect(try PostgresServer.sql("SELECT count(*), sum(length(data)) FROM \"\(schema)\".\"Values\"") == "1|\(20 << 20)")
        try container.close()
    }

    @Test("a cancelled fetch ends after connectionTimeout although no answer arrives, without a statementTimeout", .timeLimit(.minutes(20)))
    func cancelledFetches() async throws {
        let (proxy, container) = try PostgresServer.proxied(PostgresServer.freshSchema(), connectionTimeout: .milliseconds(400))
        proxy.holdAnswers(after: 0)
        let task = Task { try await container.performBackgroundTask { try $0.all("Author", by: "name").count } }
        try await Task.sleep(for: .milliseconds(200))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        proxy.holdAnswers(after: nil)
        #expect(try container.newContext().all("Author", by: "name").isEmpty)
        try container.close()
    }

    /// The error counted as one of the statement, so that the fetch was not repeated.
    @Test("a session that the server ends, because it was idle in a transaction, is a lost connection")
    func endedSessions() throws {
        let connection = try Connection(
            (PostgresServer.connection ?? "") + " options='-c idle_in_transaction_session_timeout=50'", until: Deadline(after: .seconds(20)))
        try connection.execute(Statement("BEGIN"))
        Thread.sleep(forTimeInterval: 0.5)
        do {
            try connection.execute(Statement("SELECT 1"))
            Issue.record("The session has not ended.")
        } catch {
            #expect(error.kind == .lostConnection && error.needsConnection, "\(error)")
        }
        #expect(!connection.isReusable)
    }
}
#endif
