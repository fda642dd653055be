#if Postgres
internal import HornbeamModel
internal import HornbeamThreads

/// Connections to a server, at most a given number. A call that finds none free waits for one.
final class ConnectionPool: Sendable {
    private struct State {
        var idle: [Connection] = []
        var openCount = 0
        /// The number of open stores that use the pool.
        var users = 0
    }

    private let parameters: String
    private let connectionsMax: Int
    private let state = Guarded(State())
    /// Called with each new connection, when it is set.
    let preparation = Guarded<(@Sendable (Connection) throws -> Void)?>(nil)

    init(_ parameters: String, connectionsMax: Int) {
        self.parameters = parameters
        self.connectionsMax = connectionsMax
    }

    /// Lends a connection to `body`. The errors of the server leave this function as they are.
    func withConnection<R>(_ body: (Connection) throws -> R) throws -> R {
        let connection = try take()
        defer { giveBack(connection) }
        do { return try body(connection) } catch {
            connection.rollbackAfterError()
            throw error
        }
    }

    private func take() throws -> Connection {
        let found: Result<Connection?, HornbeamError> = state.wait { state in
            if state.users == 0 { return .failure(HornbeamError(.closed, "The PostgreSQL store is closed. Open it again.")) }
            if let connection = state.idle.popLast() { return .success(connection) }
            guard state.openCount < connectionsMax else { return nil }
            state.openCount += 1
            return .success(nil)
        }
        // A signal wakes one thread. Each thread that finds the pool closed wakes the next one.
        if case .failure = found { state.signal() }
        if let connection = try found.get() { return connection }
        do {
            let connection = try Connection(parameters)
            try preparation.withLock { $0 }?(connection)
            return connection
        } catch {
            state.withLock { $0.openCount -= 1 }
            state.signal()
            throw error
        }
    }

    private func giveBack(_ connection: Connection) {
        state.withLock { state in
            if connection.isUsable && state.users > 0 { state.idle.append(connection) } else { state.openCount -= 1 }
        }
        state.signal()
    }

    /// Adds a user.
    func open() { state.withLock { $0.users += 1 } }

    /// Removes a user. The last one closes the idle connections, and the others are closed when they are returned.
    func close() {
        let isLast = state.withLock { state in
            state.users -= 1
            return state.users == 0
        }
        if isLast { closeIdle() }
    }

    /// Closes the idle connections, which the server may have closed too.
    func closeIdle() {
        state.withLock { state in
            state.openCount -= state.idle.count
            state.idle = []
        }
        state.signal()
    }
}

extension Connection {
    /// Ends the transaction that an error interrupted, if there is one.
    fileprivate func rollbackAfterError() { if isInTransaction { rollback() } }
}
#endif
