#if Postgres
internal import HornbeamModel

/// An error that the server or the connection reported. Its text has neither the connection's parameters nor values of rows.
struct PostgresError: Error {
    enum Kind: Sendable {
        /// The server refused a statement, and the connection can still be used.
        case statement
        /// The connection was lost. Whether the server has executed the statements that were sent is unknown.
        case lostConnection
        /// No connection was made, so no statement was sent.
        case handshake
    }

    var kind = Kind.statement
    /// The five letters of the SQL standard and PostgreSQL; empty if there are none.
    var state = ""
    var message: String
    /// The constraint that was violated.
    var constraint: String?
    /// The table of the constraint, in quotation marks and with its schema.
    var table: String?
    /// The column that requires a value.
    var column: String?
    /// True if the statement was cancelled because the task of the caller was cancelled.
    var isOfTask = false

    /// `unique_violation`, and `exclusion_violation` of a unique value that subentities inherit.
    var isUniqueViolation: Bool { state == "23505" || state == "23P01" }
    /// `not_null_violation`, `foreign_key_violation`, `check_violation`
    var isOtherViolation: Bool { state == "23502" || state == "23503" || state == "23514" }
    /// `numeric_value_out_of_range`, `division_by_zero`
    var isCalculation: Bool { state == "22003" || state == "22012" }
    /// `serialization_failure`, `deadlock_detected`: nothing was written, and the same transaction can succeed when it runs again.
    var isRepeatable: Bool { state == "40001" || state == "40P01" || isStaleStatement }
    /// True when the server does not know a prepared statement any more, or cannot use it after a change of a table. A new connection prepares it again.
    var isStaleStatement: Bool { state == "26000" || state == "0A000" }
    /// `lock_not_available`: another transaction holds a lock for longer than the limit.
    var isLockTimeout: Bool { state == "55P03" }
    /// True if a statement that changes nothing can succeed with another connection.
    var needsConnection: Bool { (kind != .statement || isStaleStatement) && !isOfTask }
    /// True while a server starts or has no connection left.
    var isServerBusy: Bool { kind == .handshake && (state == "57P03" || state == "53300") }
    /// `invalid_authorization_specification` and its class, `invalid_catalog_name`, `insufficient_privilege`: the next attempt has the same error.
    var isRefusal: Bool { kind == .handshake && (state.hasPrefix("28") || state == "3D000" || state == "42501") }

    /// `read_only_sql_transaction`
    static let readOnlyState = "25006"

    /// The error that the app receives.
    var translated: any Error {
        if isOfTask { return CancellationError() }
        return error
    }

    var error: HornbeamError {
        switch state {
        case "57014":
            HornbeamError(.storeOperationFailed, "The PostgreSQL server cancelled a statement: \(message). See statementTimeout.", cause: cause)
        // The server names the index only for values that fit into a page.
        case "54000" where constraint != nil || message.contains("index row"):
            HornbeamError(
                .storeOperationFailed,
                "A value is too long for \(constraint.map { "the index “\($0)”" } ?? "an index") of the PostgreSQL server. Nothing was written. "
                    + "A unique or indexed text has about "
                    + "2,700 bytes at most: shorten it, or remove the constraint or the fetch index from the model.", cause: cause)
        case "55P03":
            HornbeamError(
                .busy,
                "Another transaction of the PostgreSQL server has held a lock for longer than connectionTimeout. Nothing was written. Try again.",
                cause: cause)
        case Self.readOnlyState:
            HornbeamError(
                .readOnly,
                "The PostgreSQL server allows this connection no changes: it is a standby, or default_transaction_read_only is on. Nothing was written. Among "
                    + "several hosts, target_session_attrs=read-write finds the primary server.", cause: cause)
        case "53100":
            HornbeamError(
                .storeOperationFailed, "The disk of the PostgreSQL server is full. Nothing was written. Free some space and save again.", cause: cause)
        case _ where kind == .handshake:
            HornbeamError(.storeOperationFailed, "There is no connection to the PostgreSQL server: \(message).", cause: cause)
        case _ where kind == .lostConnection:
            HornbeamError(.storeOperationFailed, "The connection to the PostgreSQL server failed: \(message).", cause: cause)
        default:
            HornbeamError(.storeOperationFailed, "The PostgreSQL server refused a statement: \(message).", cause: cause)
        }
    }

    private var cause: String { state.isEmpty ? message : "SQLSTATE \(state): \(message)" }

    // MARK: Messages

    /// A text for an error of a statement. Messages of classes that can repeat values of rows, or texts of triggers, are replaced.
    ///
    /// - Parameter isRaised: True for an error that a function of the database has raised. Its text can repeat values.
    static func message(_ text: String, state: String, constraint: String?, isRaised: Bool) -> String {
        let place = constraint.map { " (constraint “\($0)”)" } ?? ""
        let raised = "a trigger or function of the database reported an error\(place)"
        if isRaised { return raised }
        switch state.prefix(2) {
        case "22": return "a value does not fit its column or the calculation\(place)"
        case "23": return "a value violates a constraint of the database\(place)"
        case "44": return "a row violates the condition of a view"
        case "P0", "38", "39", "09", "2F": return raised
        case "XX", "": return "the server reported an internal error"
        default: return text
        }
    }
}
#endif
