#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamPostgres

extension PostgresServer {
    /// The folder of the server's socket.
    static var folder: String {
        let part = connection?.split(separator: " ").first { $0.hasPrefix("host=") }
        return String(part?.dropFirst(5) ?? "")
    }

    /// The rows of a statement, as psql prints them.
    @discardableResult
    static func run(_ sql: String) throws -> String {
        let session = try SQLSession(sql, isOpen: false)
        let text = session.readToEnd()
        guard session.wait() == 0 else { throw HornbeamError(.storeOperationFailed, "psql failed: \(sql)") }
        return text
    }

    /// A container whose connections pass through a proxy.
    static func proxied(
        _ schema: String, connectionTimeout: Duration = .seconds(20), model: ManagedObjectModel? = nil
    ) throws -> (SocketProxy, PersistentContainer) {
        let proxy = try SocketProxy(server: folder)
        let description = PersistentStoreDescription.postgres(
            "host=\(proxy.folder) user=hornbeam dbname=postgres", schema: schema, connectionsMax: 2, connectionTimeout: connectionTimeout)
        return (proxy, try container(description, model))
    }

    /// Begins a transaction in another session, which executes a statement. It ends when the result is terminated.
    static func holding(_ sql: String) throws -> SQLSession { try SQLSession("BEGIN; \(sql)", isOpen: true) }

    /// Locks a table in another session.
    static func locking(_ table: String, in schema: String) throws -> SQLSession { try holding("LOCK TABLE \"\(schema)\".\"\(table)\"") }
}

/// A session of psql.
final class SQLSession {
    private let psql = Process()
    private let (input, output) = (Pipe(), Pipe())

    /// - Parameter isOpen: True to keep the session open in the transaction that the statements have begun.
    init(_ sql: String, isOpen: Bool) throws {
        psql.executableURL = URL(filePath: "/usr/bin/env")
        psql.arguments = ["psql", PostgresServer.connection ?? "", "-v", "ON_ERROR_STOP=1", "-XqAt"]
        (psql.standardInput, psql.standardOutput) = (input, output)
        let application = "psql-" + UUID().uuidString
        psql.environment = ProcessInfo.processInfo.environment.merging(["PGAPPNAME": application]) { $1 }
        try psql.run()
        input.fileHandleForWriting.write(Data((sql + ";\n\\echo \(Self.end)\n" + (isOpen ? "" : "\\q\n")).utf8))
        // psql writes its output when it ends.
        while isOpen, try PostgresServer.run(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(application)' AND state = 'idle in transaction'") == "0"
        { usleep(10_000) }
    }

    private static let end = "[end]"

    /// The output. Not up to the end of the pipe, which other processes may have inherited.
    func readToEnd() -> String {
        var bytes = Data()
        while true {
            let part = output.fileHandleForReading.availableData
            bytes += part
            let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            if text.hasSuffix(Self.end) { return text.dropLast(Self.end.count).trimmingCharacters(in: .whitespacesAndNewlines) }
            if part.isEmpty { return text }
        }
    }

    func wait() -> Int32 {
        psql.waitUntilExit()
        return psql.terminationStatus
    }

    /// Ends the session. By a command: a child process inherits the signals that its parent's thread has blocked.
    func terminate() {
        if psql.isRunning { input.fileHandleForWriting.write(Data("\\q\n".utf8)) }
        psql.waitUntilExit()
    }
}

extension ManagedObjectContext {
    /// The objects of an entity, by an attribute.
    func all(_ entity: String, by key: String, _ format: String? = nil) throws -> [ManagedObject] {
        var request = FetchRequest<ManagedObject>(entityName: entity, sortedBy: [FetchSort(key)])
        request.predicate = try format.map { try FetchPredicate(format: $0) }
        return try fetch(request)
    }

    @discardableResult
    func make(_ entity: String, _ values: [String: PropertyValue]) throws -> ManagedObject {
        let object = try insert(entityNamed: entity)
        for (key, value) in values { try object.setValue(value, forKey: key) }
        return object
    }
}
#endif
