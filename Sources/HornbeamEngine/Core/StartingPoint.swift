// The version at which a store is opened, and the loss if that is not the newest one.

/// The version at which a store is opened.
package enum StartingPoint: Sendable, Hashable {
    /// The newest version. Opening throws if acknowledged commits are missing.
    case newest
    /// The newest readable checkpoint, and the readable part of the log after it.
    case lastReadable
    /// The older of the readable checkpoints, without the log.
    case previousCheckpoint
}

/// The transactions that are lost when a store is opened at an older version.
package struct OpeningLoss: Sendable, Hashable, CustomStringConvertible {
    /// The last transaction of the opened version.
    package var transaction: TransactionNumber
    /// The newest transaction that is known to have been committed.
    package var newest: TransactionNumber
    /// The message of the error at which reading ended; nil when the older version was requested.
    package var reason: String?
    /// The next object key according to the newest state of `meta`.
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
