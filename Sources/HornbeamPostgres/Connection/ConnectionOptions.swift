#if Postgres
/// How a store connects to its server, and how long it waits.
struct ConnectionOptions: Sendable {
    /// libpq's connection string or URI.
    let parameters: String
    var connectionsMax = 8
    /// The longest time for which a call waits for a free connection, and for a server that restarts.
    var connectionTimeout = Duration.seconds(20)
    /// The longest time of a statement on the server; nil for the server's own limit.
    var statementTimeout: Duration?

    /// The time between two reads of the table of saves, without `LISTEN` and `NOTIFY`; nil to wait for notifications.
    var pollInterval: Duration?

    var deadline: Deadline { Deadline(after: connectionTimeout) }

    /// Sets the time limit of the statements of a connection.
    func limitStatements(_ connection: Connection) throws(PostgresError) {
        guard let statementTimeout else { return }
        let parts = statementTimeout.components
        let milliseconds = max(1, min(parts.seconds, 2_000_000) * 1_000 + parts.attoseconds / 1_000_000_000_000_000)
        try connection.execute(Statement("SET statement_timeout TO \(milliseconds)"))
    }
}
#endif
