public import Foundation
public import HornbeamModel
internal import HornbeamStore

/// What happened in the stores of a coordinator: each save, batch and migration as one transaction (section 1.22).
///
/// That of several stores is one, in the order of time; stores that keep none are passed over. May be used from any thread; reading
/// blocks on the disk and on nobody else.
public struct PersistentHistory: Sendable {
    private let coordinator: PersistentStoreCoordinator
    /// The stores that it is about; nil for all.
    private let identifiers: Set<UUID>?

    init(_ coordinator: PersistentStoreCoordinator, of identifiers: Set<UUID>? = nil) {
        self.coordinator = coordinator
        self.identifiers = identifiers
    }

    /// The history of some of the stores by themselves, with tokens of theirs; of all when none is named (PSC-19).
    public func of(_ stores: PersistentStore...) -> PersistentHistory {
        PersistentHistory(coordinator, of: stores.isEmpty ? identifiers : Set(stores.map(\.identifier)))
    }

    /// The stores that keep history; where none does, all, of which the first says so.
    private func stores() throws -> [Store] {
        let stack = coordinator.stack
        let first = try stack.firstStore()
        let stores = identifiers.map { identifiers in stack.stores.filter { identifiers.contains($0.identifier) } } ?? stack.stores
        guard let identifiers, stores.count < identifiers.count else {
            let keeping = stores.filter(\.keepsHistory)
            return keeping.isEmpty ? [stores.first ?? first] : keeping
        }
        throw HornbeamError(.closed, "A store whose history was asked for was removed from its coordinator. Add it again.")
    }

    /// The place after the newest transaction (PSC-19).
    ///
    /// - Throws: `unsupportedRequest` when no store keeps history; the store's error.
    public func currentToken() throws -> HistoryToken {
        HistoryToken(Dictionary(uniqueKeysWithValues: try stores().map { ($0.identifier, try $0.historyPosition()) }))
    }

    // MARK: Fetching

    /// What happened after a token; everything that history has when it is nil (HIS-5).
    ///
    /// - Parameters:
    ///   - token: The position of the last transaction that the reader knows; nil to read from the beginning.
    ///   - predicate: Which transactions; see `HistoryTransaction` for its keys. Others are passed over, and the token of the answer is
    ///     behind them too.
    ///   - limit: The transactions given back at most, the oldest; 0 for all. Ask again with the token for more.
    /// - Throws: `predicateEvaluation`; `unsupportedRequest` when no store keeps history; the store's error. Not for a token that is
    ///   too old: that is an answer.
    public func fetch(
        after token: HistoryToken?, where predicate: FetchPredicate? = nil, limit: Int = 0
    ) throws -> HistoryAnswer {
        var portions: [HistoryPortion] = []
        var gap: HistoryAnswer.Gap?
        for store in try stores() {
            let position = token?.positions[store.identifier]
            if token != nil, position == nil { gap = .unknownStore }
            // Looked up first: what is trimmed meanwhile is asked for again, and missed.
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

    /// What happened after a transaction: in its store by number, in others by time.
    ///
    /// - Throws: As `fetch(after:where:limit:)` with a token.
    public func fetch(
        after transaction: HistoryTransaction, where predicate: FetchPredicate? = nil, limit: Int = 0
    ) throws -> HistoryAnswer {
        var token = transaction.token
        for store in try stores() where store.identifier != transaction.storeIdentifier {
            token.positions[store.identifier] = try store.historyPosition(before: transaction.timestamp)
        }
        return try fetch(after: token, where: predicate, limit: limit)
    }

    /// What history has of a date and later.
    ///
    /// Transactions of that time that are no longer in history are not missed: an answer about time makes no promise. O(log n) to find.
    /// - Throws: As `fetch(after:where:limit:)` with a token.
    public func fetch(
        since date: Date, where predicate: FetchPredicate? = nil, limit: Int = 0
    ) throws -> [HistoryTransaction] {
        let positions = try stores().map { ($0.identifier, try $0.historyPosition(before: date)) }
        let token = HistoryToken(Dictionary(uniqueKeysWithValues: positions))
        guard case .transactions(let transactions, _) = try fetch(after: token, where: predicate, limit: limit) else { return [] }
        return transactions
    }

    // MARK: Purging

    /// Removes all that the token knows, durably (HIS-7). A fetch after that very token goes on.
    ///
    /// Consumers who have not read it get `resync`.
    public func purge(before token: HistoryToken) throws {
        for store in try stores() {
            if let position = token.positions[store.identifier] { try store.purgeHistory(through: position.number) }
        }
    }

    /// Removes the transactions before this one, durably (HIS-7).
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

    /// Those who are registered, by name, with how far each has come.
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

    /// Notes that a consumer knows all up to a token, and registers it at the first time; durable.
    ///
    /// What a registered consumer has not read is kept longer: as `HistoryTracking.unreadRecordCount` says.
    /// - Parameters:
    ///   - consumer: The name of the consumer, unique within the stores.
    ///   - token: How far the consumer has come; all that has happened by now when nil.
    public func register(_ consumer: String, at token: HistoryToken? = nil) throws {
        let token = try token ?? currentToken()
        for store in try stores() {
            if let position = token.positions[store.identifier] { try store.setHistoryConsumer(consumer, position) }
        }
    }

    /// Forgets a consumer, so that nothing is kept for it; durable. Does nothing when there is none of that name.
    public func unregister(_ consumer: String) throws {
        for store in try stores() { try store.setHistoryConsumer(consumer, nil) }
    }

    /// What a registered consumer has not read. Say so with `register(_:at:)` once it is dealt with.
    ///
    /// - Throws: `unknownName` for a consumer that is not registered; as `fetch(after:where:limit:)`.
    public func fetch(
        for consumer: String, where predicate: FetchPredicate? = nil, limit: Int = 0
    ) throws -> HistoryAnswer {
        guard let known = try consumers().first(where: { $0.name == consumer }) else {
            throw HornbeamError(
                .unknownName, "No consumer “\(consumer)” of history is registered. Register it, and read everything once.")
        }
        return try fetch(after: known.token, where: predicate, limit: limit)
    }
}

/// Somebody who reads history from time to time.
public struct HistoryConsumer: Hashable, Sendable {
    /// The name under which the consumer is registered.
    public let name: String
    /// All that it knows.
    public let token: HistoryToken
    /// When it last said so.
    public let lastRead: Date
}

extension PersistentStoreCoordinator {
    /// What happened in the stores.
    public var history: PersistentHistory { PersistentHistory(self) }
}

extension PersistentContainer {
    /// What happened in the stores.
    public var history: PersistentHistory { persistentStoreCoordinator.history }
}

extension ManagedObjectContext {
    /// Takes in what a transaction of history says, as `mergeChanges(from:)` does with a save (NOT-7, HIS-2).
    ///
    /// - Throws: The store's error.
    public func mergeChanges(from transaction: HistoryTransaction) throws { try mergeChanges(from: transaction.objectChanges) }
}
