#if Postgres
internal import HornbeamModel

/// Reads the rows of a query's objects that are not cached, in the form for many rows: without a dictionary for each row.
struct CompactRowReader {
    /// A property of the rows. It has no references, so that a row needs no reference counting.
    private struct Column {
        /// Nil for a to-one relationship.
        let type: AttributeType?
        /// The index among the properties of the rows.
        let property: Int
        /// The place in the result.
        let place: Int
        /// True if a to-one has destinations of several entities. The next place has the name of the entity.
        let isPolymorphic: Bool
        /// The difference between keys of Hornbeam and keys of the destination's rows.
        let offset: UInt64
    }

    /// The rows of one entity.
    private struct Part {
        let entityName: String
        let columns: [Column]
        /// For each property the only entity of its destinations.
        let destinations: [EntityDescription?]
        var rows: CustomStoreTable
    }

    private let table: TableLayout
    private let layout: StoreLayout
    private let offset: UInt64
    private var parts: [Part] = []
    /// The part of the last row.
    private var current = 0
    private(set) var keys: [CustomStoreKey] = []

    /// Nil for tables whose rows have members or shard keys.
    init?(_ table: TableLayout, _ layout: StoreLayout) {
        guard table.lists.isEmpty, table.shard == nil else { return nil }
        self.table = table
        self.layout = layout
        offset = layout.offset(of: table)
    }

    var tables: [CustomStoreTable] { parts.map(\.rows) }

    mutating func read(_ result: QueryResult, _ query: StoreQuery) throws {
        let numbers = try (0 ..< result.rowCount).map { row in
            guard let number = result.integer(row, 0), number > 0 else { throw RowReader.invalidRow(of: table) }
            return UInt64(number)
        }
        let cached = query.cachedVersions(of: numbers.map { $0 + offset })
        keys.reserveCapacity(numbers.count)
        for (row, number) in numbers.enumerated() {
            try findPart(row, of: result)
            guard let version = result.integer(row, 2), version > 0 else { throw RowReader.invalidRow(of: table) }
            try layout.requireKey(Int64(number), of: parts[current].entityName, in: "The column \(table.id) of \(table.name)")
            keys.append(CustomStoreKey(parts[current].entityName, number + offset))
            if cached[row] == UInt64(version) { continue }
            parts[current].rows.beginRow(key: number + offset, version: UInt64(version))
            for place in parts[current].columns.indices { try append(parts[current].columns[place], row, of: result) }
        }
    }

    private mutating func append(_ column: Column, _ row: Int, of result: QueryResult) throws {
        if let type = column.type { return try ColumnValue.append(result, row, column.place, type, to: &parts[current].rows) }
        guard let number = result.integer(row, column.place) else { return parts[current].rows.append(destination: nil, nil) }
        let only = column.isPolymorphic ? nil : parts[current].destinations[column.property]
        let name = only?.name ?? result[row, column.place + 1] ?? ""
        try layout.requireKey(number, of: name, in: "The relationship \(parts[current].rows.properties[column.property].name) of \(table.name)")
        let key = UInt64(number)
        if let only { return parts[current].rows.append(destination: key + column.offset, only) }
        let target = layout.outer(CustomStoreKey(name, key))
        parts[current].rows.append(destination: target.key, try layout.model.entity(named: target.entityName))
    }

    /// Makes `current` the part of a row's entity.
    private mutating func findPart(_ row: Int, of result: QueryResult) throws {
        if current < parts.count, result.isEqual(row, 1, to: parts[current].entityName) { return }
        guard let name = result[row, 1] else { throw RowReader.invalidRow(of: table) }
        current = parts.firstIndex { $0.entityName == name } ?? parts.count
        if current < parts.count { return }
        let entity = try layout.model.entity(named: name)
        var rows = CustomStoreTable(of: entity)
        if parts.isEmpty { rows.reserveCapacity(result.rowCount) }
        let columns = try rows.properties.indices.map { try column($0, rows.properties[$0], of: entity) }
        let destinations = rows.properties.map { $0.destinationEntity?.concreteDescendants.first }
        parts.append(Part(entityName: name, columns: columns, destinations: destinations, rows: rows))
    }

    private func column(_ index: Int, _ property: PropertyDescription, of entity: EntityDescription) throws -> Column {
        var place = 3
        for column in table.columns {
            guard column.property !== property else {
                let only = property.isRelationship && column.entityName == nil ? property.destinationEntity?.concreteDescendants.first : nil
                return Column(
                    type: property.isAttribute ? property.attributeType : nil, property: index, place: place, isPolymorphic: column.entityName != nil,
                    offset: try only.map { layout.offset(of: try layout.table(of: $0.name)) } ?? 0)
            }
            place += column.entityName == nil ? 1 : 2
        }
        throw HornbeamError(.modelMismatch, "\(entity.name).\(property.name) has no column in the PostgreSQL store.", entity: entity.name, key: property.name)
    }
}
#endif
