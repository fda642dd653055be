#if Postgres
internal import Foundation
internal import HornbeamModel
internal import HornbeamThreads

/// Connections to a server, at most a given number. A call that finds none free waits for one, for a limited time.
final class ConnectionPool: Sendable {
    private struct State {
        var idle: [Connection] = []
        var openCount = 0
        /// The connections that are lent for several reads of one state.
        var heldCount = 0
        /// The number of open stores that use the pool.
        var users = 0
    }

    let options: ConnectionOptions
    private let connectionsMax: Int
    private let state = Guarded(State())
    /// Called with each new connection, when it is set.
    let preparation = Guarded<(@Sendable (Connection) throws -> Void)?>(nil)

    init(_ options: ConnectionOptions) {
        self.options = options
        // Reads of one state hold a connection while they wait for a save of this process, which needs another one.
        connectionsMax = max(options.connectionsMax, 2)
    }

    /// Lends a connection to `body`. The errors of the server leave this function as they are.
    func withConnection<R>(until deadline: Deadline, isCancellable: Bool = false, _ body: (Connection) throws -> R) throws -> R {
        let connection = try take(until: deadline, isCancellable: isCancellable)
        defer { giveBack(connection) }
        do { return try body(connection) } catch {
            connection.rollback()
            throw error
        }
    }

    // MARK: Lending

    /// - Parameter isHeld: True if the connection is held between several calls, during which the caller may wait for others. One connection is never lent
    ///   in this way.
    func take(until deadline: Deadline, isCancellable: Bool, isHeld: Bool = false) throws -> Connection {
        while true {
            let connection = try free(until: deadline, isCancellable, isHeld: isHeld) ?? connect(until: deadline, isCancellable, isHeld: isHeld)
            guard let connection else { continue }
            connection.isCancellable = isCancellable
            return connection
        }
    }

    /// A free connection. Nil if a new one can be made, which is counted.
    private func free(until deadline: Deadline, _ isCancellable: Bool, isHeld: Bool) throws -> Connection? {
        while true {
            let found: Result<Connection?, HornbeamError>? = state.wait(milliseconds: deadline.milliseconds(atMost: Self.pause)) { state in
                if state.users == 0 { return .failure(HornbeamError(.closed, "The PostgreSQL store is closed. Open it again.")) }
                if isHeld && state.heldCount >= connectionsMax - 1 { return nil }
                let connection = state.idle.popLast()
                guard connection != nil || state.openCount < connectionsMax else { return nil }
                if connection == nil { state.openCount += 1 }
                if isHeld { state.heldCount += 1 }
                return .success(connection)
            }
            // A signal wakes one thread. Each thread that finds the pool closed wakes the next one.
            if case .failure = found { state.signal() }
            if let found { return try found.get() }
            if isCancellable, StoreCancellation.isRequested { throw CancellationError() }
            guard !deadline.isOver else { throw noneFree }
        }
    }

    /// The time after which a waiting call checks again whether its task was cancelled, in milliseconds.
    private static let pause = 20

    private var noneFree: HornbeamError {
        HornbeamError(
            .busy,
            "No connection to the PostgreSQL server became free within \(options.connectionTimeout). Nothing was sent. Try again, or open the store with a "
                + "larger connectionsMax.")
    }

    /// Makes a connection. Nil, after a short wait, if the server cannot be reached now and the deadline is not over.
    private func connect(until deadline: Deadline, _ isCancellable: Bool, isHeld: Bool) throws -> Connection? {
        let prepare = preparation.withLock { $0 }
        do {
            let connection = try Connection(options.parameters, until: deadline)
            connection.cancellationLimit = options.connectionTimeout
            if let prepare {
                // The server waits as long as `connectionTimeout` for a migration. Then the limit of statements is set.
                connection.answerLimit = options.connectionTimeout + Self.answerTime
                try prepare(connection)
            }
            return connection
        } catch {
            uncount(isHeld: isHeld)
            // Before the first connection, a server that is not there is probably a wrong parameter.
            guard let failure = error as? PostgresError, failure.isServerBusy || prepare != nil && failure.needsConnection && !failure.isRefusal,
                !deadline.isOver
            else { throw error }
            if isCancellable, StoreCancellation.isRequested { throw CancellationError() }
            Thread.sleep(forTimeInterval: Self.pauseBeforeConnecting)
            return nil
        }
    }

    /// The longest time for the way of an answer.
    private static let answerTime = Duration.seconds(10)
    /// The time between two attempts to connect, in seconds.
    private static let pauseBeforeConnecting = 0.05

    private func uncount(isHeld: Bool) {
        state.withLock { state in
            state.openCount -= 1
            if isHeld { state.heldCount -= 1 }
        }
        state.signal()
    }

    func giveBack(_ connection: Connection, isHeld: Bool = false) {
        state.withLock { state in
            if isHeld { state.heldCount -= 1 }
            if connection.isReusable && state.users > 0 { state.idle.append(connection) } else { state.openCount -= 1 }
        }
        state.signal()
    }

    // MARK: Users

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
        let idle = state.withLock { state in
            defer { state.idle = [] }
            state.openCount -= state.idle.count
            return state.idle
        }
        // Closed outside the lock.
        withExtendedLifetime(idle) { state.signal() }
    }
}
#endif
