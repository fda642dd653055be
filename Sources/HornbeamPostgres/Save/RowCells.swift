#if Postgres
internal import HornbeamModel

/// The values of the changed columns of rows of one table, column by column.
struct RowCells {
    private struct Cells {
        let name: String
        let type: String
        var texts: [String?]
    }

    private let table: TableLayout
    private var cells: [Cells] = []
    private var places: [String: Int] = [:]
    private var count = 0

    init(_ table: TableLayout) { self.table = table }

    /// The names of the columns, in the order of `arrays`.
    var names: [String] { cells.map(\.name).sorted() }

    mutating func add(_ row: CustomStoreRow, cleared: [String]) throws {
        for (name, value) in row.values {
            guard let column = table.column(name, of: row.object.entityName), column.property.isAttribute else { continue }
            set(column.name, column.parameterType, try column.text(of: value))
        }
        for (name, target) in row.destinations { set(name, target, row.object) }
        for name in cleared { set(name, nil, row.object) }
        count += 1
        for place in cells.indices where cells[place].texts.count < count { cells[place].texts.append(nil) }
    }

    private mutating func set(_ relationship: String, _ target: CustomStoreKey?, _ object: CustomStoreKey) {
        guard let column = table.column(relationship, of: object.entityName) else { return }
        set(column.name, "bigint", target.map { String($0.key) })
        if let name = column.entityName { set(name, "text", target?.entityName) }
    }

    private mutating func set(_ name: String, _ type: String, _ text: String?) {
        if let place = places[name] { return cells[place].texts.append(text) }
        places[name] = cells.count
        cells.append(Cells(name: name, type: type, texts: [String?](repeating: nil, count: count) + [text]))
    }

    /// The values of each column as an array parameter.
    func arrays(_ parameters: inout ParameterList) -> [String] {
        cells.sorted { $0.name < $1.name }.map { parameters.add(SQLText.array($0.texts), as: $0.type + "[]") }
    }
}
#endif
