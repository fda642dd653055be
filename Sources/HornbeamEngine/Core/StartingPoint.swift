// The version at which a store is opened, and the loss if that is not the newest one.

/// The version at which a store is opened.
package enum StartingPoint: Sendable, Hashable {
    /// The newest version. Opening throws if acknowledged commits are missing.
    case newest
    /// The newest readable checkpoint, and the readable part of the log after it.
    case lastReadable
    /// As `lastReadable`, but a logged transaction that changes an unreadable page is left out, and those after it are applied. So the state may be one that
    /// the store never had. For salvage.
    case everyReadableTransaction
    /// The older of the readable checkpoints, without the log.
    case previousCheckpoint

    /// True if damage ends the reading of the log, and is no error.
    var acceptsDamage: Bool { self == .lastReadable || self == .everyReadableTransaction }
}

/// The transactions that are lost when a store is opened at an older version.
package struct OpeningLoss: Sendable, Hashable, CustomStringConvertible {
    /// The last transaction of the opened version.
    package var transaction: TransactionNumber
    /// The newest transaction that is known to have been committed.
    package var newest: TransactionNumber
    /// The message of the error at which reading ended; nil when the older version was requested.
    package var reason: String?
    /// The number of earlier transactions that were left out, and the message of the first error.
    package var leftOut = 0
    package var reasonOfLeftOut: String?
    /// The next object key according to the newest state of `meta`.
    var nextObjectKey: UInt64 = 0

    package var description: String {
        let count = newest.rawValue - min(transaction.rawValue, newest.rawValue)
        var text = "The store was opened as transaction \(transaction.rawValue) left it."
        switch count {
        case 0: if reason != nil { text += " The transactions that followed are unknown." }
        case 1: text += " Transaction \(newest.rawValue) is lost, and any after it."
        default: text += " The \(count) transactions \(transaction.next.rawValue) to \(newest.rawValue) are lost, and any after them."
        }
        if let reason { text += " (\(reason))" }
        guard leftOut > 0 else { return text }
        text += leftOut == 1 ? " One earlier transaction is lost" : " \(leftOut) earlier transactions are lost"
        return text + ", because pages that \(leftOut == 1 ? "it changes" : "they change") cannot be read." + (reasonOfLeftOut.map { " (\($0))" } ?? "")
    }
}
