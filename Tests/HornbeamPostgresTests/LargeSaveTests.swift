#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// A save with more values than one statement takes.
@Suite(.enabled(if: PostgresServer.isThere)) struct LargeSaveTests {
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Page") {
                Attribute("number", .integer64)
                Attribute("text", .string)
            }
            Entity("Zone") { Attribute("name", .string) }
        }
    }

    /// The rows of the last table wait for a lock when the session is ended.
    @Test(
        "a save with several statements for one table is one transaction: ended before its COMMIT it writes nothing, and repeated it writes all once",
        .timeLimit(.minutes(20)))
    func severalStatements() async throws {
        let (schema, application) = (PostgresServer.freshSchema(), "large" + UUID().uuidString.prefix(8))
        let container = try PostgresServer.container(PostgresServer.description(schema, application: application, connectionTimeout: .seconds(120)), Self.model())
        let lock = try PostgresServer.locking("Zone", in: schema)
        defer { lock.terminate() }
        let (count, size) = (10, 8 << 20)
        let saving = Task {
            try await container.performBackgroundTask { context in
                let text = String(repeating: "x", count: size)
                for number in 0 ..< count { try context.make("Page", ["number": .int(Int64(number)), "text": .string(text)]) }
                try context.make("Zone", ["name": "z"])
                try context.save()
            }
        }
        /// The session that waits for the lock, when it is another one.
        func blocked(except before: String = "") async throws -> String {
            while true {
                let found = try PostgresServer.sql(
                    "SELECT max(pid) FROM pg_stat_activity WHERE application_name = '\(application)' AND wait_event_type = 'Lock'")
                if !found.isEmpty, found != before { return found }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        let first = try await blocked()
        try PostgresServer.sql("SELECT pg_terminate_backend(\(first))")
        _ = try await blocked(except: first)
        #expect(try PostgresServer.sql("SELECT count(*) FROM \"\(schema)\".\"Page\"") == "0")
        lock.terminate()
        _ = try await saving.value
        // The rows have one transaction, and two commands of it.
        let found = try PostgresServer.sql(
            "SELECT count(*), sum(length(text)), count(DISTINCT xmin::text), count(DISTINCT cmin::text) FROM \"\(schema)\".\"Page\"")
        #expect(found == "\(count)|\(count * size)|1|2")
        try container.close()
    }
}
#endif
