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

    /// The rows of the last table wait for a lock when the connection ends.
    @Test(
        "a save with several statements for one table is one transaction: killed before its end it writes nothing, and repeated it writes all",
        .timeLimit(.minutes(20)))
    func severalStatements() throws {
        let (schema, application) = (PostgresServer.freshSchema(), "large" + UUID().uuidString.prefix(8))
        let proxy = try SocketProxy(server: PostgresServer.folder)
        let container = try PostgresServer.container(
            .postgres(
                "host=\(proxy.folder) user=hornbeam dbname=postgres application_name=\(application)", schema: schema, connectionsMax: 2,
                connectionTimeout: .seconds(3)), Self.model())
        let context = container.newContext()
        let text = String(repeating: "x", count: 9 << 20)
        for number in 0 ..< 8 { try context.make("Page", ["number": .int(Int64(number)), "text": .string(text)]) }
        let zone = try context.make("Zone", ["name": "z"])
        try context.obtainPermanentIDs(for: [zone])
        let lock = try PostgresServer.locking("Zone", in: schema)
        defer { lock.terminate() }
        let blocked = "application_name = '\(application)' AND wait_event_type = 'Lock'"
        Thread.detachNewThread {
            do {
                while try PostgresServer.sql("SELECT count(*) FROM pg_stat_activity WHERE \(blocked)") == "0" { usleep(5_000) }
                proxy.setAway(.closed)
                try PostgresServer.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(blocked)")
            } catch { Issue.record(error) }
        }
        let error = hornbeamError { try context.save() }
        #expect(error?.message.contains("unknown") == true, "\(error?.message ?? "")")
        lock.terminate()
        #expect(try PostgresServer.sql("SELECT count(*) FROM \"\(schema)\".\"Page\"") == "0")
        proxy.setAway(nil)
        try context.save()
        // The rows have one transaction, and two commands of it.
        let found = try PostgresServer.sql(
            "SELECT count(*), sum(length(text)), count(DISTINCT xmin::text), count(DISTINCT cmin::text) FROM \"\(schema)\".\"Page\"")
        #expect(found == "8|\(8 * (9 << 20))|1|2")
        try container.close()
    }
}
#endif
