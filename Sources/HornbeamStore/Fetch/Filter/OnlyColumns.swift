internal import HornbeamEngine

// The columns to which the reads of a scan are limited, for `TableView.forEachLeaf`: a bit for each of the first 64 columns. Nil if the scan reads
// others, texts or related objects.

extension Filter {
    var onlyColumns: UInt64? {
        switch self {
        case .constant, .keys: 0
        case .range(let test): Self.onlyBit(test.column)
        case .flag(let test): Self.onlyBit(test.column)
        case .null(let test): Self.onlyBit(test.column)
        case .reference(let test): Self.onlyBit(test.column)
        case .numbers(let test): Self.onlyBit(test.column.column)
        case .and(let filters), .or(let filters): filters.map(\.onlyColumns).union
        case .not(let filter): filter.onlyColumns
        case .text, .texts, .bytes, .path, .members, .general: nil
        }
    }

    fileprivate static func onlyBit(_ column: Int) -> UInt64? { column < 64 ? 1 << UInt64(column) : nil }
}

extension ColumnProgram {
    var onlyColumns: UInt64? {
        switch self {
        case .object, .constant: 0
        case .cell(let column): column.onlyColumns
        case .function(_, let arguments): arguments.map(\.onlyColumns).union
        case .path, .length, .memberCount, .memberTotal, .general: nil
        }
    }
}

extension StoredColumn {
    /// Nil for variable cells, and for references, whose entity may be in a second column.
    var onlyColumns: UInt64? {
        switch type {
        case .int16, .int32, .int64, .double, .float, .bool, .date: Filter.onlyBit(column)
        case .decimal, .string, .uri, .data, .uuid, .objectID, .composite, .reference: nil
        }
    }
}

extension Sequence<UInt64?> {
    /// All bits; nil if an element is nil.
    var union: UInt64? { reduce(0) { all, next in all.flatMap { bits in next.map { bits | $0 } } } }
}
