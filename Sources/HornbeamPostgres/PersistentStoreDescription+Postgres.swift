#if Postgres
internal import Foundation
public import Hornbeam

extension PersistentStoreDescription {
    /// A store in a PostgreSQL database.
    ///
    /// ```swift
    /// let shop = try await PersistentContainer.open(.postgres("postgresql:///shop"), for: Author.self, Book.self)
    /// ```
    /// - Parameters:
    ///   - connection: libpq's connection string or URI. Its parts, such as a password, never appear in errors or in the description's URL.
    ///   - schema: The schema with the tables. It is created if it does not exist.
    ///   - connectionsMax: The maximum number of connections. A call that finds none free waits.
    ///   - migrates: True to migrate the tables to the model when they were made for another version.
    public static func postgres(
        _ connection: String, schema: String = "public", connectionsMax: Int = 8, migrates: Bool = false
    ) -> Self {
        var parts = URLComponents()
        parts.scheme = "x-hornbeam-postgres"
        parts.host = ""
        parts.path = "/\(UUID().uuidString)/\(schema)"
        return .custom(
            PostgresStore(connection, schema: schema, connectionsMax: connectionsMax, migrates: migrates), at: parts.url ?? URL(filePath: "/postgres"))
    }
}
#endif
