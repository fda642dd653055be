public import Foundation
internal import HornbeamModel
internal import HornbeamStore

/// One committed state of the stores, readable while the token is held (QGN-1).
///
/// ```swift
/// let before = try coordinator.currentQueryGeneration()
/// try context.setQueryGeneration(from: before)     // reads are pinned to the state of the token
/// try context.setQueryGeneration(from: .current)   // reads are pinned to the newest state
/// try context.setQueryGeneration(from: nil)        // reads are not pinned
/// ```
/// A token is `Sendable` and can pin any number of contexts. It keeps the pages that later commits replaced;
/// they are freed when the last token and the last context have released the state (QGN-5).
public struct QueryGenerationToken: Sendable {
    enum Generation {
        case newest
        case state(StackSnapshot)
    }
    let generation: Generation

    init(_ generation: Generation) { self.generation = generation }

    /// The newest state at the moment of pinning.
    public static let current = QueryGenerationToken(.newest)

    /// The commit that produced the state of each store, by the store's identity; empty for `current`.
    public var transactions: [UUID: UInt64] {
        guard case .state(let snapshot) = generation else { return [:] }
        return snapshot.transactions
    }

    /// The commit that produced the state, if there is a single store; else nil, and nil for `current`.
    public var transaction: UInt64? {
        let transactions = transactions
        return transactions.count == 1 ? transactions.first?.value : nil
    }
}

/// Tokens are equal when they identify the same state of the same stores.
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

    /// The state after a commit, from `ObjectChanges.transaction`. It is available while
    /// `PersistentStoreDescription.retainedGenerations` or a reader keeps it.
    ///
    /// Without `retainedGenerations`, saves of several threads in one group commit have one state, that of the last save.
    ///
    /// - Throws: `snapshotExpired` (9111) when it is no longer kept; `unsupportedRequest` with several stores;
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

    /// The state after the given commit of each named store, and the newest state of the others.
    ///
    /// - Throws: `snapshotExpired` (9111) when a state is no longer kept; the store's error.
    public func queryGeneration(at transactions: [UUID: UInt64]) throws -> QueryGenerationToken {
        QueryGenerationToken(.state(try stack.snapshot(at: transactions)))
    }

    /// The commits whose states can be read now, by the identity of the store; ascending, the newest last.
    public func retainedTransactions() -> [UUID: [UInt64]] {
        stack.stores.reduce(into: [:]) { $0[$1.identifier] = $1.retainedTransactions }
    }
}
