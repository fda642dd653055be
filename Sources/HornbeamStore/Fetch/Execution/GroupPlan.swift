internal import HornbeamModel

/// How the rows of one table are added to groups and totals.
final class GroupPlan {
    /// How the group of a row is found.
    enum Key {
        /// By its values.
        case values
        /// By a number, a Boolean or a reference, or by two of them.
        case number(ColumnProgram)
        case pair(ColumnProgram, ColumnProgram)
        case text(StoredColumn)
        /// By the destination of the first relationship of a path.
        case path(StoredColumn, rest: [PropertyDescription])
    }

    /// How a total gets its values.
    enum Source {
        case object
        case int(StoredColumn)
        case double(StoredColumn)
        /// The number of different values.
        case distinctNumbers(ColumnProgram)
        case distinctTexts(StoredColumn)
        case values(ColumnProgram)

        /// True for a number of different values.
        var isCounted: Bool {
            switch self {
            case .distinctNumbers, .distinctTexts: true
            case .object, .int, .double, .values: false
            }
        }
    }

    let grouping: [ColumnProgram]
    let key: Key
    let totals: [Source]
    /// The programs whose related objects are read for a whole leaf.
    let prepared: ColumnPrograms
    /// A bit for each column, of the first 64, whose cells are read, and for each one with texts.
    let cells: UInt64
    let texts: UInt64

    init(_ program: DictionaryProgram, _ programs: [ColumnProgram]) {
        grouping = program.grouping.map { programs[$0] }
        key = Key(grouping)
        totals = program.totals.map { Source($0, programs[$0.input]) }
        // The numbers at the ends of a single grouped path are read once for each destination.
        var unread: Int?
        if case .path(_, let rest) = key, rest.last?.cellType?.cellWidth != nil { unread = program.grouping[0] }
        if program.totals.contains(where: { $0.input == unread }) { unread = nil }
        prepared = ColumnPrograms(programs.indices.filter { $0 != unread }.map { programs[$0] })
        let columns = programs.compactMap(\.cellColumn)
        cells = columns.reduce(0) { $0 | $1.bit }
        texts = columns.reduce(0) { $1.type == .string ? $0 | $1.bit : $0 }
    }
}

extension GroupPlan.Key {
    fileprivate init(_ grouping: [ColumnProgram]) {
        self = .values
        if grouping.count == 2, grouping.allSatisfy(\.hasNumbers) { self = .pair(grouping[0], grouping[1]) }
        guard grouping.count == 1 else { return }
        switch grouping[0] {
        case .cell(let column) where column.type == .string: self = .text(column)
        case .path(let column, let rest, _): self = .path(column, rest: rest)
        case let program where program.hasNumbers: self = .number(program)
        default: break
        }
    }
}

extension GroupPlan.Source {
    fileprivate init(_ total: DictionaryProgram.Total, _ program: ColumnProgram) {
        let countsDistinct = total.isDistinct && total.function == .count
        switch program {
        case .object where total.function == .count: self = .object
        case let program where countsDistinct && program.hasNumbers: self = .distinctNumbers(program)
        case .cell(let column) where countsDistinct && column.type == .string: self = .distinctTexts(column)
        case .cell(let column) where column.type.isWholeNumber: self = .int(column)
        case .cell(let column) where column.type == .double || column.type == .float: self = .double(column)
        default: self = .values(program)
        }
    }
}

extension StoredColumn {
    fileprivate var bit: UInt64 { column < 64 ? 1 << UInt64(column) : 0 }
}

extension ColumnProgram {
    /// The column whose cell is read first.
    fileprivate var cellColumn: StoredColumn? {
        switch self {
        case .cell(let column), .path(let column, _, _), .length(let column): column
        case .object, .constant, .memberCount, .memberTotal, .function, .general: nil
        }
    }

    /// True if `DictionaryInputReader.number` returns the values.
    var hasNumbers: Bool {
        switch self {
        case .cell(let column): column.type.cellWidth != nil
        case .length, .memberCount: true
        case .object, .constant, .path, .memberTotal, .function, .general: false
        }
    }

    /// True if the values are whole numbers or null.
    var isWholeNumber: Bool {
        if case .cell(let column) = self { return column.type.isWholeNumber }
        return hasNumbers
    }
}

extension CellType {
    var isWholeNumber: Bool { self == .int16 || self == .int32 || self == .int64 }
}
