#if Postgres
internal import HornbeamModel

/// The columns of a statement for dictionaries, whose values are the same as Hornbeam's.
struct GroupColumns {
    /// How the value of a column is read.
    private enum Form {
        case attribute(AttributeType)
        /// The next column has the entity if the name is nil.
        case reference(String?)
        /// A sum, 0 without values.
        case sum(AttributeType)
    }

    private let layout: StoreLayout
    private(set) var texts: [String] = []
    private var forms: [Form] = []
    /// The number of columns by which the rows are grouped.
    private(set) var keyCount = 0
    /// The number of values that are keys.
    private var keyForms = 0
    /// Conditions under which Hornbeam's values can be other ones.
    private var doubts: [String] = []

    init(_ layout: StoreLayout) { self.layout = layout }

    /// The columns, with the least key and the doubts of groups.
    func groupSQL(_ table: TableLayout) -> String {
        (texts + ["min(t.\(table.id))", doubts.isEmpty ? "FALSE" : "coalesce(\(doubts.joined(separator: " OR ")), FALSE)"]).joined(separator: ", ")
    }

    // MARK: Adding

    /// Adds a value of each object. Returns false if SQL has another value.
    mutating func add(_ value: QueryValue) -> Bool {
        if value.property?.isRelationship == true || value.property == nil {
            return addReference(value)
        }
        guard ![.composite, .transformable, .objectID, .undefined].contains(value.type) else { return false }
        add(value.sql, .attribute(value.type))
        return true
    }

    private mutating func addReference(_ value: QueryValue) -> Bool {
        let entities = value.property?.destinationEntity?.concreteDescendants ?? []
        guard !entities.isEmpty else { return false }
        add(value.sql, .reference(value.entitySQL == nil ? entities[0].name : nil))
        if let entity = value.entitySQL { texts.append(entity) }
        return true
    }

    /// Adds a value by which objects are grouped. Returns false if SQL makes other groups.
    mutating func addKey(_ value: QueryValue) -> Bool {
        switch value.type {
        // −0 and 0 are one group, with the value 0.
        case .double, .float: add("((\(value.sql))::float8 + 0)", .attribute(.double))
        case .date, .decimal:
            add(value.sql, .attribute(value.type))
            doubts.append("bool_or(\(value.sql) = 'NaN')")
        default: guard add(value) else { return false }
        }
        (keyCount, keyForms) = (texts.count, forms.count)
        return true
    }

    /// Adds a total of each group. Returns false if SQL computes another one.
    mutating func add(_ total: StoreGrouping.Total, _ value: QueryValue?) -> Bool {
        guard let value else {
            guard total.function == .count, total.path == nil else { return false }
            add("count(*)", .attribute(.integer64))
            return true
        }
        if total.function == .count { return addCount(value, isDistinct: total.isDistinct) }
        guard let column = Total(value) else { return false }
        switch total.function {
        case .minimum, .maximum:
            guard let text = total.function == .minimum ? column.minimum : column.maximum else { return false }
            switch value.type {
            case .boolean: add("(\(text))::boolean", .attribute(.boolean))
            case .float: add(text, .attribute(.double))
            default: add(text, .attribute(value.type))
            }
        case .sum:
            guard let sum = column.sum(isDistinct: total.isDistinct) else { return false }
            add(sum.sql, .sum(value.type == .decimal ? .decimal : .integer64))
            doubts += sum.doubt.map { [$0] } ?? []
        case .average:
            guard let average = column.average(isDistinct: total.isDistinct) else { return false }
            add(average.sql, .attribute(.double))
            doubts += average.doubt.map { [$0] } ?? []
        case .count: return false
        }
        return true
    }

    private mutating func addCount(_ value: QueryValue, isDistinct: Bool) -> Bool {
        if isDistinct {
            guard ![.composite, .transformable, .objectID, .undefined].contains(value.type) || value.property?.isRelationship == true else { return false }
            if value.type == .date || value.type == .decimal { doubts.append("bool_or(\(value.sql) = 'NaN')") }
        }
        add("count(\(isDistinct ? "DISTINCT " : "")\(value.sql))", .attribute(.integer64))
        return true
    }

    private mutating func add(_ text: String, _ form: Form) {
        texts.append(text)
        forms.append(form)
    }

    // MARK: Reading

    /// The values of each row.
    func rows(_ result: QueryResult) throws -> [[PropertyValue]] { try (0 ..< result.rowCount).map { try values(result, $0) } }

    /// The groups; nil if Hornbeam's values can be other ones.
    func groups(_ result: QueryResult) throws -> [StoreGroup]? {
        var groups: [StoreGroup] = []
        for row in 0 ..< result.rowCount {
            if result[row, texts.count + 1] != "f" { return nil }
            let values = try values(result, row)
            let first = result[row, texts.count].flatMap(UInt64.init)
            groups.append(StoreGroup(keys: Array(values[..<keyForms]), totals: Array(values[keyForms...]), first: first))
        }
        return groups
    }

    private func values(_ result: QueryResult, _ row: Int) throws -> [PropertyValue] {
        var values: [PropertyValue] = []
        var place = 0
        for form in forms {
            let text = result[row, place]
            place += 1
            switch form {
            case .attribute(let type): values.append(try ColumnValue.value(of: text, type))
            case .sum(let type): values.append(text == nil ? .int(0) : try ColumnValue.value(of: text, type))
            case .reference(let name):
                values.append(try objectID(text, name ?? result[row, place]))
                if name == nil { place += 1 }
            }
        }
        return values
    }

    private func objectID(_ key: String?, _ entity: String?) throws -> PropertyValue {
        guard let number = key.flatMap({ Int64($0) }), let entity else { return .null }
        try layout.requireKey(number, of: entity, in: "A reference")
        let origin = ManagedObjectID.StoreIdentity(entityName: entity, storeIdentifier: layout.identifier, entityNumber: -1)
        return .objectID(ManagedObjectID(origin: origin, reference: layout.outer(CustomStoreKey(entity, UInt64(number))).key))
    }
}
#endif
