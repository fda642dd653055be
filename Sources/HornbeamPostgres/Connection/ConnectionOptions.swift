#if Postgres
/// How a store connects to its server, and how long it waits.
struct ConnectionOptions: Sendable {
    /// libpq's connection string or URI.
    let parameters: String
    var connectionsMax = 8
    /// The longest time for which a call waits for a free connection, for a server that restarts, and, if it writes, for a lock.
    var connectionTimeout = Duration.seconds(20)
    /// The longest time of a statement on the server; nil for the server's own limit.
    var statementTimeout: Duration?

    /// The time between two reads of the table of saves, without `LISTEN` and `NOTIFY`; nil to wait for notifications.
    var pollInterval: Duration?

    var deadline: Deadline { Deadline(after: connectionTimeout) }

    /// Sets the time limit of the statements of a connection. The server ends a statement at its limit; if its answer does not arrive either, the connection
    /// counts as lost.
    func limitStatements(_ connection: Connection) throws(PostgresError) {
        connection.answerLimit = statementTimeout.map { $0 + connectionTimeout }
        guard let statementTimeout else { return }
        try connection.execute(Statement("SET statement_timeout TO \(Self.milliseconds(statementTimeout))"))
    }

    /// Limits the waits for locks of a transaction that writes. While a save waits, all other saves of the process wait.
    var lockLimit: Statement { Statement("SET LOCAL lock_timeout TO \(lockMilliseconds)") }

    var lockMilliseconds: Int64 { Self.milliseconds(connectionTimeout) }

    /// For the server, 0 is no limit.
    private static func milliseconds(_ time: Duration) -> Int64 {
        let parts = time.components
        return max(1, min(parts.seconds, 2_000_000) * 1_000 + parts.attoseconds / 1_000_000_000_000_000)
    }
}

/// Without the connection string, which can have a password.
extension ConnectionOptions: CustomStringConvertible, CustomReflectable {
    var description: String { "at most \(connectionsMax) connections" }
    var customMirror: Mirror { Mirror(self, children: ["connectionsMax": connectionsMax]) }
}
#endif
