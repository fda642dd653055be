// Which state a store is opened at, and what an opening at an older one leaves out.

/// The state that an opening starts from.
package enum StartingPoint: Sendable, Hashable {
    /// The newest. The store is refused when anything acknowledged is missing.
    case newest
    /// The newest checkpoint that can be read, and as much of the log after it as can be.
    case lastReadable
    /// The older of the checkpoints that can be read, without the log.
    case previousCheckpoint
}

/// What is missing after an opening at an older state.
package struct OpeningLoss: Sendable, Hashable, CustomStringConvertible {
    /// The transaction whose state was opened.
    package var transaction: TransactionNumber
    /// The newest transaction that is known to have been committed.
    package var newest: TransactionNumber
    /// What ended the reading; nil when the opening asked for an older state.
    package var reason: String?
    /// The next object key that the newest state named.
    var nextObjectKey: UInt64 = 0

    package var description: String {
        let count = newest.rawValue - min(transaction.rawValue, newest.rawValue)
        let lost =
            switch count {
            case 0: "It cannot be said which transactions followed."
            case 1: "Transaction \(newest.rawValue) is lost, and any after it."
            default: "The \(count) transactions \(transaction.next.rawValue) to \(newest.rawValue) are lost, and any after them."
            }
        return "The store was opened as transaction \(transaction.rawValue) left it. \(lost)" + (reason.map { " (\($0))" } ?? "")
    }
}
