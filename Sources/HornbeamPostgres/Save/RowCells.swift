#if Postgres
internal import HornbeamModel

/// The values of the changed columns of rows of one table, column by column.
struct RowCells {
    private struct Cells {
        let name: String
        let type: String
        /// Nil for the entities of destinations.
        var column: TableLayout.Column?
        var texts = ArrayText()
    }

    private let table: TableLayout
    private var cells: [Cells] = []
    /// The places in `cells`, by the name of the column.
    private var places: [String: Int] = [:]
    /// The places in `cells` of the last row's entity, by the name of the property.
    private var columns: [String: Int] = [:]
    private var entityName = ""
    private var count = 0
    /// The size of all values.
    private(set) var byteCount = 0
    /// The size of values after which a save begins a further statement: the server takes 1 GB in one.
    static let bytesMax = 64 << 20

    init(_ table: TableLayout) { self.table = table }

    /// The names of the columns, in the order of `arrays`.
    var names: [String] { cells.map(\.name).sorted() }

    mutating func add(_ row: CustomStoreRow, cleared: [String]) throws {
        if row.object.entityName != entityName {
            columns = [:]
            entityName = row.object.entityName
        }
        for (name, value) in row.values {
            if let place = column(name), let column = cells[place].column { try cells[place].texts.append(value, of: column) }
        }
        for (name, target) in row.destinations { set(name, target) }
        for name in cleared { set(name, nil) }
        count += 1
        byteCount = 0
        for place in cells.indices {
            if cells[place].texts.count < count { cells[place].texts.appendNull() }
            byteCount += cells[place].texts.byteCount
        }
    }

    /// The cells of rows, in parts of a limited size, each with at least one row.
    static func parts(
        of rows: [CustomStoreRow], in table: TableLayout, cleared: [CustomStoreKey: [String]] = [:], bytesMax: Int = RowCells.bytesMax
    ) throws -> [(rows: ArraySlice<CustomStoreRow>, cells: RowCells)] {
        var parts: [(rows: ArraySlice<CustomStoreRow>, cells: RowCells)] = []
        var (cells, start) = (RowCells(table), 0)
        for (place, row) in rows.enumerated() {
            try cells.add(row, cleared: cleared[row.object] ?? [])
            guard cells.byteCount >= bytesMax || place == rows.count - 1 else { continue }
            parts.append((rows[start ... place], cells))
            (cells, start) = (RowCells(table), place + 1)
        }
        return parts
    }

    private mutating func set(_ relationship: String, _ target: CustomStoreKey?) {
        guard let place = column(relationship) else { return }
        cells[place].texts.append(target?.key)
        if let name = cells[place].column?.entityName { cells[self.place(name, "text")].texts.append(target?.entityName) }
    }

    /// The place of the column of a property of the current entity; nil for a property without one.
    private mutating func column(_ name: String) -> Int? {
        if let known = columns[name] { return known }
        guard let column = table.column(name, of: entityName) else { return nil }
        let place = place(column.name, column.parameterType, column)
        columns[name] = place
        return place
    }

    /// The place of a column's cells, which are null for the rows before.
    private mutating func place(_ name: String, _ type: String, _ column: TableLayout.Column? = nil) -> Int {
        if let place = places[name] { return place }
        places[name] = cells.count
        cells.append(Cells(name: name, type: type, column: column))
        for _ in 0 ..< count { cells[cells.count - 1].texts.appendNull() }
        return cells.count - 1
    }

    /// The values of each column as an array parameter.
    func arrays(_ parameters: inout ParameterList) -> [String] {
        cells.sorted { $0.name < $1.name }.map { parameters.add($0.texts.text, as: $0.type + "[]") }
    }
}
#endif
