public import Foundation
internal import HornbeamModel
internal import HornbeamStore

/// A snapshot of the stores, readable while the token exists (QGN-1).
///
/// ```swift
/// let before = try coordinator.currentQueryGeneration()
/// try context.setQueryGeneration(from: before)     // reads are pinned to the state of the token
/// try context.setQueryGeneration(from: .current)   // reads are pinned to the newest state
/// try context.setQueryGeneration(from: nil)        // reads are not pinned
/// ```
/// A token is `Sendable` and can pin any number of contexts. It holds the pages that later commits replaced.
/// They are freed when the last token and the last context have released the snapshot (QGN-5).
public struct QueryGenerationToken: Sendable {
    enum Generation {
        case newest
        case state(StackSnapshot)
    }
    let generation: Generation

    init(_ generation: Generation) { self.generation = generation }

    /// The newest snapshot at the time of the call of `setQueryGeneration`.
    public static let current = QueryGenerationToken(.newest)

    /// The last commit of each store in the snapshot, by the store's identifier; empty for `current`.
    public var transactions: [UUID: UInt64] {
        guard case .state(let snapshot) = generation else { return [:] }
        return snapshot.transactions
    }

    /// The last commit in the snapshot, if there is a single store; nil with several stores, and for `current`.
    public var transaction: UInt64? {
        let transactions = transactions
        return transactions.count == 1 ? transactions.first?.value : nil
    }
}

/// Tokens are equal if they identify the same snapshots of the same stores.
extension QueryGenerationToken: Hashable {
    public static func == (a: Self, b: Self) -> Bool { a.transactions == b.transactions }
    public func hash(into hasher: inout Hasher) { hasher.combine(transactions) }
}

extension QueryGenerationToken: CustomStringConvertible {
    public var description: String {
        guard case .state = generation else { return "QueryGenerationToken(current)" }
        let numbers = transactions.sorted { $0.key.uuidString < $1.key.uuidString }.map { "\($0.value)" }
        return "QueryGenerationToken(transaction \(numbers.joined(separator: ", ")))"
    }
}

extension PersistentStoreCoordinator {
    /// The newest snapshot of all stores (QGN-1).
    ///
    /// - Throws: `unsupportedRequest` for a store that answers queries itself; the store's error.
    public func currentQueryGeneration() throws -> QueryGenerationToken {
        try stack.requireGenerations()
        return QueryGenerationToken(.state(try stack.retain()))
    }

    /// The snapshot after a commit, identified by `ObjectChanges.transaction`. It is available while a context or token uses it, or
    /// `PersistentStoreDescription.retainedGenerations` retains it. In a shared store, it is no longer available after this process has caught up from a
    /// newer checkpoint of another process.
    ///
    /// Without `retainedGenerations`, the saves of one group commit share one snapshot: that after the last of them.
    ///
    /// - Throws: `snapshotExpired` (9111) if it is no longer available; `unsupportedRequest` with several stores, and for a store that answers queries
    ///   itself; the store's error.
    public func queryGeneration(at transaction: UInt64) throws -> QueryGenerationToken {
        let stores = stack.stores
        guard stores.count <= 1 else {
            throw HornbeamError(
                .unsupportedRequest,
                "One transaction number cannot identify a snapshot of \(stores.count) stores. Pass the transaction of each store.")
        }
        return try queryGeneration(at: stores.first.map { [$0.identifier: transaction] } ?? [:])
    }

    /// The snapshot after the given commit of each named store, and the newest snapshot of the other stores.
    ///
    /// - Throws: `snapshotExpired` (9111) if a snapshot is no longer available; `unsupportedRequest` for a store that answers queries itself; the store's
    ///   error.
    public func queryGeneration(at transactions: [UUID: UInt64]) throws -> QueryGenerationToken {
        try stack.requireGenerations()
        return QueryGenerationToken(.state(try stack.snapshot(at: transactions)))
    }

    /// The commits whose snapshots can be read now, by the store's identifier; ascending, the newest last. Without stores that answer queries themselves.
    public func retainedTransactions() -> [UUID: [UInt64]] {
        stack.stores.filter { !$0.isQuerying }.reduce(into: [:]) { $0[$1.identifier] = $1.retainedTransactions }
    }
}
