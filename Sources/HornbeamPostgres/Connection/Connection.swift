#if Postgres
internal import CPostgres
internal import Foundation
internal import Glibc
internal import HornbeamModel

/// A connection to a server. It executes one call at a time.
///
/// `@unchecked Sendable`: the pool lends a connection to one thread at a time.
@safe final class Connection: @unchecked Sendable {
    private let handle: OpaquePointer
    /// False after an error that makes the state of the connection unknown.
    private(set) var isUsable = true
    /// False also if a request to cancel has not arrived at the server yet: there it could cancel a later statement.
    var isReusable: Bool { isUsable && !mayBeCancelled }
    private var mayBeCancelled = false
    /// True if the server has not answered within `answerLimit`.
    private var isOverdue = false
    /// True while the statements can be cancelled: by the task for which the calling thread works.
    var isCancellable = false
    /// The longest time without a part of an answer, after which the connection counts as lost; nil for no limit.
    var answerLimit: Duration?
    /// The same limit for a statement that was cancelled.
    var cancellationLimit = Duration.seconds(10)
    private var prepared = PreparedStatements()
    /// The statements whose results are read before the next statement is sent.
    private var unread: [PreparedUse] = []
    /// Sent before the next statement, in the same round trip.
    private var beginning: Statement?
    /// True in the transaction of `beginReading`.
    private(set) var readsOneState = false
    /// The payload of notifications that need no answer, because the process has sent them itself.
    var ownPayload: String?
    private var ownNotificationCount = 0
    private var hasOwnNotification = false
    /// The number of own notifications after which a listener reads the table of saves again, so that the next read has few rows to skip.
    private static let ownNotificationsMax = 256

    /// Connects and waits for the server, until the deadline.
    ///
    /// - Throws: `PostgresError` of the kind `handshake`.
    init(_ parameters: String, until deadline: Deadline) throws(PostgresError) {
        unsafe handle = try Handshake(parameters, until: deadline).connect()
        // Notices would be written to the standard error of the program.
        unsafe PQsetNoticeProcessor(handle, { _, _ in }, nil)
        // Snapshots of a standby do not name the running transactions, so that their saves would be missed.
        if unsafe PQparameterStatus(handle, "in_hot_standby").map({ unsafe String(cString: $0) }) == "on" {
            throw PostgresError(kind: .handshake, state: PostgresError.readOnlyState, message: "the server is a standby")
        }
        answerLimit = .milliseconds(max(Self.settingsLimit, deadline.milliseconds(atMost: .max)))
        defer { answerLimit = nil }
        do { _ = try execute(all: Self.settings.map { Statement($0) }) } catch {
            guard error.kind == .lostConnection else { throw error }
            throw PostgresError(kind: .handshake, state: error.state, message: error.message)
        }
    }

    deinit { unsafe PQfinish(handle) }

    private static let settings = [
        "SET client_encoding TO 'UTF8'", "SET extra_float_digits TO 1", "SET bytea_output TO 'hex'", "SET standard_conforming_strings TO on",
        // A save reads the newest versions after it has waited for locks, also if the database has another default.
        "SET default_transaction_isolation TO 'read committed'",
        // Without these, NULL in an array is a text, and names of types have quotation marks.
        "SET array_nulls TO on", "SET quote_all_identifiers TO off",
        // An app's table, such as `text`, must not replace a type of the server. Without a setting, the server searches its own names first too.
        "SELECT set_config('search_path', 'pg_catalog, ' || current_setting('search_path'), false) WHERE current_setting('search_path') LIKE '%pg_catalog%'",
    ]
    /// The least time for which a new connection waits for the answer to its settings, in milliseconds.
    private static let settingsLimit = 1_000

    // MARK: Statements

    /// A statement and the form in which it was sent.
    private struct PreparedUse {
        let statement: Statement
        let use: PreparedStatements.Use
    }

    /// Executes a statement and waits for its result.
    @discardableResult
    func execute(_ statement: Statement) throws(PostgresError) -> QueryResult {
        if beginning != nil { return try execute(all: [statement])[0] }
        try readRest()
        try requireUncancelled()
        let use = prepared.use(statement)
        if case .prepare(let name, let removed) = use {
            if let removed {
                guard sendRemoval(removed) else { throw failure() }
                do { _ = try next() } catch {
                    prepared.forget(statement)
                    throw error
                }
            }
            guard unsafe PQsendPrepare(handle, name, statement.sql, 0, nil) == 1 else { throw failure() }
            do { _ = try next() } catch {
                prepared.forget(statement)
                throw error
            }
        }
        guard sendExecution(statement, use) else { throw failure() }
        return try next()
    }

