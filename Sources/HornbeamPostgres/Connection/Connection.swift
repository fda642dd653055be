#if Postgres
internal import CPostgres
internal import Glibc

/// A connection to a server. It executes one call at a time.
///
/// `@unchecked Sendable`: the pool lends a connection to one thread at a time.
@safe final class Connection: @unchecked Sendable {
    private let handle: OpaquePointer
    /// False after an error that makes the state of the connection unknown.
    private(set) var isUsable = true
    private var prepared = PreparedStatements()
    /// The payload of notifications that need no answer, because the process has sent them itself.
    var ownPayload: String?
    private var ownNotificationCount = 0
    /// After so many notifications of its own, a listener reads the table of saves again, so that the next read has few rows to skip.
    private static let ownNotificationsMax = 256

    /// Connects and waits for the server.
    ///
    /// - Throws: `PostgresError` without a state.
    init(_ parameters: String) throws(PostgresError) {
        guard let handle = unsafe PQconnectdb(parameters) else {
            throw PostgresError(state: "", message: "there is no memory for a connection")
        }
        unsafe self.handle = handle
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            let text = unsafe Self.firstLine(PQerrorMessage(handle))
            // `deinit` frees the handle.
            throw PostgresError(state: "", message: Self.withoutCredentials(text, parameters))
        }
        // Notices would be written to the standard error of the program.
        unsafe PQsetNoticeProcessor(handle, { _, _ in }, nil)
        for setting in Self.settings { _ = try execute(Statement(setting)) }
    }

    deinit { unsafe PQfinish(handle) }

    private static let settings = [
        "SET client_encoding TO 'UTF8'", "SET extra_float_digits TO 1", "SET bytea_output TO 'hex'", "SET standard_conforming_strings TO on",
        // A save reads the newest versions after it has waited for locks, also if the database has another default.
        "SET default_transaction_isolation TO 'read committed'",
    ]

    // MARK: Statements

    /// Executes a statement and waits for its result.
    @discardableResult
    func execute(_ statement: Statement) throws(PostgresError) -> QueryResult {
        let use = prepared.use(statement)
        if case .prepare(let name) = use {
            do { _ = unsafe try checked(PQprepare(handle, name, statement.sql, 0, nil)) } catch {
                prepared.forget(statement)
                throw error
            }
        }
        let answer = unsafe withParameters(statement) { values in
            let count = Int32(statement.parameters.count)
            return switch use {
            case .text: unsafe PQexecParams(handle, statement.sql, count, nil, values, nil, nil, 0)
            case .prepare(let name), .name(let name): unsafe PQexecPrepared(handle, name, count, values, nil, nil, 0)
            }
        }
        return unsafe try checked(answer)
    }

    /// Executes statements in pipeline mode: one round trip for all of them. After an error, the rest is not executed.
    func execute(all statements: [Statement]) throws(PostgresError) -> [QueryResult] {
        guard unsafe PQenterPipelineMode(handle) == 1 else { throw failure() }
        let uses = statements.map { prepared.use($0) }
        for (statement, use) in zip(statements, uses) {
            guard send(statement, use) else { throw failure() }
        }
        guard unsafe PQpipelineSync(handle) == 1 else { throw failure() }
        var results: [QueryResult] = []
        var first: PostgresError?
        for (statement, use) in zip(statements, uses) {
            if case .prepare = use {
                do { _ = try next() } catch {
                    first = first ?? error
                    prepared.forget(statement)
                }
                if !isUsable { break }
            }
            do { results.append(try next()) } catch { first = first ?? error }
            if !isUsable { break }
        }
        if let first, !isUsable { throw first }
        if let end = unsafe PQgetResult(handle) { unsafe PQclear(end) }
        guard unsafe PQexitPipelineMode(handle) == 1 else { throw first ?? failure() }
        if let first { throw first }
        return results
    }

    /// Sends a statement in pipeline mode. False if libpq could not.
    private func send(_ statement: Statement, _ use: PreparedStatements.Use) -> Bool {
        if case .prepare(let name) = use, unsafe PQsendPrepare(handle, name, statement.sql, 0, nil) != 1 { return false }
        return unsafe withParameters(statement) { values in
            let count = Int32(statement.parameters.count)
            return switch use {
            case .text: unsafe PQsendQueryParams(handle, statement.sql, count, nil, values, nil, nil, 0)
            case .prepare(let name), .name(let name): unsafe PQsendQueryPrepared(handle, name, count, values, nil, nil, 0)
            }
        } == 1
    }

    /// The next result in pipeline mode. Results of a message end with a null pointer.
    private func next() throws(PostgresError) -> QueryResult {
        let answer = unsafe PQgetResult(handle)
        defer { if isUsable { while let rest = unsafe PQgetResult(handle) { unsafe PQclear(rest) } } }
        return unsafe try checked(answer)
    }

    private func withParameters<R>(_ statement: Statement, _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> R) -> R {
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe statement.parameters.map { text in unsafe text.flatMap { unsafe strdup($0) } }
        defer { for unsafe text in unsafe texts { unsafe free(text) } }
        return unsafe texts.withUnsafeMutableBufferPointer { buffer in
            unsafe buffer.withMemoryRebound(to: UnsafePointer<CChar>?.self) { unsafe body(UnsafePointer($0.baseAddress)) }
        }
    }

    private func checked(_ answer: OpaquePointer?) throws(PostgresError) -> QueryResult {
        guard let answer = unsafe answer else { throw failure() }
        let status = unsafe PQresultStatus(answer)
        if status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK { return unsafe QueryResult(answer) }
        defer { unsafe PQclear(answer) }
        if status == PGRES_PIPELINE_ABORTED { throw PostgresError(state: "25P02", message: "an earlier statement failed") }
        let state = unsafe PQresultErrorField(answer, 67).map { unsafe String(cString: $0) } ?? ""  // PG_DIAG_SQLSTATE
        let message = unsafe PQresultErrorField(answer, 77).map { unsafe String(cString: $0) }  // PG_DIAG_MESSAGE_PRIMARY
        let constraint = unsafe PQresultErrorField(answer, 110).map { unsafe String(cString: $0) }  // PG_DIAG_CONSTRAINT_NAME
        let error = PostgresError(
            state: state, message: message ?? lastMessage, constraint: constraint)
        if unsafe PQstatus(handle) != CONNECTION_OK || error.isLostConnection { isUsable = false }
        throw error
    }

    /// The error of a call that returned no result.
    private func failure() -> PostgresError {
        isUsable = false
        return PostgresError(state: "", message: lastMessage)
    }

    /// True between the beginning and the end of a transaction, also of a failed one.
    var isInTransaction: Bool { unsafe isUsable && PQtransactionStatus(handle) != PQTRANS_IDLE }

    /// Ends a transaction after an error. A connection on which this fails is not used again.
    func rollback() {
        guard isUsable else { return }
        do { _ = try execute(Statement("ROLLBACK")) } catch { isUsable = false }
    }

    /// Waits until the server has sent a notification. Returns false if there was none in the given time.
    func waitForNotification(milliseconds: Int32) throws(PostgresError) -> Bool {
        // Results of statements can have brought notifications too.
        if takeNotifications() { return true }
        var descriptor = pollfd(fd: unsafe PQsocket(handle), events: Int16(POLLIN), revents: 0)
        if unsafe poll(&descriptor, 1, milliseconds) == 0 { return false }
        guard unsafe PQconsumeInput(handle) == 1 else { throw failure() }
        return takeNotifications()
    }

    private func takeNotifications() -> Bool {
        var isNotified = false
        while let notification = unsafe PQnotifies(handle) {
            if let ownPayload, let extra = unsafe notification.pointee.extra, unsafe String(cString: extra) == ownPayload {
                ownNotificationCount += 1
                isNotified = isNotified || ownNotificationCount % Self.ownNotificationsMax == 0
            } else {
                isNotified = true
            }
            unsafe PQfreemem(notification)
        }
        return isNotified
    }

    // MARK: Messages

    private var lastMessage: String { unsafe Self.firstLine(PQerrorMessage(handle)) }

    private static func firstLine(_ text: UnsafeMutablePointer<CChar>?) -> String {
        guard let text = unsafe text else { return "the server closed the connection" }
        let line = unsafe String(cString: text).split(separator: "\n").first.map(String.init) ?? "the server closed the connection"
        return line.hasSuffix(".") ? String(line.dropLast()) : line
    }

    /// The message, or a general one if it can repeat parts of the connection's parameters. libpq repeats parameters that it cannot read, and
    /// takes the rest of a URI's password after an unescaped @ as a host name.
    private static func withoutCredentials(_ message: String, _ parameters: String) -> String {
        let isAmbiguous = parameters.contains("://") && parameters.count { $0 == "@" } > 1
        let repeats = message.contains("invalid") || message.contains("missing \"=\"") || message.contains("URI") || message.contains(parameters)
        return isAmbiguous || repeats ? "its parameters are invalid; in a URI, escape special characters of the password (@ is %40)" : message
    }
}

