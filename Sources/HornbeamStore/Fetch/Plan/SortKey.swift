internal import HornbeamEngine
internal import HornbeamModel

/// One resolved sort criterion: the path to the value, the direction, and the comparison of text.
struct SortKey: Sendable {
    /// To-ones, then the attribute or to-one with the value.
    let path: [PropertyDescription]
    let isAscending: Bool
    let collation: KeyCollation
    /// The source of the value: the last property, or an element of it if it is composite.
    let source: ValueIndex.Element.Source
    /// The type of the value.
    let type: CellType

    init(_ sort: FetchSort, _ entity: EntityDescription) throws {
        var path: [PropertyDescription] = []
        var current = entity
        let names = sort.keyPath.split(separator: ".").map(String.init)
        var steps: [String] = []
        for (position, name) in names.enumerated() {
            let property = try current.property(named: name)
            guard property.cellType != nil else { throw Self.unsortable(sort, entity) }
            path.append(property)
            if property.cellType == .composite {
                steps = Array(names[(position + 1)...])
                break
            }
            if position + 1 < names.count {
                guard let next = property.destinationEntity else { throw Self.unsortable(sort, entity) }
                current = next
            }
        }
        guard let last = path.last,
            let type = PropertyPath(([last.name] + steps).joined(separator: "."), in: last.entity)?.keyType
        else { throw Self.unsortable(sort, entity) }
        self.path = path
        self.type = type
        source = steps.isEmpty ? .cell : .part(steps)
        isAscending = sort.isAscending
        switch sort.comparison {
        case .standard: collation = .binary
        case .caseInsensitive: collation = .caseInsensitive
        case .localizedStandard: collation = .localizedStandard
        }
    }

    private static func unsortable(_ sort: FetchSort, _ entity: EntityDescription) -> HornbeamError {
        HornbeamError(
            .predicateInvalid,
            "Objects of \(entity.name) cannot be sorted by “\(sort.keyPath)”: every step but the last must be a to-one "
                + "relationship, and the last a stored attribute.",
            entity: entity.name, key: sort.keyPath)
    }

    /// The key component whose bytes sort as the criterion requires.
    var element: ValueIndex.Element {
        ValueIndex.Element(
            property: path[path.count - 1], type: type, isAscending: isAscending,
            collation: type == .string ? collation : .binary, source: source)
    }
}

extension SortKey {
    /// Appends the component of a row to a sort key; null when the path ends at nil.
    func append(
        _ row: RowView, of table: EntityTable, to key: inout IndexKey, _ context: FilterContext
    ) throws(EngineError) {
        try append(row, of: table, step: 0, to: &key, context)
    }

    private func append(
        _ row: RowView, of table: EntityTable, step: Int, to key: inout IndexKey, _ context: FilterContext
    ) throws(EngineError) {
        let column = table.column(path[step])
        guard step + 1 < path.count else {
            if case .part(let steps) = source { return key.append(try column.indexedValue(in: row).part(steps), element) }
            guard column.type == .reference else { return try key.append(column, of: row, element) }
            let target = column.reference(in: row, schema: context.schema)
            return key.append(target, of: context.schema, element)
        }
        guard !row.isNull(column.column), let target = column.reference(in: row, schema: context.schema) else {
            return key.appendNull(element)
        }
        context.count(rows: 1)
        let next = context.schema.table(at: target.entityIndex)
        // The closure receives a copy of the key, because it cannot capture an inout.
        var extended = key
        let found: Bool? = try context.view(target.entityIndex).withRow(target.key) { (row) throws(EngineError) -> Bool in
            try append(row, of: next, step: step + 1, to: &extended, context)
            return true
        }
        if found == nil { extended.appendNull(element) }
        key = extended
    }
}
