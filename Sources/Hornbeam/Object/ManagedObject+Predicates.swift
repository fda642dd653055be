public import HornbeamModel

/// Predicates read an object's values in memory, including unsaved changes.
extension ManagedObject: KeyedValues {
    public final func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        if key == "objectID" || key == "self" { return .value(.objectID(objectID)) }
        let property = try entity.property(named: key)
        if property.isAttribute { return .value(currentValue(of: property)) }
        if property.isToOne {
            guard let object = destination(of: property), !object.isDeleted else { return .value(.null) }
            return .object(object)
        }
        let context = scope.context
        let members = members(of: property).map { context.object(with: $0) }
        return .collection(members.map { .object($0) }, isOrdered: property.isOrdered)
    }

    public final var evaluatedIdentity: PropertyValue? { .objectID(objectID) }

    public final var evaluatedKeys: [String]? { entity.attributes.map(\.name) }
}
