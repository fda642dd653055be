// How the rows of a table are described: columns of fixed width, bits and variable bytes.
//
// A column has an identifier that is never used again, so a leaf written under an older layout can still be
// read: columns that it lacks show their fill value, columns that were removed are not shown.

/// A column's identity within its table, never reused.
package struct ColumnID: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32
    package init(_ rawValue: UInt32) { self.rawValue = rawValue }
    package var description: String { "c\(rawValue)" }
}

/// How wide the cells of a column are.
package enum ColumnKind: UInt8, Sendable, Hashable {
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
    /// The value of rows written before the column existed: nil is null; a bit is one byte, 0 or 1.
    package var fill: [UInt8]?

    package init(id: ColumnID, kind: ColumnKind, fill: [UInt8]? = nil) {
        self.id = id
        self.kind = kind
        self.fill = fill
    }
}

/// The columns of a table, in the order in which callers number them.
package struct ColumnLayout: Hashable, Sendable {
    /// Counts up with every change of the table's layout, from 1.
    package var version: UInt32
    package var columns: [Column]

    package init(version: UInt32 = 1, columns: [Column]) {
        self.version = version
        self.columns = columns
    }
}
