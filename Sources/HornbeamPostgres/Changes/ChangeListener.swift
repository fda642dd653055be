#if Postgres
internal import Foundation
internal import Glibc
internal import HornbeamModel
internal import HornbeamThreads

/// Receives the saves of other processes: waits for notifications of the server on a connection and a thread of its own, then reads the table of saves.
///
/// After a lost connection it connects again and reads all saves since the last read, so that none is missed. It also reads the table from time to time:
/// a process that ends after its save may not have notified.
final class ChangeListener: Sendable {
    private struct State {
        var isStopped = false
        /// The thread that runs the handler now.
        var handling: UInt?
    }

    private let options: ConnectionOptions
    private let layout: StoreLayout
    /// The identity of this process's store in the table of saves.
    private let source: UUID
    private let handler: @Sendable (ExternalChanges) throws -> Void
    private let throttle: NotificationThrottle
    private let unknown: UnknownSaves
    private let state = Guarded(State())

    private static let pause: Int32 = 250
    /// The longest time without a part of an answer.
    private static let answerLimit = Duration.seconds(30)
    private static let pauseBetweenConnections = 1.0
    /// The shortest time between two reads, and between two notifications of this process, in seconds: processes can save more often than others can read each
    /// save alone.
    private static let pauseAfterRead = 0.01
    /// The longest time between two reads while notifications arrive.
    private static let longestPauseAfterRead = 0.1
    /// The time between two reads as a multiple of the time that a read takes, so that many processes on few processors do not spend most of their time
    /// reading.
    private static let pauseFactor = 10.0
    /// The time between two reads without a notification, in pauses.
    private static let pausesBetweenReads = 8
    /// The time between two deletions of old saves, and while there are more of them.
    private static let deletionInterval = Duration.seconds(600)
    private static let shortDeletionInterval = Duration.seconds(1)

    init(
        _ options: ConnectionOptions, _ layout: StoreLayout, source: UUID, _ throttle: NotificationThrottle, _ unknown: UnknownSaves,
        _ handler: @escaping @Sendable (ExternalChanges) throws -> Void
    ) {
        self.options = options
        self.throttle = throttle
        self.unknown = unknown
        self.layout = layout
        self.source = source
        self.handler = handler
    }

    /// Begins with the saves that are not complete now. Their transactions end after the call or have ended shortly before.
    func start() throws(PostgresError) {
        let connection = try firstConnection()
        var reader = SaveReader(layout, source)
        try reader.begin(connection)
        let first = FirstConnection(connection: connection, reader: reader)
        let thread = Thread { [self] in run(first.connection, first.reader) }
        thread.name = "hornbeam-postgres"
        thread.start()
    }

    /// Waits for a running handler, unless the handler itself calls this method. The handler is not called again.
    func stop() {
        state.withLock { $0.isStopped = true }
        let thread = UInt(pthread_self())
        state.wait { $0.handling == nil || $0.handling == thread ? () : nil }
        // A signal wakes one thread; another one may wait too.
        state.signal()
    }

    /// Waits while the server starts or has no connection left, as the pool does.
    private func firstConnection() throws(PostgresError) -> Connection {
        let deadline = options.deadline
        while true {
            do { return try connect() } catch {
                guard error.isServerBusy, !deadline.isOver else { throw error }
            }
            Thread.sleep(forTimeInterval: Self.pauseBeforeConnecting)
        }
    }

    /// The time between two attempts to connect when the store is opened, in seconds.
    private static let pauseBeforeConnecting = 0.05

    private func connect() throws(PostgresError) -> Connection {
        let connection = try Connection(options.parameters, until: options.deadline)
        connection.ownPayload = source.uuidString
        connection.answerLimit = Self.answerLimit
        if options.pollInterval == nil { try connection.execute(Statement("LISTEN \(SQLText.name(layout.channel))")) }
        return connection
    }

    /// The time for which the thread waits, in milliseconds.
    private var pause: Int32 { options.pollInterval.map { Int32(max(1, min(Double(Self.pause), $0 / .milliseconds(1)))) } ?? Self.pause }

    private var pausesBetweenReads: Int {
        options.pollInterval.map { max(1, Int(min($0 / .milliseconds(1), 1e9)) / Int(pause)) } ?? Self.pausesBetweenReads
    }

