// The results of reading single cells: plain values, which a call returns without an allocation, except for the memory of a long text.

/// The result of reading a fixed cell.
package struct FixedCell: Sendable {
    package enum State: UInt8, Sendable { case noRow, null, value }

    package let state: State
    /// The cell as a number, zero-extended; 0 or 1 for a bit column.
    package let bits: UInt64

    init(_ state: State, _ bits: UInt64 = 0) {
        self.state = state
        self.bits = bits
    }
}

/// The result of reading a text cell.
package enum TextCell: Sendable {
    case noRow, null
    /// The text; invalid UTF-8 is repaired.
    case text(String)
}
