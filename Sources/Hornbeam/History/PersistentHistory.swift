public import Foundation
public import HornbeamModel
internal import HornbeamStore

/// The history of a coordinator's stores: each save, batch and migration as one transaction (section 1.22).
///
/// The histories of several stores are merged in the order of time. Stores without history are skipped. Can be used from any thread. Reads
/// wait for the disk, but not for saves.
public struct PersistentHistory: Sendable {
    private let coordinator: PersistentStoreCoordinator
    /// The selected stores; nil for all stores.
    private let identifiers: Set<UUID>?

    init(_ coordinator: PersistentStoreCoordinator, of identifiers: Set<UUID>? = nil) {
        self.coordinator = coordinator
        self.identifiers = identifiers
    }

    /// The history of some of the stores; its tokens have positions for these stores only. Without arguments, returns this history (PSC-19).
    public func of(_ stores: PersistentStore...) -> PersistentHistory {
        PersistentHistory(coordinator, of: stores.isEmpty ? identifiers : Set(stores.map(\.identifier)))
    }

    /// The stores with history. If there is none, the first store, which then throws the error.
    private func stores() throws -> [Store] {
        let stack = coordinator.stack
        let first = try stack.firstStore()
        let stores = identifiers.map { identifiers in stack.stores.filter { identifiers.contains($0.identifier) } } ?? stack.stores
        guard let identifiers, stores.count < identifiers.count else {
            let keeping = stores.filter(\.keepsHistory)
            return keeping.isEmpty ? [stores.first ?? first] : keeping
        }
        throw HornbeamError(.closed, "A store whose history was requested was removed from its coordinator. Add it again.")
    }

    /// The position after the newest transaction (PSC-19).
    ///
    /// - Throws: `unsupportedRequest` if no store keeps history; the store's error.
    public func currentToken() throws -> HistoryToken {
        HistoryToken(Dictionary(uniqueKeysWithValues: try stores().map { ($0.identifier, try $0.historyPosition()) }))
    }

    // MARK: Fetching

    /// The transactions after a token; if it is nil, all transactions in history (HIS-5).
    ///
    /// - Parameters:
    ///   - token: The position up to which the caller has read; nil to read from the beginning.
    ///   - predicate: Selects transactions by the keys of `HistoryTransaction`. The token of the result is also after the transactions that
    ///     were skipped.
    ///   - limit: The maximum number of transactions to return, the oldest first; 0 for all. To get more, call again with the token.
    /// - Throws: `predicateEvaluation`; `unsupportedRequest` if no store keeps history; the store's error. A token that is too old is
    ///   not an error: the result is `resync`.
    public func fetch(
        after token: HistoryToken?, where predicate: FetchPredicate? = nil, limit: Int = 0
    ) throws -> HistoryAnswer {
        var portions: [HistoryPortion] = []
        var gap: HistoryAnswer.Gap?
        for store in try stores() {
            let position = token?.positions[store.identifier]
            if token != nil, position == nil { gap = .unknownStore }
            // The position is read first. If records are removed before the next read, the result reports a gap.
            let start = try position ?? store.historyStart()
            switch try store.history(after: position, limit: limit, where: { record in
                try predicate?.evaluate(with: HistoryTransaction(record, store)) ?? true
            }) {
            case .records(let records, let reached):
                portions.append(
                    HistoryPortion(
                        store: store.identifier, transactions: records.map { HistoryTransaction($0, store) },
                        start: start, end: reached))
            case .resync(let found, _): gap = gap ?? .init(found)
            }
        }
        if let gap { return .resync(gap, token: try currentToken()) }
        return HistoryPortion.answer(portions, limit: limit)
    }

    /// The transactions after another one: in its store those with a higher number, in other stores those that are not earlier.
    ///
    /// - Throws: The errors of `fetch(after:where:limit:)` with a token.
    public func fetch(
        after transaction: HistoryTransaction, where predicate: FetchPredicate? = nil, limit: Int = 0
    ) throws -> HistoryAnswer {
        var token = transaction.token
        for store in try stores() where store.identifier != transaction.storeIdentifier {
            token.positions[store.identifier] = try store.historyPosition(before: transaction.timestamp)
        }
        return try fetch(after: token, where: predicate, limit: limit)
    }

