// The layout of a table's rows: columns of fixed width, of bits and of variable bytes.
//
// The identifier of a column is never reused, so a leaf with an older layout can still be read. A column that the
// leaf lacks has its fill value in every row. A column that was removed from the table is ignored.

/// A column's identity within its table, never reused.
package struct ColumnID: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32
    package init(_ rawValue: UInt32) { self.rawValue = rawValue }
    package var description: String { "c\(rawValue)" }
}

/// The storage of a column's cells: a bit, a fixed number of bytes, or variable bytes.
@usableFromInline package enum ColumnKind: UInt8, Sendable, Hashable {
    case bit = 0
    case fixed1 = 1
    case fixed2 = 2
    case fixed4 = 4
    case fixed8 = 8
    case fixed16 = 16
    case bytes = 32

    /// Bytes of a fixed cell; 0 for bits and variable bytes.
    @inlinable package var width: Int {
        switch self {
        case .bit, .bytes: 0
        default: Int(rawValue)
        }
    }
}

/// One column of a table.
package struct Column: Hashable, Sendable {
    package var id: ColumnID
    package var kind: ColumnKind
    /// The value in rows that were written before the column was added; nil for null. For a bit column, one byte, 0 or 1.
    package var fill: [UInt8]?

    package init(id: ColumnID, kind: ColumnKind, fill: [UInt8]? = nil) {
        self.id = id
        self.kind = kind
        self.fill = fill
    }
}

/// The columns of a table. Callers identify a column by its index here.
package struct ColumnLayout: Hashable, Sendable {
    /// The version of the table's layout. The first is 1; each change of the layout increments it.
    package var version: UInt32
    package var columns: [Column]

    package init(version: UInt32 = 1, columns: [Column]) {
        self.version = version
        self.columns = columns
    }
}
