internal import HornbeamModel
internal import HornbeamStore

/// The order of a fetch for objects in memory: its sort criteria, then the IDs.
struct ObjectOrder {
    /// The values of an object that the order compares, read once.
    struct Keys {
        fileprivate let values: [PropertyValue]
        fileprivate let identity: UInt64
    }

    private struct Criterion {
        let sort: FetchSort
        let steps: [FetchExpression.Step]
        /// The attribute of the sorted objects; nil for a path through relationships.
        let attribute: PropertyDescription?

        func value(of object: ManagedObject) throws -> PropertyValue {
            // Null if an object on the path is missing or deleted.
            try attribute.map { object.currentValue(of: $0) } ?? sort.key(of: .object(object), steps)
        }
    }

    private let criteria: [Criterion]

    /// - Throws: `predicateSyntax` for a sort that is not a key path. Validated requests have none.
    init(_ fetch: ValidatedFetch) throws {
        criteria = try fetch.request.sortDescriptors.map { sort in
            let property = fetch.entity.propertiesByName[sort.keyPath]
            let isPlain = property.map { $0.isAttribute && !$0.isTransient && $0.attributeType != .composite } ?? false
            return Criterion(sort: sort, steps: try sort.steps, attribute: isPlain ? property : nil)
        }
    }

    func keys(of object: ManagedObject) throws -> Keys {
        Keys(values: try criteria.map { try $0.value(of: object) }, identity: object.registryKey)
    }

    /// Reads only the values of the object that decide.
    func precedes(_ object: ManagedObject, _ other: Keys) throws -> Bool {
        for (position, criterion) in criteria.enumerated() {
            switch criterion.sort.order(try criterion.value(of: object), other.values[position]) {
            case .less: return true
            case .greater: return false
            case .same: continue
            }
        }
        return object.registryKey < other.identity
    }

    /// Sorts objects, and reads each value once.
    func sorted<Object: ManagedObject>(_ objects: [Object]) throws -> [(object: Object, keys: Keys)] {
        let values = try objects.map { try keys(of: $0) }
        return sortedPositions(values).map { (objects[$0], values[$0]) }
    }

    private func sortedPositions(_ keys: [Keys]) -> [Int] { keys.indices.sorted { precedes(keys[$0], keys[$1]) } }

    private func precedes(_ a: Keys, _ b: Keys) -> Bool {
        for (position, criterion) in criteria.enumerated() {
            switch criterion.sort.order(a.values[position], b.values[position]) {
            case .less: return true
            case .greater: return false
            case .same: continue
            }
        }
        return a.identity < b.identity
    }
}
