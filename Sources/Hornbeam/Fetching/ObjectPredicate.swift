internal import HornbeamModel

extension FetchPredicate {
    /// The predicate compiled for objects of an entity in memory.
    func compiled(for entity: EntityDescription) throws -> CompiledPredicate<ManagedObject> {
        let resolver = PredicateResolver<ManagedObject>(
            accessor: { key in try Self.accessor(key, entity) }, evaluated: { .object($0) })
        return try CompiledPredicate(self, resolver: resolver)
    }

    private static func accessor(
        _ key: String, _ entity: EntityDescription
    ) throws -> KeyedAccessor<ManagedObject> {
        guard let property = entity.propertiesByName[key], property.isAttribute else {
            return .related { try $0.evaluatedValue(forKey: key) }
        }
        switch property.attributeType {
        case .integer16, .integer32, .integer64:
            return .int { object in
                guard case .int(let number) = object.currentValue(of: property) else { return nil }
                return number
            }
        case .string:
            return .string { object in
                guard case .string(let text) = object.currentValue(of: property) else { return nil }
                return text
            }
        default:
            return .value { $0.currentValue(of: property) }
        }
    }
}
