// The state at which a store is opened, and the loss of an opening at an older state.

/// The state that an opening starts from.
package enum StartingPoint: Sendable, Hashable {
    /// The newest. The store is refused when anything acknowledged is missing.
    case newest
    /// The newest readable checkpoint, and the readable part of the log after it.
    case lastReadable
    /// The older of the readable checkpoints, without the log.
    case previousCheckpoint
}

/// The loss of an opening at an older state.
package struct OpeningLoss: Sendable, Hashable, CustomStringConvertible {
    /// The transaction whose state was opened.
    package var transaction: TransactionNumber
    /// The newest transaction that is known to have been committed.
    package var newest: TransactionNumber
    /// The error that ended the reading; nil when an older state was requested.
    package var reason: String?
    /// The next object key that the newest state named.
    var nextObjectKey: UInt64 = 0

    package var description: String {
        let count = newest.rawValue - min(transaction.rawValue, newest.rawValue)
        let lost =
            switch count {
            case 0: "The transactions that followed are unknown."
            case 1: "Transaction \(newest.rawValue) is lost, and any after it."
            default: "The \(count) transactions \(transaction.next.rawValue) to \(newest.rawValue) are lost, and any after them."
            }
        return "The store was opened as transaction \(transaction.rawValue) left it. \(lost)" + (reason.map { " (\($0))" } ?? "")
    }
}
