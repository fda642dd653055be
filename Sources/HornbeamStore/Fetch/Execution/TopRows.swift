internal import HornbeamEngine
internal import HornbeamModel

/// Keeps the first objects in the order of a computed whole number, then of their keys.
final class TopRows: RowFeed {
    private let reader: DictionaryInputReader
    private let isAscending: Bool
    private let neededCount: Int
    private let node: FetchExpression.Node
    private var sorted: Sorted<NumberKey>

    init(_ node: FetchExpression.Node, isAscending: Bool, neededCount: Int, _ context: FilterContext) {
        reader = DictionaryInputReader([node], context)
        self.node = node
        self.isAscending = isAscending
        self.neededCount = neededCount
        sorted = Sorted(neededCount: neededCount)
    }

    /// True if the expression is a whole number for the rows of a table.
    func supports(_ table: EntityTable) -> Bool { reader.programs(of: table).programs[0].isWholeNumber }

    var references: [ObjectReference] { sorted.finished.map(\.reference) }

    func canScanInParts(_ table: EntityTable) -> Bool { false }

    func onlyColumns(of table: EntityTable) -> UInt64? { reader.programs(of: table).programs[0].onlyColumns }

    func emptyCopy(_ context: FilterContext) -> any RowFeed {
        TopRows(node, isAscending: isAscending, neededCount: neededCount, context)
    }

    func add(_ other: any RowFeed) {
        if let other = other as? TopRows { sorted.add(other.sorted) }
    }

    func accept(_ rows: RowBatch, _ table: EntityTable) throws(EngineError) {
        let programs = reader.programs(of: table)
        let program = programs.programs[0]
        // A scan passes all rows of the table.
        let expected = if case .leaf = rows { reader.context.view(table.index).count } else { 0 }
        try reader.prepare(rows, expecting: expected, programs)
        try rows.forEach { (row) throws(EngineError) in
            let key = row.key
            guard let number = try reader.number(program, row, key) else { return }
            let place = NumberKey(number.isNull ? nil : Int64(bitPattern: number.bits), isAscending: isAscending)
            if let last = sorted.lastKey, last < place { return }
            sorted.insert(place, ResultRow(reference: ObjectReference(entityIndex: table.index, key: key), hint: RowHint()))
        }
    }
}
