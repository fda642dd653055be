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

    static func description(_ schema: String = freshSchema(), application: String = "tests") -> PersistentStoreDescription {
        .postgres((connection ?? "") + " application_name=\(application)", schema: schema, connectionsMax: 3)
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

func hornbeamError(_ body: () throws -> Void) -> HornbeamError? {
    do { try body() } catch { return error as? HornbeamError }
    return nil
}
#endif
