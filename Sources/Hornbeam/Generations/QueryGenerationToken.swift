public import Foundation
internal import HornbeamModel
internal import HornbeamStore

/// One committed state of the stores, readable for as long as the token is held (QGN-1).
///
/// ```swift
/// let before = try coordinator.currentQueryGeneration()
/// try context.setQueryGeneration(from: before)     // from now on reads are as of then, whoever saves
/// try context.setQueryGeneration(from: .current)   // as of now
/// try context.setQueryGeneration(from: nil)        // follows again
/// ```
/// A token may go anywhere and pin any number of contexts. What it keeps is the pages that commits have replaced since;
/// they are given back once the last token and the last context let go (QGN-5).
public struct QueryGenerationToken: Sendable {
    enum Generation {
        case newest
        case state(StackSnapshot)
    }
    let generation: Generation

    init(_ generation: Generation) { self.generation = generation }

    /// The newest state at the moment of pinning.
    public static let current = QueryGenerationToken(.newest)

    /// The commit that made the state of each store, by the store's identity; empty for `current`.
    public var transactions: [UUID: UInt64] {
        guard case .state(let snapshot) = generation else { return [:] }
        return snapshot.transactions
    }

    /// The commit that made the state, where there is one store; nil otherwise, and for `current`.
    public var transaction: UInt64? {
        let transactions = transactions
        return transactions.count == 1 ? transactions.first?.value : nil
    }
}

/// Two tokens are equal when they stand for the same state of the same stores.
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
    /// The newest state of all stores (QGN-1).
    ///
    /// - Throws: The store's error.
    public func currentQueryGeneration() throws -> QueryGenerationToken {
        QueryGenerationToken(.state(try stack.retain()))
    }

    /// The state after a commit, for looking back: what `ObjectChanges.transaction` tells, as long as
    /// `PersistentStoreDescription.retainedGenerations` or somebody who reads that state keeps it.
    ///
    /// Without `retainedGenerations`, saves of several threads that reach the disk together make one state, that of the last of them.
    ///
    /// - Throws: `snapshotExpired` (9111) when it is not kept; `unsupportedRequest` where there are several stores;
    ///   the store's error.
    public func queryGeneration(at transaction: UInt64) throws -> QueryGenerationToken {
        let stores = stack.stores
        guard stores.count <= 1 else {
            throw HornbeamError(
                .unsupportedRequest,
                "One number does not say which state is meant, as there are \(stores.count) stores. Name the transaction of each.")
        }
        return try queryGeneration(at: stores.first.map { [$0.identifier: transaction] } ?? [:])
    }

    /// The state after a commit of each store that is named by its identity; of the others the newest.
    ///
    /// - Throws: `snapshotExpired` (9111) when a state is kept no more; the store's error.
    public func queryGeneration(at transactions: [UUID: UInt64]) throws -> QueryGenerationToken {
        QueryGenerationToken(.state(try stack.snapshot(at: transactions)))
    }

    /// The commits whose states can be read now, by the identity of the store; ascending, the newest is the last.
    public func retainedTransactions() -> [UUID: [UInt64]] {
        stack.stores.reduce(into: [:]) { $0[$1.identifier] = $1.retainedTransactions }
    }
}
