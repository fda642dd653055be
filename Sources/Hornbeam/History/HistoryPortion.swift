internal import Foundation
internal import HornbeamStore

/// The history of one store after a position. The portions of several stores are merged into one result.
struct HistoryPortion {
    let store: UUID
    /// In the order of the numbers, which is also the order of time.
    let transactions: [HistoryTransaction]
    /// The position after which the portion begins.
    let start: HistoryPosition
    let end: HistoryPosition

    /// The `limit` oldest transactions of all portions in the order of time, and the token after these.
    static func answer(_ portions: [HistoryPortion], limit: Int) -> HistoryAnswer {
        let all = portions.count == 1 ? portions[0].transactions : portions.flatMap(\.transactions).sorted(by: isEarlier)
        let given = limit > 0 ? Array(all.prefix(limit)) : all
        let counts = Dictionary(grouping: given, by: \.storeIdentifier).mapValues(\.count)
        let reached = portions.map { ($0.store, $0.position(after: counts[$0.store] ?? 0)) }
        return .transactions(given, token: HistoryToken(Dictionary(uniqueKeysWithValues: reached)))
    }

    /// Timestamps of one store never decrease, so its transactions stay in the order of their numbers.
    private static func isEarlier(_ a: HistoryTransaction, _ b: HistoryTransaction) -> Bool {
        if a.timestamp != b.timestamp { return a.timestamp < b.timestamp }
        if a.storeIdentifier != b.storeIdentifier { return a.storeIdentifier.uuidString < b.storeIdentifier.uuidString }
        return a.number < b.number
    }

    private func position(after count: Int) -> HistoryPosition {
        if count == transactions.count { return end }
        return count == 0 ? start : transactions[count - 1].position
    }
}
