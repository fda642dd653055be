#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamPostgres

/// The server that `Scripts/test-postgres` has started.
enum PostgresServer {
    /// The connection string of the server; nil if there is none.
    static let connection = ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES"]

    static var isThere: Bool { connection != nil }

    /// A name for a schema that does not exist.
    static func freshSchema() -> String { "test " + UUID().uuidString }

    static func description(
        _ schema: String = freshSchema(), application: String = "tests", connectionTimeout: Duration = .seconds(20)
    ) -> PersistentStoreDescription {
        .postgres(
            (connection ?? "") + " application_name=\(application)", schema: schema, connectionsMax: 3, connectionTimeout: connectionTimeout)
    }

    /// Executes SQL with psql, and returns the rows without headings, columns separated by |.
    @discardableResult
    static func sql(_ text: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text, connection ?? ""]
        let (output, errors) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, errors)
        try process.run()
        let result = output.fileHandleForReading.readDataToEndOfFile()
        let message = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw SQLFailure(message: String(decoding: message, as: UTF8.self)) }
        return String(decoding: result, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    /// A container of the conformance model with a store in a schema.
    static func container(_ schema: String = freshSchema(), _ model: ManagedObjectModel? = nil) throws -> PersistentContainer {
        try container(description(schema), model)
    }

    static func container(_ description: PersistentStoreDescription, _ model: ManagedObjectModel? = nil) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Test", model: model ?? StoreConformance.model())
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }
}

/// An error that psql reported.
struct SQLFailure: Error {
    let message: String
}

func hornbeamError(_ body: () throws -> Void) -> HornbeamError? {
    do { try body() } catch { return error as? HornbeamError }
    return nil
}
#endif