    /// Executes statements in pipeline mode: one round trip for all of them. After an error, the rest is not executed.
    ///
    /// - Parameter trailing: Statements that are sent in the same message, after the others have ended, also in an error. The call does not wait for them.
    @discardableResult
    func execute(all statements: [Statement], then trailing: [Statement] = []) throws(PostgresError) -> [QueryResult] {
        try readRest()
        try requireUncancelled()
        let first = beginning.map { [$0] } ?? []
        beginning = nil
        guard unsafe PQenterPipelineMode(handle) == 1 else { throw failure() }
        let uses = try send(first + statements)
        unread = trailing.isEmpty ? [] : try send(trailing)
        let results = try results(of: uses)
        return Array(results.dropFirst(first.count))
    }

    /// Makes statements and passes each of them to the closure.
    typealias StatementMaker = (_ send: (Statement) throws -> Void) throws -> Void

    /// Executes statements like `execute(all:then:)`, while they are made: the server begins with large ones at once.
    ///
    /// If the closure throws, the statements before it are executed, the trailing ones are not, and the transaction stays open. The caller then rolls it back.
    func execute(then trailing: [Statement] = [], _ make: StatementMaker) throws {
        try readRest()
        try requireUncancelled()
        guard unsafe PQenterPipelineMode(handle) == 1 else { throw failure() }
        var uses: [PreparedUse] = []
        var interruption: (any Error)?
        do {
            try make { statement in
                uses.append(try send(statement))
                if statement.isLarge { try flush() }
            }
        } catch {
            guard isUsable else { throw error }
            interruption = error
        }
        try sync()
        unread = trailing.isEmpty || interruption != nil ? [] : try send(trailing)
        do { _ = try results(of: uses) } catch { throw interruption ?? error }
        if let interruption { throw interruption }
    }

    /// Sends statements, and does not wait for their results.
    func send(trailing statements: [Statement]) throws(PostgresError) {
        try readRest()
        guard unsafe PQenterPipelineMode(handle) == 1 else { throw failure() }
        unread = try send(statements)
    }

    /// Sends a group of statements with a sync. The server leaves out the rest of a group after an error.
    private func send(_ statements: [Statement]) throws(PostgresError) -> [PreparedUse] {
        var uses: [PreparedUse] = []
        for statement in statements { uses.append(try send(statement)) }
        try sync()
        return uses
    }

    /// Sends a statement of a group. Returns its use, without the values.
    private func send(_ statement: Statement) throws(PostgresError) -> PreparedUse {
        let use = prepared.use(statement)
        if case .prepare(let name, let removed) = use {
            if let removed, !sendRemoval(removed) { throw failure() }
            guard unsafe PQsendPrepare(handle, name, statement.sql, 0, nil) == 1 else { throw failure() }
        }
        guard sendExecution(statement, use) else { throw failure() }
        return PreparedUse(statement: Statement(statement.sql), use: use)
    }

    private func sync() throws(PostgresError) {
        guard unsafe PQpipelineSync(handle) == 1 else { throw failure() }
    }

    /// Writes all bytes that libpq has buffered. If the socket is full, libpq reads the server's answers while it waits, so that both sides cannot wait for
    /// each other.
    private func flush() throws(PostgresError) {
        guard unsafe PQflush(handle) == 0 else { throw failure() }
    }

    private func sendRemoval(_ name: String) -> Bool { unsafe PQsendQueryParams(handle, "DEALLOCATE \(name)", 0, nil, nil, nil, nil, 0) == 1 }

    private func sendExecution(_ statement: Statement, _ use: PreparedStatements.Use) -> Bool {
        unsafe withParameters(statement) { values in
            let count = Int32(statement.parameters.count)
            let format: Int32 = statement.hasBinaryResult ? 1 : 0
            return switch use {
            case .text: unsafe PQsendQueryParams(handle, statement.sql, count, nil, values, nil, nil, format)
            case .prepare(let name, _), .name(let name): unsafe PQsendQueryPrepared(handle, name, count, values, nil, nil, format)
            }
        } == 1
    }

    private func withParameters<R>(_ statement: Statement, _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> R) -> R {
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe statement.parameters.map { text in unsafe text.flatMap { unsafe strdup($0) } }
        defer { for unsafe text in unsafe texts { unsafe free(text) } }
        return unsafe texts.withUnsafeMutableBufferPointer { buffer in
            unsafe buffer.withMemoryRebound(to: UnsafePointer<CChar>?.self) { unsafe body(UnsafePointer($0.baseAddress)) }
        }
    }

    // MARK: Results

