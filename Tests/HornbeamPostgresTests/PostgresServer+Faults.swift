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

    /// A process that executes SQL with psql. Its standard output has the rows.
    static func psql(_ sql: String, _ output: Pipe? = nil) throws -> Process {
        let psql = Process()
        psql.executableURL = URL(filePath: "/usr/bin/env")
        psql.arguments = ["psql", connection ?? "", "-v", "ON_ERROR_STOP=1", "-qAtc", sql]
        if let output { psql.standardOutput = output } else { psql.standardOutput = FileHandle.nullDevice }
        try psql.run()
        return psql
    }

    /// The rows of a statement, as psql prints them.
    @discardableResult
    static func run(_ text: String) throws -> String {
        let output = Pipe()
        let psql = try psql(text, output)
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        psql.waitUntilExit()
        guard psql.terminationStatus == 0 else { throw HornbeamError(.storeOperationFailed, "psql failed: \(text)") }
        return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
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

    /// Holds a lock of a table in another session until the result is terminated. Returns when the session has the lock.
    static func locking(_ table: String, in schema: String) throws -> Process {
        let output = Pipe()
        let process = try psql("BEGIN; LOCK TABLE \"\(schema)\".\"\(table)\"; SELECT 'locked'; SELECT pg_sleep(60)", output)
        _ = output.fileHandleForReading.availableData
        return process
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
