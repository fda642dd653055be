#if Postgres
internal import HornbeamModel
internal import HornbeamThreads

/// Several reads of one thread in one transaction, which reads one committed state.
///
/// `@unchecked Sendable`: only the thread that has begun it uses it.
final class ReadTransaction: @unchecked Sendable {
    private let pool: ConnectionPool
    private var connection: Connection?
    /// True if statements were executed, so that another transaction could read another state.
    private var hasRead = false
    /// The error that ended the transaction.
    private var failure: PostgresError?
    /// True if all reads can succeed in another transaction.
    var isLost: Bool { failure.map { $0.needsConnection || $0.isCalculation } ?? false }

    init(_ pool: ConnectionPool) { self.pool = pool }

    /// Takes a connection. The caller does so before it makes saves wait: readers that have a connection may wait for these saves.
    func begin() throws {
        let connection = try pool.take(until: pool.options.deadline, isCancellable: false, isHeld: true)
        connection.beginReading()
        self.connection = connection
    }

    /// Reads with the connection of the transaction, which begins in the round trip of the first statement.
    func read<R>(isCancellable: Bool, _ body: (Connection) throws -> R) throws -> R {
        if let failure { throw failure }
        guard let connection else { throw PostgresError(kind: .lostConnection, message: "the transaction has no connection") }
        connection.isCancellable = isCancellable
        do {
            let result = try body(connection)
            hasRead = true
            return result
        } catch let error as PostgresError {
            connection.rollback()
            if hasRead || error.needsConnection { failure = error } else { connection.beginReading() }
            throw error
        }
    }

    /// Ends the transaction without waiting for the server.
    func end() {
        guard let connection else { return }
        connection.endReading()
        pool.giveBack(connection, isHeld: true)
        self.connection = nil
    }
}

extension PostgresStore {
    /// The number of times that a call runs when its connection is lost.
    static let connectionAttemptsMax = 5

    public func readOneState(_ body: () throws -> Void) throws {
        if reads.current != nil { return try body() }
        let deadline = pool.options.deadline
        for attempt in 1 ... Self.connectionAttemptsMax {
            let transaction = ReadTransaction(pool)
            defer { transaction.end() }
            do {
                try translated { try transaction.begin() }
                try reads.withValue(transaction, body)
                if !transaction.isLost { return }
            } catch {
                guard transaction.isLost, attempt < Self.connectionAttemptsMax, !deadline.isOver else { throw error }
            }
            pool.closeIdle()
        }
        throw PostgresError(kind: .lostConnection, message: "it was lost \(Self.connectionAttemptsMax) times").error
    }

    /// Lends a connection for a call that can be repeated. If the server has closed it, the call is repeated with another one. Waits for a server that
    /// restarts. In `readOneState`, reads with the connection of the transaction.
    func withConnection<R>(isCancellable: Bool = false, _ body: (Connection) throws -> R) throws -> R {
        try translated { try lending(isCancellable: isCancellable, body) }
    }

    /// Like `withConnection`, with the errors of the server.
    func lending<R>(isCancellable: Bool = false, until deadline: Deadline? = nil, _ body: (Connection) throws -> R) throws -> R {
        if let transaction = reads.current { return try transaction.read(isCancellable: isCancellable, body) }
        return try lendingToWrite(isCancellable: isCancellable, until: deadline ?? pool.options.deadline, body)
    }

    /// Like `lending`, but never in the transaction of `readOneState`, which cannot write.
    func lendingToWrite<R>(isCancellable: Bool = false, until deadline: Deadline, _ body: (Connection) throws -> R) throws -> R {
        for _ in 1 ..< Self.connectionAttemptsMax {
            do { return try pool.withConnection(until: deadline, isCancellable: isCancellable, body) } catch let error as PostgresError {
                guard error.needsConnection, error.kind != .handshake, !deadline.isOver else { throw error }
                pool.closeIdle()
            }
        }
        return try pool.withConnection(until: deadline, isCancellable: isCancellable, body)
    }
}

extension Connection {
    /// Executes statements that read one committed state, in one round trip. In the transaction of a save they read rows that the save has locked.
    func read(_ statements: [Statement]) throws(PostgresError) -> [QueryResult] {
        if statements.count < 2 || readsOneState || isInTransaction { return try execute(all: statements) }
        let begin = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return Array(try execute(all: [begin] + statements, then: [Statement("COMMIT")]).dropFirst())
    }
}
#endif