    /// The results of a group, up to its sync. Throws the first error.
    private func results(of uses: [PreparedUse]) throws(PostgresError) -> [QueryResult] {
        var results: [QueryResult] = []
        var first: PostgresError?
        for use in uses {
            if case .prepare(_, let removed) = use.use {
                if removed != nil { do { _ = try next() } catch { first = first ?? error } }
                if !isUsable { break }
                do { _ = try next() } catch {
                    first = first ?? error
                    prepared.forget(use.statement)
                }
                if !isUsable { break }
            }
            do { results.append(try next()) } catch { first = first ?? error }
            if !isUsable { break }
        }
        if !isUsable { throw first ?? failure() }
        if let end = unsafe result() { unsafe PQclear(end) }
        if unread.isEmpty {
            guard unsafe PQexitPipelineMode(handle) == 1 else { throw first ?? failure() }
        }
        if let first { throw first }
        return results
    }

    /// Reads the results of statements for which no call has waited. Their errors concern no call.
    private func readRest() throws(PostgresError) {
        guard isUsable else { throw PostgresError(kind: .lostConnection, message: "the connection was lost before") }
        if unread.isEmpty { return }
        let uses = unread
        unread = []
        let isCancellable = isCancellable
        self.isCancellable = false
        defer { self.isCancellable = isCancellable }
        do { _ = try results(of: uses) } catch { if !isUsable { throw error } }
    }

    /// The next result in pipeline mode. Results of a statement end with a null pointer.
    private func next() throws(PostgresError) -> QueryResult {
        let answer = unsafe result()
        defer { if isUsable { while let rest = unsafe result() { unsafe PQclear(rest) } } }
        return unsafe try checked(answer)
    }

    /// Waits for a result. Cancels the statement on the server if the task of the caller is cancelled meanwhile. Nil, and the connection is not usable,
    /// if the server sends nothing for longer than the limit: a proxy or a firewall can keep a connection open without forwarding its bytes.
    private func result() -> OpaquePointer? {
        var limit = mayBeCancelled ? cancellationLimit : answerLimit
        var end = limit.map { Deadline(after: $0) }
        while unsafe PQisBusy(handle) == 1 {
            if isCancellable, !mayBeCancelled, StoreCancellation.isRequested {
                cancel()
                limit = cancellationLimit
                end = Deadline(after: cancellationLimit)
            }
            var descriptor = pollfd(fd: unsafe PQsocket(handle), events: Int16(POLLIN), revents: 0)
            let isReady = unsafe poll(&descriptor, 1, pause(until: end)) > 0
            if !isReady, let end, end.isOver {
                (isUsable, isOverdue) = (false, true)
                return nil
            }
            // After an error, `PQgetResult` returns it.
            guard unsafe PQconsumeInput(handle) == 1 else { break }
            if isReady { end = limit.map { Deadline(after: $0) } }
        }
        return unsafe PQgetResult(handle)
    }

    /// The time after which a waiting call looks at its limits again, in milliseconds.
    private func pause(until end: Deadline?) -> Int32 {
        // With TLS, libpq can have unread bytes that the socket does not have any more.
        if unsafe PQsslInUse(handle) == 1 { return Self.encryptedPause }
        if isCancellable { return Self.cancellationPause }
        return end.map { Int32($0.milliseconds(atMost: 60_000)) } ?? -1
    }

    /// The time after which a waiting call checks again whether its task was cancelled, in milliseconds.
    private static let cancellationPause: Int32 = 20
    private static let encryptedPause: Int32 = 5

    /// Sends a request to cancel, on a thread of its own: libpq waits until the server closes the request's connection.
    private func cancel() {
        mayBeCancelled = true
        guard let request = unsafe PQgetCancel(handle) else { return }
        let address = UInt(bitPattern: request)
        Thread.detachNewThread {
            let request = unsafe OpaquePointer(bitPattern: address)
            var text = [CChar](repeating: 0, count: 256)
            _ = unsafe text.withUnsafeMutableBufferPointer { unsafe PQcancel(request, $0.baseAddress, Int32($0.count)) }
            unsafe PQfreeCancel(request)
        }
    }

    private func requireUncancelled() throws(PostgresError) {
        guard isCancellable, StoreCancellation.isRequested else { return }
        throw PostgresError(message: "the task was cancelled", isOfTask: true)
    }

