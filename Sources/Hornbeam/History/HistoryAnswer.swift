internal import HornbeamModel
internal import HornbeamStore

/// The result of reading the history after a token.
///
/// ```swift
/// switch try container.history.fetch(after: token) {
/// case .transactions(let transactions, let newest):
///     for transaction in transactions { apply(transaction.changes) }
///     token = newest
/// case .resync(_, let newest):
///     readAllAgain()
///     token = newest
/// }
/// ```
public enum HistoryAnswer: Sendable {
    /// All transactions since the token, oldest first, and the token for the next call.
    case transactions([HistoryTransaction], token: HistoryToken)
    /// History is incomplete: read all data again, then continue with the token.
    case resync(Gap, token: HistoryToken)

    /// The reason why history is incomplete.
    public enum Gap: Hashable, Sendable {
        /// History does not reach back to the token. The records were removed by age, number or purge, or were never written.
        case expired
        /// The token belongs to another history: it refers to saves that a crash of a store with lazy durability lost, or that were made
        /// before the store was restored from a backup.
        case diverged
        /// The token has no position for one of the stores.
        case unknownStore
    }

    /// The token for the next call.
    public var token: HistoryToken {
        switch self {
        case .transactions(_, let token), .resync(_, let token): token
        }
    }

    /// The transactions, if history is complete.
    ///
    /// - Throws: `historyTokenExpired` (134301) or `storeNotFoundInToken` (134501) if history is incomplete.
    public func get() throws -> [HistoryTransaction] {
        switch self {
        case .transactions(let transactions, _): return transactions
        case .resync(.unknownStore, _):
            throw HornbeamError(
                .storeNotFoundInToken,
                "The history token does not belong to the stores of this coordinator. Read all data again, and continue with the token of the result.")
        case .resync(let gap, _):
            let reason = gap == .expired ? "does not reach back to the token" : "differs from the history of the token"
            throw HornbeamError(
                .historyTokenExpired,
                "History \(reason). Read all data again, and continue with the token of the result.")
        }
    }
}

extension HistoryAnswer.Gap {
    init(_ gap: HistoryGap) {
        switch gap {
        case .expired: self = .expired
        case .diverged: self = .diverged
        }
    }
}
