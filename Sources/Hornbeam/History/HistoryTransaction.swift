public import Foundation
public import HornbeamModel
internal import HornbeamStore

/// One commit in history: its author, its time and its changes (HIS-2).
public struct HistoryTransaction: Sendable, Identifiable {
    /// The kind of request that made a transaction (HIS-8).
    public enum Kind: Hashable, Sendable {
        /// A context's save.
        case save
        /// A batch request.
        case batch
        /// A migration; `label` names the stage.
        case migration
    }

    private let record: HistoryRecord
    private let origins: [ManagedObjectID.StoreIdentity]
    /// The identifier of the store that was changed.
    public let storeIdentifier: UUID

    init(_ record: HistoryRecord, _ store: Store) {
        self.record = record
        storeIdentifier = store.identifier
        origins = record.groups.map { store.origin(of: $0.entity) }
    }

    /// The number of the commit in its store. Numbers ascend, with gaps.
    public var number: UInt64 { record.number }
    /// The store and the number.
    public var id: String { "\(storeIdentifier)/\(number)" }
    /// The time of the commit. Never earlier than that of an earlier transaction of the store, even if the clock was set back.
    public var timestamp: Date { record.timestamp }
    /// The author: `transactionAuthor` of the context.
    public var author: String? { record.author }
    /// The name of the context: `name`.
    public var contextName: String? { record.contextName }
    /// The name of the process that saved, in place of the bundle identifier on Apple's systems.
    public var processName: String? { record.processName }
    /// The process identifier of the process that saved.
    public var processIdentifier: Int32 { record.processIdentifier }
    /// The stage of a migration plan; nil for other transactions.
    public var label: String? { record.label }

    /// A save, a batch request or a migration.
    public var kind: Kind {
        switch record.kind {
        case .save: .save
        case .batch: .batch
        case .migration: .migration
        }
    }

    /// The position after this transaction in its store. To continue in all stores, use the token of the result of `fetch`.
    public var token: HistoryToken { HistoryToken([storeIdentifier: position]) }
    var position: HistoryPosition { record.position }

    /// The number of changes. Takes O(number of groups).
    public var changeCount: Int { record.groups.reduce(0) { $0 + $1.count } }

    /// The changes: inserted objects, then updated ones, then deleted ones. Computed at each access in O(changes).
    ///
    /// Does not include changes of entities that the model no longer has.
    public var changes: [HistoryChange] {
        var changes: [HistoryChange] = []
        changes.reserveCapacity(changeCount)
        for (group, origin) in zip(record.groups, origins) {
            let names = group.updatedNames
            for (place, key) in group.runs.joined().enumerated() {
                changes.append(
                    HistoryChange(
                        id: .init(transactionNumber: number, position: changes.count),
                        objectID: ManagedObjectID(origin: origin, reference: key), kind: group.kind(place, names)))
            }
        }
        return changes
    }

    /// The changes in the form for `ManagedObjectContext.mergeChanges(from:)`.
    public var objectChanges: ObjectChanges {
        var changes = ObjectChanges(transaction: number, author: author, contextName: contextName)
        for (group, origin) in zip(record.groups, origins) {
            let ids = group.runs.joined().map { ManagedObjectID(origin: origin, reference: $0) }
            switch group.change {
            case .inserted: changes.inserted.formUnion(ids)
            case .updated: changes.updated.formUnion(ids)
            case .deleted: changes.deleted.formUnion(ids)
            }
        }
        return changes
    }
}

extension HistoryRecord.Group {
    fileprivate var updatedNames: Set<String> {
        guard case .updated(let properties) = change else { return [] }
        return Set(properties.map { entity.properties[$0].name })
    }

    fileprivate func kind(_ place: Int, _ updatedNames: Set<String>) -> HistoryChange.Kind {
        switch change {
        case .inserted: return .inserted
        case .updated: return .updated(updatedNames)
        case .deleted(let values):
            guard place < values.count else { return .deleted([:]) }
            let pairs = values[place].map { (entity.properties[$0.key].name, $0.value) }
            return .deleted(Dictionary(uniqueKeysWithValues: pairs))
        }
    }
}

extension HistoryTransaction: CustomStringConvertible {
    /// The number, the author and the number of changes.
    public var description: String {
        "HistoryTransaction(\(number), \(kind), by \(author ?? "unnamed author"), \(changeCount) changes)"
    }
}

/// The keys for predicates over transactions: `author`, `contextName`, `processName`, `processID`, `timestamp`,
/// `transactionNumber`, `storeID`, `label`, and `changes` (HIS-5).
extension HistoryTransaction: KeyedValues {
    public var evaluatedKeys: [String]? {
        [
            "author", "contextName", "processName", "processID", "timestamp", "transactionNumber", "storeID", "label", "changes",
        ]
    }

    public func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        switch key {
        case "author": .value(author.map { .string($0) } ?? .null)
        case "contextName": .value(contextName.map { .string($0) } ?? .null)
        case "processName": .value(processName.map { .string($0) } ?? .null)
        case "processID": .value(.int(Int64(processIdentifier)))
        case "timestamp": .value(.date(timestamp))
        case "transactionNumber": .value(.int(Int64(clamping: number)))
        case "storeID": .value(.uuid(storeIdentifier))
        case "label": .value(label.map { .string($0) } ?? .null)
        case "changes": .collection(changes.map { .object($0) }, isOrdered: true)
        default: throw Self.unknownKey(key, evaluatedKeys ?? [], "transaction")
        }
    }

    static func unknownKey(_ key: String, _ known: [String], _ what: String) -> HornbeamError {
        HornbeamError(
            .unknownKey, "A \(what) of history has no “\(key)”. It has: \(known.joined(separator: ", ")).", key: key)
    }
}