/// The result of a statement.
///
/// `@unchecked Sendable`: libpq does not change a result after it was made.
@safe final class QueryResult: @unchecked Sendable {
    private let handle: OpaquePointer
    let rowCount: Int
    private let columnCount: Int

    init(_ handle: OpaquePointer) {
        unsafe self.handle = handle
        rowCount = unsafe Int(PQntuples(handle))
        columnCount = unsafe Int(PQnfields(handle))
    }

    deinit { unsafe PQclear(handle) }

    /// The text of a cell; nil for NULL.
    subscript(row: Int, column: Int) -> String? {
        unsafe withBytes(row, column) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The number in a cell; nil for NULL and for other texts.
    func integer(_ row: Int, _ column: Int) -> Int64? {
        let number: Int64?? = unsafe withBytes(row, column) { unsafe Self.integer($0) }
        return number ?? nil
    }

    private static func integer(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        let isNegative = unsafe bytes.first == UInt8(ascii: "-")
        guard bytes.count > (isNegative ? 1 : 0) else { return nil }
        // Negative, because the least number has no positive counterpart.
        var number: Int64 = 0
        for place in (isNegative ? 1 : 0) ..< bytes.count {
            let digit = unsafe bytes[place] &- UInt8(ascii: "0")
            let (product, isTooLong) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooSmall) = product.subtractingReportingOverflow(Int64(digit))
            if digit > 9 || isTooLong || isTooSmall { return nil }
            number = sum
        }
        if isNegative { return number }
        return number == .min ? nil : -number
    }

    /// Passes the bytes of a cell; nil for NULL.
    func withBytes<R>(_ row: Int, _ column: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R? {
        precondition(row >= 0 && row < rowCount && column >= 0 && column < columnCount, "The cell exists.")
        let length = unsafe Int(PQgetlength(handle, Int32(row), Int32(column)))
        if length == 0, unsafe PQgetisnull(handle, Int32(row), Int32(column)) == 1 { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(start: PQgetvalue(handle, Int32(row), Int32(column)), count: length)
        return unsafe try bytes.withMemoryRebound(to: UInt8.self) { unsafe try body($0) }
    }

    /// The first cell of the first row.
    var value: String? { rowCount > 0 ? self[0, 0] : nil }
}
#endif
