internal import HornbeamModel

/// A row as it will be: the values given, above those stored. What derived attributes are computed from.
struct RowInProgress: KeyedValues {
    let entity: EntityDescription
    let snapshot: StoreSnapshot
    /// The row as it is; nil for a new one.
    let stored: StoredObject?
    /// By property index; nil for what does not change.
    var values: [PropertyValue?]
    /// The members of to-many relationships of a new row.
    var members: [Int: [ObjectReference]] = [:]

    init(entity: EntityDescription, snapshot: StoreSnapshot, stored: StoredObject? = nil) {
        self.entity = entity
        self.snapshot = snapshot
        self.stored = stored
        values = Array(repeating: nil, count: entity.properties.count)
    }

    func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        let property = try entity.property(named: key)
        if property.isToMany, stored == nil {
            let objects = members[property.index] ?? []
            return .collection(
                objects.map { .object(StoredObject($0, snapshot: snapshot)) }, isOrdered: property.isOrdered)
        }
        guard let value = values[property.index] else {
            return try stored?.evaluatedValue(forKey: key) ?? .value(.null)
        }
        if property.isRelationship, case .objectID(let id) = value,
            let target = snapshot.reader.origins.reference(id)
        {
            return .object(StoredObject(target, snapshot: snapshot))
        }
        return .value(value)
    }
}
