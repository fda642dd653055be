import Foundation
import Hornbeam
#if Postgres
import HornbeamPostgres
#endif

/// Stores on the PostgreSQL server that `Scripts/with-postgres` has started.
enum ServerStores {
    /// The mode `server`, if the harness was built with PostgreSQL.
    static var modes: [any Mode.Type] {
        #if Postgres
        [ServerMode.self]
        #else
        []
        #endif
    }

    /// A store in a schema.
    static func description(_ schema: String) throws -> PersistentStoreDescription {
        #if Postgres
        guard let connection = ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES"] else {
            throw UsageError("there is no server: begin the command with Scripts/with-postgres")
        }
        return .postgres(connection, schema: schema, connectionsMax: 3, migrates: true)
        #else
        throw UsageError("the harness was built without the package trait Postgres")
        #endif
    }

    static func open(_ schema: String, model: ManagedObjectModel) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Server", model: model)
        var description = try description(schema)
        description.history = HistoryTracking()
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }

    /// Restarts the server as after a crash. Returns false if the server cannot be controlled.
    static func restart() throws -> Bool {
        guard let path = ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES_CONTROL"] else { return false }
        let control = Process()
        control.executableURL = URL(filePath: path)
        control.arguments = ["restart", "immediate"]
        control.standardOutput = FileHandle.nullDevice
        try control.run()
        control.waitUntilExit()
        guard control.terminationStatus == 0 else { throw Finding("the server cannot be restarted") }
        return true
    }
}