    private func checked(_ answer: OpaquePointer?) throws(PostgresError) -> QueryResult {
        guard let answer = unsafe answer else { throw failure() }
        let status = unsafe PQresultStatus(answer)
        if status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK { return unsafe QueryResult(answer) }
        defer { unsafe PQclear(answer) }
        if status == PGRES_PIPELINE_ABORTED { throw PostgresError(state: "25P02", message: "an earlier statement failed") }
        func field(_ code: Int32) -> String? { unsafe PQresultErrorField(answer, code).map { unsafe String(cString: $0) } }
        let state = field(67) ?? ""  // PG_DIAG_SQLSTATE
        let text = field(77) ?? lastMessage  // PG_DIAG_MESSAGE_PRIMARY
        let constraint = field(110)  // PG_DIAG_CONSTRAINT_NAME
        // PG_DIAG_SEVERITY_NONLOCALIZED. After these, the server ends the session, for example because it was idle in a transaction for too long.
        let isLast = ["FATAL", "PANIC"].contains(field(86))
        if unsafe isLast || PQstatus(handle) != CONNECTION_OK || state.isEmpty || state.hasPrefix("08") || state.hasPrefix("57P") {
            isUsable = false
            throw PostgresError(kind: .lostConnection, state: state, message: text)
        }
        // PG_DIAG_SOURCE_FUNCTION: RAISE of PL/pgSQL, whose text and SQLSTATE the function chooses.
        let isRaised = field(82) == "exec_stmt_raise"
        let message = PostgresError.message(text, state: state, constraint: constraint, isRaised: isRaised)
        var error = PostgresError(state: state, message: message, constraint: constraint)
        // PG_DIAG_SCHEMA_NAME, PG_DIAG_TABLE_NAME, PG_DIAG_COLUMN_NAME
        if let schema = field(115), let table = field(116) { error.table = SQLText.name(schema) + "." + SQLText.name(table) }
        error.column = field(99)
        if error.isStaleStatement { isUsable = false }
        if state == "57014", mayBeCancelled {
            // The request has arrived, so it cancels no other statement.
            mayBeCancelled = false
            error.isOfTask = true
        }
        throw error
    }

    /// The error of a call that returned no result.
    private func failure() -> PostgresError {
        isUsable = false
        guard isOverdue else { return PostgresError(kind: .lostConnection, message: lastMessage) }
        return PostgresError(kind: .lostConnection, message: "the server has not answered within the time limit", isOfTask: mayBeCancelled)
    }

    private var lastMessage: String { unsafe Self.lines(PQerrorMessage(handle))[0] }

    static func lines(_ text: UnsafeMutablePointer<CChar>?) -> [String] {
        let all = unsafe text.map { unsafe String(cString: $0) } ?? ""
        let lines = all.split(separator: "\n").map { $0.hasSuffix(".") ? String($0.dropLast()) : String($0) }
        return lines.isEmpty ? ["the server closed the connection"] : lines
    }

    // MARK: Transactions

    /// Makes the next statement begin a transaction that reads one committed state.
    func beginReading() {
        beginning = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        readsOneState = true
    }

    /// Ends the transaction of `beginReading`, without waiting for the server.
    func endReading() {
        defer { (beginning, readsOneState) = (nil, false) }
        guard isUsable, readsOneState, beginning == nil else { return }
        do { try send(trailing: [Statement("COMMIT")]) } catch { isUsable = false }
    }

    /// True between the beginning and the end of a transaction, also of a failed one. Statements for which no call waits are in no transaction.
    var isInTransaction: Bool { unsafe unread.isEmpty && PQtransactionStatus(handle) != PQTRANS_IDLE }

    /// Ends the transaction that an error interrupted, if there is one. A connection on which this fails is not used again.
    func rollback() {
        (beginning, readsOneState) = (nil, false)
        isCancellable = false
        do {
            try readRest()
            if isInTransaction { try execute(Statement("ROLLBACK")) }
        } catch { isUsable = false }
    }

    // MARK: Notifications

    /// Waits until the server has sent a notification. Returns false if there was none in the given time.
    func waitForNotification(milliseconds: Int32) throws(PostgresError) -> Bool {
        // Results of statements can have brought notifications too.
        if takeNotifications() { return true }
        var descriptor = pollfd(fd: unsafe PQsocket(handle), events: Int16(POLLIN), revents: 0)
        if unsafe poll(&descriptor, 1, milliseconds) == 0 { return false }
        guard unsafe PQconsumeInput(handle) == 1 else { throw failure() }
        return takeNotifications()
    }

    /// True if a notification of this process has arrived since the last call.
    func takeOwnNotification() -> Bool {
        defer { hasOwnNotification = false }
        return hasOwnNotification
    }

    private func takeNotifications() -> Bool {
        var isNotified = false
        while let notification = unsafe PQnotifies(handle) {
            if let ownPayload, let extra = unsafe notification.pointee.extra, unsafe String(cString: extra) == ownPayload {
                ownNotificationCount += 1
                hasOwnNotification = true
                isNotified = isNotified || ownNotificationCount % Self.ownNotificationsMax == 0
            } else {
                isNotified = true
            }
            unsafe PQfreemem(notification)
        }
        return isNotified
    }
}
#endif
