#if Postgres
internal import HornbeamModel

/// Reads the rows of a query's objects that are not cached, in the form for many rows: without a dictionary for each row.
struct CompactRowReader {
    private struct Column {
        let property: PropertyDescription
        /// The place in the result.
        let place: Int
        /// The only entity of a to-one's destinations; nil if the next place has its name.
        let destination: EntityDescription?
        /// The difference between keys of Hornbeam and keys of the destination's rows.
        let offset: UInt64
    }

    /// The rows of one entity.
    private struct Part {
        let entityName: String
        let columns: [Column]
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
        keys.reserveCapacity(result.rowCount)
        for row in 0 ..< result.rowCount {
            try findPart(row, of: result)
            guard let key = result.integer(row, 0), let version = result.integer(row, 2), key > 0, version > 0 else {
                throw RowReader.invalidRow(of: table)
            }
            try layout.requireKey(key, of: parts[current].entityName, in: "The column \(table.id) of \(table.name)")
            let object = CustomStoreKey(parts[current].entityName, UInt64(key) + offset)
            keys.append(object)
            if query.isCached(object.key, version: UInt64(version)) { continue }
            parts[current].rows.beginRow(key: object.key, version: UInt64(version))
            for column in parts[current].columns { try append(column, row, of: result) }
        }
    }

    private mutating func append(_ column: Column, _ row: Int, of result: QueryResult) throws {
        if column.property.isAttribute {
            return parts[current].rows.append(try ColumnValue.value(result, row, column.place, column.property.attributeType))
        }
        guard let number = result.integer(row, column.place) else { return parts[current].rows.append(destination: nil, nil) }
        let name = column.destination?.name ?? result[row, column.place + 1] ?? ""
        try layout.requireKey(number, of: name, in: "The relationship \(column.property.name) of \(table.name)")
        let key = UInt64(number)
        if let destination = column.destination { return parts[current].rows.append(destination: key + column.offset, destination) }
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
        let rows = CustomStoreTable(of: entity)
        parts.append(Part(entityName: name, columns: try rows.properties.map { try column($0, of: entity) }, rows: rows))
    }

    private func column(_ property: PropertyDescription, of entity: EntityDescription) throws -> Column {
        var place = 3
        for column in table.columns {
            guard column.property !== property else {
                let only = column.entityName == nil ? property.destinationEntity?.concreteDescendants.first : nil
                return Column(
                    property: property, place: place, destination: only, offset: try only.map { layout.offset(of: try layout.table(of: $0.name)) } ?? 0)
            }
            place += column.entityName == nil ? 1 : 2
        }
        throw HornbeamError(.modelMismatch, "\(entity.name).\(property.name) has no column in the PostgreSQL store.", entity: entity.name, key: property.name)
    }
}
#endif
