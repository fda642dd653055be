/// The new objects of a save: rows, or one table for each entity, which costs less than a dictionary for each object.
package enum InsertedRows: Hashable, Sendable {
    case rows([CustomStoreRow])
    case tables([CustomStoreTable])

    /// The rows, which have no versions and no values that are null.
    package var rows: [CustomStoreRow] {
        switch self {
        case .rows(let rows): rows
        case .tables(let tables):
            tables.flatMap { table in
                let model = table.entity.managedObjectModel
                return (0 ..< table.count).map { number in
                    var row = table.row(number, in: model)
                    row.version = nil
                    return row
                }
            }
        }
    }

    /// One table for each entity, with at least one row. Names that are no properties are ignored.
    ///
    /// - Throws: `unknownEntity` for rows of other models.
    package func tables(in model: ManagedObjectModel) throws -> [CustomStoreTable] {
        switch self {
        case .tables(let tables): return tables
        case .rows(let rows):
            var tables = CustomStoreTables(rowCount: rows.count)
            for row in rows { try tables.append(row, in: model) }
            return tables.tables
        }
    }

    package static func == (a: Self, b: Self) -> Bool { a.rows == b.rows }

    package func hash(into hasher: inout Hasher) { hasher.combine(rows) }
}

/// New objects by entity, in the order of the entities' first objects.
package struct CustomStoreTables {
    package private(set) var tables: [CustomStoreTable] = []
    /// The places in `tables`, by index of the entity.
    private var places: [Int: Int] = [:]
    /// The place of the last row's entity.
    private var last: Int?
    /// The identity and the entity of the last destination: those of consecutive rows are often equal.
    private var destination: (identity: ManagedObjectID.StoreIdentity, entity: EntityDescription?)?
    private let rowCount: Int

    /// - Parameter rowCount: The expected number of rows.
    package init(rowCount: Int) { self.rowCount = rowCount }

    /// Appends an object.
    ///
    /// - Parameters:
    ///   - values: By the indexes of the properties. A to-one relationship has the ID of its destination.
    ///   - entityOf: Returns the entity of an ID's identity.
    package mutating func append(
        _ entity: EntityDescription, key: UInt64, values: [PropertyValue], _ entityOf: (ManagedObjectID.StoreIdentity) -> EntityDescription?
    ) {
        let place = beginRow(of: entity, key: key)
        for property in tables[place].properties {
            guard !property.isAttribute else {
                tables[place].append(values[property.index])
                continue
            }
            guard case .objectID(let id) = values[property.index] else {
                tables[place].append(destination: nil, nil)
                continue
            }
            if destination?.identity !== id.origin { destination = (id.origin, entityOf(id.origin)) }
            tables[place].append(destination: id.reference, destination?.entity)
        }
    }

    /// Appends an object.
    fileprivate mutating func append(_ row: CustomStoreRow, in model: ManagedObjectModel) throws {
        let place = beginRow(of: try model.entity(named: row.object.entityName), key: row.object.key)
        for property in tables[place].properties {
            if property.isAttribute {
                tables[place].append(row.values[property.name] ?? .null)
            } else {
                let destination = row.destinations[property.name]
                tables[place].append(destination: destination?.key, try destination.map { try model.entity(named: $0.entityName) })
            }
        }
    }

    /// Begins a row, and returns the place of its table.
    private mutating func beginRow(of entity: EntityDescription, key: UInt64) -> Int {
        let place = place(of: entity)
        tables[place].beginRow(key: key, version: 1)
        return place
    }

    private mutating func place(of entity: EntityDescription) -> Int {
        if let last, tables[last].entity === entity { return last }
        let place = places[entity.index] ?? tables.count
        if place == tables.count {
            places[entity.index] = place
            tables.append(CustomStoreTable(of: entity))
            // Most saves have new objects of one entity.
            if place == 0 { tables[place].reserveCapacity(rowCount) }
        }
        last = place
        return place
    }
}

extension CustomStoreTable {
    /// True if a row has a destination of the to-one relationship with a number.
    package func hasDestination(_ number: Int) -> Bool {
        stride(from: number, to: destinations.count, by: destinationCount).contains { destinations[$0] >= 0 }
    }

    /// The table with its rows in the order of their keys.
    package var sortedByKey: CustomStoreTable {
        if zip(keys, keys.dropFirst()).allSatisfy({ $0 < $1 }) { return self }
        var sorted = CustomStoreTable(of: entity)
        sorted.reserveCapacity(count)
        for number in keys.indices.sorted(by: { keys[$0] < keys[$1] }) { sorted.append(row: number, of: self) }
        return sorted
    }
}
