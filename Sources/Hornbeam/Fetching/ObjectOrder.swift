internal import HornbeamModel
internal import HornbeamStore

/// The order of a fetch for objects in memory: its sort criteria, then the IDs.
struct ObjectOrder {
    /// The values of an object that the order compares, read once.
    struct Keys {
        /// A number that decides most comparisons: if it is less than that of another object, the object precedes the other one.
        let prefix: UInt64
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

        /// A number that ascends with the values, not strictly; 0 for all values of a type without such a number.
        func prefix(of value: PropertyValue) -> UInt64 {
            let prefix: UInt64
            switch (attribute?.attributeType, value) {
            case (.integer16, .int(let number)), (.integer32, .int(let number)), (.integer64, .int(let number)):
                prefix = UInt64(bitPattern: number) ^ 1 << 63
            case (.string, .string(let text)) where sort.comparison == .standard:
                var bytes: UInt64 = 0
                for byte in text.utf8.prefix(8) { bytes = bytes << 8 | UInt64(byte) }
                prefix = bytes << UInt64(8 * (8 - min(text.utf8.count, 8)))
            default: prefix = 0
            }
            return sort.isAscending ? prefix : ~prefix
        }
    }

    private let criteria: [Criterion]
    /// The sorts of the criteria.
    private let sorts: [FetchSort]

    /// - Throws: `predicateSyntax` for a sort that is not a key path. Validated requests have none.
    init(_ fetch: ValidatedFetch) throws {
        sorts = fetch.request.sortDescriptors
        criteria = try sorts.map { sort in
            let property = fetch.entity.propertiesByName[sort.keyPath]
            let isPlain = property.map { $0.isAttribute && !$0.isTransient && $0.attributeType != .composite } ?? false
            return Criterion(sort: sort, steps: try sort.steps, attribute: isPlain ? property : nil)
        }
    }

    func keys(of object: ManagedObject) throws -> Keys {
        let values = try criteria.map { try $0.value(of: object) }
        return Keys(prefix: criteria.first?.prefix(of: values[0]) ?? 0, values: values, identity: object.registryKey)
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

    private func sortedPositions(_ keys: [Keys]) -> [Int] {
        // Most comparisons read only the prefixes, without a reference to the values.
        let prefixes = keys.map(\.prefix)
        return keys.indices.sorted { prefixes[$0] != prefixes[$1] ? prefixes[$0] < prefixes[$1] : precedes(keys[$0], keys[$1]) }
    }

    /// True if the object of some keys precedes that of others.
    func precedes(_ a: Keys, _ b: Keys) -> Bool {
        if a.prefix != b.prefix { return a.prefix < b.prefix }
        for position in sorts.indices {
            switch sorts[position].order(a.values[position], b.values[position]) {
            case .less: return true
            case .greater: return false
            case .same: continue
            }
        }
        return a.identity < b.identity
    }
}
