import Foundation
import Hornbeam

/// The entries of a ledger as history shows them.
struct LedgerHistory {
    /// The position up to which history was read.
    private var token: HistoryToken?
    /// The entries at this position.
    private var entries: Set<ManagedObjectID> = []

    /// Reads the history since the last call: each insertion and deletion of an entry must be there once, in the order of the saves, and the
    /// times must not decrease, although the processes have different clocks.
    ///
    /// - Parameters:
    ///   - existing: The entries that exist.
    ///   - mayBeRemoved: True if a migration may have removed all transactions. Nothing was changed between the last call and the migration.
    mutating func verify(_ container: PersistentContainer, entries existing: Set<ManagedObjectID>, mayBeRemoved: Bool = false) throws {
        let history = container.history.of(container.persistentStoreCoordinator.persistentStores[0])
        switch try history.fetch(after: token) {
        case .resync where mayBeRemoved && token != nil:
            token = nil
            return try verify(container, entries: existing)
        case .resync(let gap, _): throw Finding("history has a gap: \(gap)")
        case .transactions(let transactions, let newest):
            token = newest
            for transaction in transactions { try apply(transaction) }
            for (earlier, later) in zip(transactions, transactions.dropFirst()) {
                guard earlier.number < later.number, earlier.timestamp <= later.timestamp else {
                    throw Finding("history has the transactions \(earlier) and \(later) in this order")
                }
            }
        }
        guard entries == existing else {
            throw Finding("history has \(entries.subtracting(existing).count) entries that do not exist, and lacks \(existing.subtracting(entries).count)")
        }
    }

    private mutating func apply(_ transaction: HistoryTransaction) throws {
        for change in transaction.changes where change.objectID.entityName == "Entry" {
            let isExpected =
                switch change.kind {
                case .inserted: entries.insert(change.objectID).inserted
                case .updated: entries.contains(change.objectID)
                case .deleted: entries.remove(change.objectID) != nil
                }
            guard isExpected else { throw Finding("history has a change that does not fit those before it: \(change) in \(transaction)") }
        }
    }
}
