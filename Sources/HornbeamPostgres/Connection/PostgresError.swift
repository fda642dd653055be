#if Postgres
internal import HornbeamModel

/// An error that the server or the connection reported. Its text has neither the connection's parameters nor values of rows.
struct PostgresError: Error {
    /// The five letters of the SQL standard and PostgreSQL; empty when the connection failed.
    var state: String
    var message: String
    /// The constraint that was violated.
    var constraint: String?

    /// `unique_violation`
    var isUniqueViolation: Bool { state == "23505" }
    /// `numeric_value_out_of_range`, `division_by_zero`
    var isCalculation: Bool { state == "22003" || state == "22012" }
    /// `serialization_failure`, `deadlock_detected`: nothing was written, and the same transaction can succeed when it runs again.
    var isRepeatable: Bool { state == "40001" || state == "40P01" }
    /// True when the connection is lost, so that the outcome of a commit that was sent is not known.
    var isLostConnection: Bool { state.isEmpty || state.hasPrefix("08") || state.hasPrefix("57P") || isStaleStatement }
    /// True when the server does not know a prepared statement any more, or cannot use it after a change of a table. A new connection prepares it again.
    private var isStaleStatement: Bool { state == "26000" || state == "0A000" }

    var error: HornbeamError {
        switch state {
        case "57014":
            HornbeamError(.storeOperationFailed, "The PostgreSQL server cancelled a statement: \(message).", cause: cause)
        case "53100":
            HornbeamError(
                .storeOperationFailed, "The disk of the PostgreSQL server is full. Nothing was written. Free some space and save again.", cause: cause)
        case _ where isLostConnection:
            HornbeamError(.storeOperationFailed, "The connection to the PostgreSQL server failed: \(message).", cause: cause)
        default:
            HornbeamError(.storeOperationFailed, "The PostgreSQL server refused a statement: \(message).", cause: cause)
        }
    }

    private var cause: String { state.isEmpty ? message : "SQLSTATE \(state): \(message)" }
}
#endif