    private func run(_ first: Connection, _ start: SaveReader) {
        var connection: Connection? = first
        var reader = start
        var pauses = 0
        var nextDeletion = ContinuousClock.now
        var pauseAfterRead = Self.pauseAfterRead
        while !state.withLock({ $0.isStopped }) {
            do {
                let open = try connection ?? connect()
                let isNotified = try connection != nil && open.waitForNotification(milliseconds: pause)
                pauses += 1
                if open.takeOwnNotification() {
                    Thread.sleep(forTimeInterval: pauseAfterRead)
                    if throttle.react() { try open.execute(layout.notification(source)) }
                }
                guard isNotified || connection == nil || pauses >= pausesBetweenReads else { continue }
                connection = open
                let start = ContinuousClock.now
                // Only if the handler returns, these saves are read.
                var next = reader
                var changes = try next.next(open)
                let known = try unknown.read(layout, open, into: &changes)
                try report(changes)
                unknown.remove(known)
                (reader, pauses) = (next, 0)
                pauseAfterRead = min(max(Self.pauseAfterRead, Self.pauseFactor * ((ContinuousClock.now - start) / .seconds(1))), Self.longestPauseAfterRead)
                if start >= nextDeletion {
                    // A role that may only read cannot delete. An error of the connection is found by the next read.
                    let isComplete = (try? next.deleteOld(open)) ?? true
                    nextDeletion = .now + (isComplete ? Self.deletionInterval : Self.shortDeletionInterval)
                }
                // Further saves are then read together.
                if isNotified { Thread.sleep(forTimeInterval: pauseAfterRead) }
            } catch {
                connection = nil
                if !state.withLock({ $0.isStopped }) { Thread.sleep(forTimeInterval: Self.pauseBetweenConnections) }
            }
        }
    }

    private func report(_ changes: ExternalChanges) throws {
        if changes.changed.isEmpty && changes.deleted.isEmpty { return }
        let thread = UInt(pthread_self())
        let isStopped = state.withLock { state in
            if !state.isStopped { state.handling = thread }
            return state.isStopped
        }
        if isStopped { return }
        defer {
            state.withLock { $0.handling = nil }
            state.signal()
        }
        try handler(changes)
    }
}

/// The values that the listener's thread starts with.
private struct FirstConnection: Sendable {
    let connection: Connection
    let reader: SaveReader
}

/// Reads the saves of other processes from the table of saves, each once.
///
/// Transactions become visible in another order than their numbers. Therefore each read has a snapshot, and the next one reads the saves that were not
/// visible in it: those that were not complete, and those with later numbers. The index finds both, however old the oldest transaction of the server is.
struct SaveReader: Sendable {
    private let layout: StoreLayout
    private let source: UUID
    /// The snapshot of the last read.
    private var snapshot = ""

    init(_ layout: StoreLayout, _ source: UUID) {
        self.layout = layout
        self.source = source
    }

    mutating func begin(_ connection: Connection) throws(PostgresError) {
        snapshot = try connection.execute(Statement("SELECT pg_current_snapshot()")).value ?? ""
    }

    /// Reads the saves that the statement's own snapshot shows and the last one does not. In a restored database, saves can have numbers that no snapshot
    /// shows yet.
    var search: Statement {
        Statement(
            """
            SELECT n.snapshot, s.changed, s.deleted FROM (SELECT pg_current_snapshot() AS snapshot) AS n LEFT JOIN \(layout.saves) AS s \
            ON (s.transaction >= pg_snapshot_xmax($1::pg_snapshot) OR s.transaction = ANY(ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot)))) \
            AND pg_visible_in_snapshot(s.transaction, n.snapshot) AND s.source <> $2::uuid ORDER BY s.transaction
            """, [snapshot, source.uuidString])
    }

    mutating func next(_ connection: Connection) throws -> ExternalChanges {
        let found = try connection.execute(search)
        var changes = ExternalChanges()
        for row in 0 ..< found.rowCount {
            changes.changed += KeyList.keys(found[row, 1] ?? "") ?? []
            changes.deleted += KeyList.keys(found[row, 2] ?? "") ?? []
        }
        snapshot = found.value ?? snapshot
        return changes
    }

    /// The largest number of saves that one call deletes.
    private static let deletedMax = 10_000

    /// Deletes some of the oldest saves if they are older than a week. In that time a process can find out whether a save was written, and read
    /// the saves that it has missed. Returns false if there can be more of them.
    func deleteOld(_ connection: Connection) throws(PostgresError) -> Bool {
        let deleted = try connection.execute(
            Statement(
                """
                WITH old AS (DELETE FROM \(layout.saves) WHERE token IN (SELECT token FROM \
                (SELECT token, saved_at FROM \(layout.saves) ORDER BY transaction LIMIT \(Self.deletedMax)) AS s \
                WHERE saved_at < now() - interval '7 days') RETURNING 1) SELECT count(*) FROM old
                """))
        return deleted.value != String(Self.deletedMax)
    }
}
#endif
