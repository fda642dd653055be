#if Postgres
internal import HornbeamModel

/// The insertion of new rows into a table, as statements with the same text and a limited size. A statement has one array for each column.
///
/// A statement is made when the one before was sent: the server executes it meanwhile.
struct TableInsertion {
    /// A column of an entity, in which at least one row has a value.
    private struct Cell {
        let column: TableLayout.Column
        /// The place of its array in `arrays`. After a polymorphic to-one comes the array of the destinations' entities.
        let array: Int
        /// The place of the value in a row of the table.
        let value: Int
        /// The place of a polymorphic to-one among the to-ones of the entity; nil for other columns.
        let destination: Int?
    }

    /// The rows of one entity.
    private struct Part {
        let rows: CustomStoreTable
        var cells: [Cell] = []
        /// The arrays of the columns that only other entities have.
        var missing: [Int] = []
    }

    private var parts: [Part] = []
    private let sql: String
    /// The keys, the names of the entities if there are several, and the values of each column.
    private var arrays: [ArrayText]
    private let hasNames: Bool
    private let bytesMax: Int
    private let rowsMax: Int
    /// The first row that is in no statement yet.
    private var next = (part: 0, row: 0)

    /// The number of rows of a statement.
    static let rowsMax = 250

    /// - Parameter tables: The rows, which are not empty, of entities of the layout.
    init(_ tables: [CustomStoreTable], into layout: TableLayout, bytesMax: Int = RowCells.bytesMax, rowsMax: Int = TableInsertion.rowsMax) {
        self.bytesMax = bytesMax
        // The foreign keys of an existing table are checked after each statement, and its rows can refer to one another.
        self.rowsMax = layout.isMapped ? .max : rowsMax
        hasNames = layout.kind != nil && tables.count > 1
        var columns = [(name: layout.id, type: "bigint")]
        if let kind = layout.kind, hasNames { columns.append((kind, "text")) }
        let firstValue = columns.count
        var places: [String: Int] = [:]
        for table in tables {
            var part = Part(rows: table.sortedByKey)
            var toOneCount = 0
            for (place, property) in table.properties.enumerated() {
                let toOne = toOneCount
                if property.isRelationship { toOneCount += 1 }
                guard let column = layout.column(property.name, of: table.entity.name), property.isAttribute || table.hasDestination(toOne) else { continue }
                let array = places[column.name] ?? columns.count
                if array == columns.count {
                    places[column.name] = array
                    columns.append((column.name, column.parameterType))
                    if let name = column.entityName { columns.append((name, "text")) }
                }
                part.cells.append(Cell(column: column, array: array, value: place, destination: column.entityName == nil ? nil : toOne))
            }
            parts.append(part)
        }
        for place in parts.indices {
            let own = Set(parts[place].cells.flatMap { $0.destination == nil ? [$0.array] : [$0.array, $0.array + 1] })
            parts[place].missing = columns.indices.filter { $0 >= firstValue && !own.contains($0) }
        }
        arrays = columns.map { _ in ArrayText() }
        sql = Self.sql(columns, entity: hasNames ? nil : tables.first?.entity, layout)
    }

    /// - Parameter entity: The entity of all rows; nil if an array has the names of their entities.
    private static func sql(_ columns: [(name: String, type: String)], entity: EntityDescription?, _ layout: TableLayout) -> String {
        var (names, values) = (columns.map(\.name), ["u.*"])
        if let kind = layout.kind, let entity { (names, values) = (names + [kind], values + [SQLText.literal(entity.name)]) }
        (names, values) = (names + [layout.version], values + ["1"])
        let arrays = columns.enumerated().map { "$\($0 + 1)::\($1.type)[]" }
        let aliases = columns.indices.map { "c\($0)" }
        return """
            INSERT INTO \(layout.name) (\(names.joined(separator: ", ")))\(layout.isMapped ? " OVERRIDING SYSTEM VALUE" : "") \
            SELECT \(values.joined(separator: ", ")) FROM unnest(\(arrays.joined(separator: ", "))) AS u(\(aliases.joined(separator: ", ")))
            """
    }

    /// The statement that inserts the next rows, at least one; nil after the last row.
    mutating func nextStatement() throws -> Statement? {
        if next.part == parts.count { return nil }
        var count = 0
        repeat {
            try append(row: next.row, of: parts[next.part])
            count += 1
            next.row += 1
            if next.row == parts[next.part].rows.count { next = (next.part + 1, 0) }
        } while next.part < parts.count && count < rowsMax && byteCount < bytesMax
        return Statement(sql, arrays.indices.map { arrays[$0].take() })
    }

    private var byteCount: Int {
        var sum = 0
        for place in arrays.indices { sum += arrays[place].byteCount }
        return sum
    }

    private mutating func append(row: Int, of part: Part) throws {
        let rows = part.rows
        arrays[0].append(rows.keys[row])
        if hasNames { arrays[1].append(rows.entity.name) }
        let (firstValue, firstDestination) = (row * rows.properties.count, row * rows.destinationCount)
        for cell in part.cells {
            try arrays[cell.array].append(rows.values[firstValue + cell.value], of: rows.values, cell.column)
            if let destination = cell.destination { arrays[cell.array + 1].append(rows.destination(firstDestination + destination)?.name) }
        }
        for array in part.missing { arrays[array].appendNull() }
    }
}
#endif