    /// The transactions since a date.
    ///
    /// Transactions since the date that were removed from history are not reported as missing. Takes O(log² n) to find the first transaction.
    /// - Throws: The errors of `fetch(after:where:limit:)` with a token.
    public func fetch(
        since date: Date, where predicate: FetchPredicate? = nil, limit: Int = 0
    ) throws -> [HistoryTransaction] {
        let positions = try stores().map { ($0.identifier, try $0.historyPosition(before: date)) }
        let token = HistoryToken(Dictionary(uniqueKeysWithValues: positions))
        guard case .transactions(let transactions, _) = try fetch(after: token, where: predicate, limit: limit) else { return [] }
        return transactions
    }

    // MARK: Purging

    /// Removes all transactions up to a token, durably (HIS-7). A fetch after the same token still succeeds.
    ///
    /// A consumer that has not read them gets `resync`.
    public func purge(before token: HistoryToken) throws {
        for store in try stores() {
            if let position = token.positions[store.identifier] { try store.purgeHistory(through: position.number) }
        }
    }

    /// Removes the transactions of one store before a transaction, durably (HIS-7).
    public func purge(before transaction: HistoryTransaction) throws {
        for store in try stores() where store.identifier == transaction.storeIdentifier {
            try store.purgeHistory(through: transaction.number - 1)
        }
    }

    /// Removes the transactions that are older than a date, durably (HIS-7).
    public func purge(before date: Date) throws {
        for store in try stores() {
            if let number = try store.historyNumber(before: date) { try store.purgeHistory(through: number) }
        }
    }

    // MARK: Consumers

    /// The registered consumers by name, with their positions.
    public func consumers() throws -> [HistoryConsumer] {
        var found: [String: HistoryConsumer] = [:]
        for store in try stores() {
            for record in try store.historyConsumers() {
                let token = HistoryToken([store.identifier: record.position])
                let known = found[record.name]
                found[record.name] = HistoryConsumer(
                    name: record.name, token: known.map { $0.token.union(token) } ?? token,
                    lastRead: max(known?.lastRead ?? record.date, record.date))
            }
        }
        return found.values.sorted { $0.name < $1.name }
    }

    /// Stores that a consumer has read all transactions up to a token. The first call registers the consumer. Durable on return.
    ///
    /// Transactions that a registered consumer has not read stay longer in history: see `HistoryTracking.unreadRecordCount`.
    /// - Parameters:
    ///   - consumer: The name of the consumer, unique within the stores.
    ///   - token: The position of the consumer; if nil, the newest position.
    public func register(_ consumer: String, at token: HistoryToken? = nil) throws {
        let token = try token ?? currentToken()
        for store in try stores() {
            if let position = token.positions[store.identifier] { try store.setHistoryConsumer(consumer, position) }
        }
    }

    /// Removes a consumer. No transactions stay in history for it any more. Durable on return. Does nothing for an unknown name.
    public func unregister(_ consumer: String) throws {
        for store in try stores() { try store.setHistoryConsumer(consumer, nil) }
    }

    /// The transactions that a registered consumer has not read. Call `register(_:at:)` after processing them.
    ///
    /// - Throws: `unknownName` for a consumer that is not registered; the errors of `fetch(after:where:limit:)`.
    public func fetch(
        for consumer: String, where predicate: FetchPredicate? = nil, limit: Int = 0
    ) throws -> HistoryAnswer {
        guard let known = try consumers().first(where: { $0.name == consumer }) else {
            throw HornbeamError(
                .unknownName, "No consumer “\(consumer)” of history is registered. Register it, and read all data once.")
        }
        return try fetch(after: known.token, where: predicate, limit: limit)
    }
}

/// A registered reader of history.
public struct HistoryConsumer: Hashable, Sendable {
    /// The name under which the consumer is registered.
    public let name: String
    /// The position up to which the consumer has read.
    public let token: HistoryToken
    /// The time of its last call of `register`.
    public let lastRead: Date
}

extension PersistentStoreCoordinator {
    /// The history of the stores.
    public var history: PersistentHistory { PersistentHistory(self) }
}

extension PersistentContainer {
    /// The history of the stores.
    public var history: PersistentHistory { persistentStoreCoordinator.history }
}

extension ManagedObjectContext {
    /// Merges a transaction of history, like `mergeChanges(from:)` merges a save (NOT-7, HIS-2).
    ///
    /// - Throws: The store's error.
    public func mergeChanges(from transaction: HistoryTransaction) throws { try mergeChanges(from: transaction.objectChanges) }
}
