internal import HornbeamEngine
internal import HornbeamModel

/// Reads single cells of one entity's rows in one snapshot, without reference counting. Property getters use it.
///
/// Valid while its snapshot is retained. A property is given by its index and must have a column of the requested type.
@safe package struct CellReader {
    private let unowned: Unmanaged<TableCells>  // the snapshot retains it
    private let columns: UnsafePointer<CellColumn>

    init(_ table: TableCells, _ columns: UnsafePointer<CellColumn>) {
        unsafe unowned = unsafe .passUnretained(table)
        unsafe self.columns = unsafe columns
    }

    @inline(__always)
    private func withTable<R>(_ body: (TableCells) -> R) -> R { unsafe unowned._withUnsafeGuaranteedRef { body($0) } }

    @inline(__always)
    private func tryTable<R>(_ body: (TableCells) throws(EngineError) -> R) throws(EngineError) -> R {
        try withTable { table in Result { () throws(EngineError) in try body(table) } }.get()
    }

    /// True when the property has a column: it is an attribute or a to-one, and not transient.
    package func holds(_ property: Int) -> Bool { unsafe columns[property].position >= 0 }

    /// The number of rows in the table.
    package var rowCount: Int { withTable { $0.rowCount } }

    /// True when the hint was made in this snapshot. The row then exists and needs no lookup.
    package func knows(_ hint: RowHint) -> Bool { withTable { $0.isFromThisVersion(hint.location) } }

    /// Finds the location of a row; false when there is none.
    package func find(_ key: UInt64, _ hint: inout RowHint) throws -> Bool {
        do { return try locate(key, &hint) } catch { throw HornbeamError(error) }
    }

    /// The locations of several rows, in the order of their keys; an empty hint for a missing row.
    package func find(_ keys: ArraySlice<UInt64>) throws -> RowHints {
        var locations = [RowLocation](repeating: RowLocation(), count: keys.count)
        do { try tryTable { table throws(EngineError) in try table.find(keys, at: &locations) } } catch { throw HornbeamError(error) }
        return RowHints(locations: locations)
    }

    func locate(_ key: UInt64, _ hint: inout RowHint) throws(EngineError) -> Bool {
        try tryTable { table throws(EngineError) in try table.find(key, at: &hint.location) }
    }

    /// True when a located row has a text in a column.
    func isText(
        _ key: UInt64, _ hint: inout RowHint, _ column: Int, _ text: UnsafeRawBufferPointer
    ) throws(EngineError) -> Bool {
        try tryTable { table throws(EngineError) in unsafe try table.isText(key, at: &hint.location, column, text) }
    }

    /// Prefetches the texts that are usually read, of a row that was located earlier.
    package func prefetchTexts(_ hint: RowHint) { withTable { $0.prefetchTexts(at: hint.location) } }

    // MARK: Cells of located rows

    /// The double, float or date of a located row; nil when the caller must call `double`.
    package func plainDouble(_ property: Int, _ hint: RowHint) -> Double? {
        let column = unsafe columns[property]
        return withTable { $0.plainCell(at: hint.location, column.position) }.map(column.double)
    }

    /// The integer or boolean of a located row; nil when the caller must call `integer`.
    package func plainInteger(_ property: Int, _ hint: RowHint) -> Int64? {
        let column = unsafe columns[property]
        return withTable { $0.plainCell(at: hint.location, column.position) }.map(column.integer)
    }

    /// The string or URI of a located row; nil when the caller must call `string`.
    package func plainString(_ property: Int, _ hint: RowHint) -> String? {
        withTable { unsafe $0.plainText(at: hint.location, columns[property].position) }
    }

    /// Borrows the bytes of a string or URI of a located row until `endBorrowing`; nil when the caller must call `readTextBytes`.
    package func borrowText(_ property: Int, _ hint: RowHint) -> BorrowedTextBytes? {
        withTable { unsafe $0.borrowText(at: hint.location, columns[property].position) }
            .map { unsafe BorrowedTextBytes(start: $0.start, count: $0.count, reader: $0.reader) }
    }

    // MARK: Cells of any row

    /// The version of a row; nil when there is no row.
    package func version(_ key: UInt64, _ hint: inout RowHint) throws -> UInt32? {
        do {
            let cell = try tryTable { table throws(EngineError) in try table.fixedCell(key, at: &hint.location, EntityTable.versionColumn) }
            return cell.state == .value ? UInt32(truncatingIfNeeded: cell.bits) : nil
        } catch { throw HornbeamError(error) }
    }

    /// Passes the stored bytes of a string or URI to `body`, or nil for a null. Returns false when there is no row.
    package func readTextBytes(
        _ property: Int, _ key: UInt64, _ hint: inout RowHint, _ body: (UnsafeRawBufferPointer?) -> Void
    ) throws -> Bool {
        let column = unsafe columns[property]
        precondition(column.type == .string || column.type == .uri, "The property is not a text.")
        do {
            return try tryTable { table throws(EngineError) in unsafe try table.readTextBytes(key, at: &hint.location, column.position, body) }
        } catch { throw HornbeamError(error) }
    }

    /// An integer of any width, or a boolean as 0 or 1. Returns nil when there is no row, and `.some(nil)` for a null.
    package func integer(_ property: Int, _ key: UInt64, _ hint: inout RowHint) throws -> Int64?? {
        let column = unsafe columns[property]
        let cell = try fixedCell(column, key, &hint)
        guard cell.state == .value else { return cell.state == .null ? .some(nil) : nil }
        return column.integer(cell.bits)
    }

    @inline(__always)
    private func fixedCell(_ column: CellColumn, _ key: UInt64, _ hint: inout RowHint) throws -> FixedCell {
        do {
            return try tryTable { table throws(EngineError) in try table.fixedCell(key, at: &hint.location, column.position) }
        } catch { throw HornbeamError(error) }
    }

    /// The integers or booleans of several rows, in the order of their keys; nil if there is no row for a key.
    package func integers(_ property: Int, _ keys: [UInt64]) throws -> [Int64?]? {
        let column = unsafe columns[property]
        return try fixedCells(column, keys)?.map { if case .value = $0.state { column.integer($0.bits) } else { nil } }
    }

    /// The doubles, floats or dates of several rows, in the order of their keys; nil if there is no row for a key.
    package func doubles(_ property: Int, _ keys: [UInt64]) throws -> [Double?]? {
        let column = unsafe columns[property]
        return try fixedCells(column, keys)?.map { if case .value = $0.state { column.double($0.bits) } else { nil } }
    }

    private func fixedCells(_ column: CellColumn, _ keys: [UInt64]) throws -> [FixedCell]? {
        do {
            return try tryTable { table throws(EngineError) in try table.fixedCells(keys, column.position) }
        } catch { throw HornbeamError(error) }
    }

    /// A double, a float, or a date as seconds since 2001; optionals as for `integer`.
    package func double(_ property: Int, _ key: UInt64, _ hint: inout RowHint) throws -> Double?? {
        let column = unsafe columns[property]
        let cell = try fixedCell(column, key, &hint)
        guard cell.state == .value else { return cell.state == .null ? .some(nil) : nil }
        return column.double(cell.bits)
    }

    /// The text of a string or URI; optionals as for `integer`.
    package func string(_ property: Int, _ key: UInt64, _ hint: inout RowHint) throws -> String?? {
        let column = unsafe columns[property]
        precondition(column.type == .string || column.type == .uri, "The property is not a text.")
        do {
            let cell = try tryTable { table throws(EngineError) in try table.textCell(key, at: &hint.location, column.position) }
            return switch cell {
            case .noRow: nil
            case .null: .some(nil)
            case .text(let text): text
            }
        } catch { throw HornbeamError(error) }
    }
}

/// The locations of several rows.
package struct RowHints {
    fileprivate let locations: [RowLocation]

    package subscript(place: Int) -> RowHint { RowHint(locations[place]) }
}

/// The borrowed bytes of a text in its page. The borrowing thread must return them with `endBorrowing`.
@safe package struct BorrowedTextBytes {
    package let start: UnsafeRawPointer
    package let count: Int
    package let reader: UnsafeMutableRawPointer?

    /// - Parameter reader: The `reader` of the text.
    package static func endBorrowing(_ reader: UnsafeMutableRawPointer?) { unsafe BorrowedBytes.endBorrowing(reader) }
}
