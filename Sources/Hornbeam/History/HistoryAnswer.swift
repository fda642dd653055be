internal import HornbeamModel
internal import HornbeamStore

/// What history answers to "what happened since?".
///
/// ```swift
/// switch try container.history.fetch(after: token) {
/// case .transactions(let transactions, let newest):
///     for transaction in transactions { apply(transaction.changes) }
///     token = newest
/// case .resync(_, let newest):
///     readEverythingAnew()
///     token = newest
/// }
/// ```
public enum HistoryAnswer: Sendable {
    /// All that happened since, oldest first, and the token to ask with next time.
    case transactions([HistoryTransaction], token: HistoryToken)
    /// History cannot tell: read anew what you need, then go on with the token.
    case resync(Gap, token: HistoryToken)

    /// Why history cannot tell what happened since.
    public enum Gap: Hashable, Sendable {
        /// It does not reach back so far: the records were too old, too many, purged, or never written.
        case expired
        /// The token is of a history that did not happen here: of saves lost in a crash of a store with lazy durability, or made
        /// before the store was brought back from a backup.
        case diverged
        /// The token knows nothing of one of the stores, or only of others.
        case unknownStore
    }

    /// The token to ask with next time.
    public var token: HistoryToken {
        switch self {
        case .transactions(_, let token), .resync(_, let token): token
        }
    }

    /// The transactions, for whoever would rather handle an error than an answer.
    ///
    /// - Throws: `historyTokenExpired` (134301), `storeNotFoundInToken` (134501).
    public func get() throws -> [HistoryTransaction] {
        switch self {
        case .transactions(let transactions, _): return transactions
        case .resync(.unknownStore, _):
            throw HornbeamError(
                .storeNotFoundInToken,
                "The history token is not of the stores of this coordinator. Read everything anew, and go on with the token of the answer.")
        case .resync(let gap, _):
            let reason = gap == .expired ? "does not reach back to the token" : "went another way than the token says"
            throw HornbeamError(
                .historyTokenExpired,
                "History \(reason). Read everything anew, and go on with the token of the answer.")
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
