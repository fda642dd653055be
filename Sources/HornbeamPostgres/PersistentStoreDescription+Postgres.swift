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
    ///   - connection: libpq's connection string or URI. A password in it never appears in errors, which can name the host, the
    ///     database and the user. None of its parts is in the description's URL.
    ///   - schema: The schema with the tables. It is created if it does not exist.
    ///   - connectionsMax: The maximum number of connections, at least 2, without the one that waits for notifications. A call that finds none free waits.
    ///   - migrates: True to migrate the tables to the model when they were made for another version.
    ///   - connectionTimeout: The longest time for which a call waits for a free connection or, if it writes, for a lock (then it throws `busy`), and for a
    ///     server that restarts.
    ///   - statementTimeout: The longest time of a statement on the server; nil for the server's own limit. A connection without an answer for this time and
    ///     `connectionTimeout` counts as lost.
    ///   - pollInterval: The time between two reads of the saves of other processes, for a server without `LISTEN`; nil to wait for notifications.
    ///   - defersConstraints: False for a server that cannot check unique values at the end of a transaction. Objects then cannot exchange values in one save.
    ///   - altersExistingTables: True to add a column of versions and its trigger to existing tables that the model names and that lack it.
    public static func postgres(
        _ connection: String, schema: String = "public", connectionsMax: Int = 8, migrates: Bool = false, connectionTimeout: Duration = .seconds(20),
        statementTimeout: Duration? = nil, pollInterval: Duration? = nil, defersConstraints: Bool = true, altersExistingTables: Bool = false
    ) -> Self {
        var parts = URLComponents()
        parts.scheme = "x-hornbeam-postgres"
        parts.host = ""
        parts.path = "/\(UUID().uuidString)/\(schema)"
        let store = PostgresStore(
            connection, schema: schema, connectionsMax: connectionsMax, migrates: migrates, connectionTimeout: connectionTimeout,
            statementTimeout: statementTimeout, pollInterval: pollInterval, defersConstraints: defersConstraints, altersExistingTables: altersExistingTables)
        return .custom(store, at: parts.url ?? URL(filePath: "/postgres"))
    }
}
#endif
