public import HornbeamModel

/// The change of one object in one transaction (HIS-3).
public struct HistoryChange: Hashable, Sendable, Identifiable {
    /// The kinds of change.
    public enum Kind: Hashable, Sendable {
        /// The object is new.
        case inserted
        /// The changed properties. Empty if only the version of the object was incremented.
        case updated(Set<String>)
        /// The values of the attributes that history preserves after a deletion (ATT-15), by attribute.
        case deleted([String: PropertyValue])
    }

    /// Identifies the change within the history.
    public struct ID: Hashable, Sendable {
        /// The number of the transaction in its store.
        public let transactionNumber: UInt64
        /// The position among the transaction's changes.
        public let position: Int
    }

    public let id: ID
    /// The object that was changed.
    public let objectID: ManagedObjectID
    /// Inserted, updated or deleted.
    public let kind: Kind

    /// The changed properties of an updated object; empty for other changes.
    public var updatedProperties: Set<String> {
        if case .updated(let properties) = kind { properties } else { [] }
    }

    /// The preserved values of a deleted object; nil for other changes.
    public var tombstone: [String: PropertyValue]? {
        if case .deleted(let values) = kind { values } else { nil }
    }
}

/// The keys for predicates over changes: `changedEntity`, `changedObjectID`, `changeType` (0 inserted, 1 updated, 2 deleted),
/// `changeID` (the position within the transaction), `updatedProperties` (HIS-5).
extension HistoryChange: KeyedValues {
    public var evaluatedKeys: [String]? {
        ["changedEntity", "changedObjectID", "changeType", "changeID", "updatedProperties"]
    }

    public func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        switch key {
        case "changedEntity": .value(.string(objectID.entityName))
        case "changedObjectID": .value(.objectID(objectID))
        case "changeType": .value(.int(kind.number))
        case "changeID": .value(.int(Int64(id.position)))
        case "updatedProperties":
            .collection(updatedProperties.sorted().map { .value(.string($0)) }, isOrdered: false)
        default: throw HistoryTransaction.unknownKey(key, evaluatedKeys ?? [], "change")
        }
    }
}

extension HistoryChange.Kind {
    fileprivate var number: Int64 {
        switch self {
        case .inserted: 0
        case .updated: 1
        case .deleted: 2
        }
    }
}
