internal import HornbeamEngine
package import HornbeamModel

/// Reads single cells of one entity's rows in one snapshot, without counting references: what property getters use.
///
/// Valid for as long as its snapshot is held. Properties are named by index and must have a column of the kind asked for.
package struct CellReader {
    private let table: TableCells
    private let columns: UnsafePointer<CellColumn>

    init(_ table: TableCells, _ columns: UnsafePointer<CellColumn>) {
        self.table = table
        self.columns = columns
    }

    /// True when the property has a column: it is an attribute or a to-one, and not transient.
    package func holds(_ property: Int) -> Bool { columns[property].position >= 0 }

    /// True when a row was seen in this very snapshot, so that it need not be looked up to know that it exists.
    package func knows(_ hint: RowHint) -> Bool { table.saw(hint.location) }

    /// Looks up where a row lies; false when there is none.
    package func find(_ key: UInt64, _ hint: inout RowHint) throws -> Bool {
        do { return try locate(key, &hint) } catch { throw HornbeamError(error) }
    }

    func locate(_ key: UInt64, _ hint: inout RowHint) throws(EngineError) -> Bool { try table.find(key, at: &hint.location) }

    /// The same for a row that has a text in a column, and is to be passed over otherwise.
    func find(
        _ key: UInt64, _ hint: inout RowHint, where column: Int, is text: UnsafeRawBufferPointer
    ) throws(EngineError) -> Bool {
        try table.find(key, at: &hint.location, where: column, is: text)
    }

    /// Lends the bytes of a string or URI as they are stored, nil where there is no value; false when there is no row.
    package func lendText(
        _ property: Int, _ key: UInt64, _ hint: inout RowHint, _ body: (UnsafeRawBufferPointer?) -> Void
    ) throws -> Bool {
        let column = columns[property]
        precondition(column.type == .string || column.type == .uri, "The property is no text.")
        do { return try table.lendText(key, at: &hint.location, column.position, body) } catch { throw HornbeamError(error) }
    }

    /// A whole number of any width, or a boolean as 0 and 1; nil when there is no row, `.some(nil)` when there is no value.
    package func integer(_ property: Int, _ key: UInt64, _ hint: inout RowHint) throws -> Int64?? {
        let column = columns[property]
        let cell: FixedCell
        do {
            cell = try table.fixedCell(key, at: &hint.location, column.position)
        } catch { throw HornbeamError(error) }
        guard cell.state == .value else { return cell.state == .null ? .some(nil) : nil }
        return switch column.type {
        case .int16: Int64(Int16(truncatingIfNeeded: cell.bits))
        case .int32: Int64(Int32(truncatingIfNeeded: cell.bits))
        case .int64, .bool: Int64(bitPattern: cell.bits)
        default: preconditionFailure("The property is no whole number or boolean.")
        }
    }

    /// A double, a float, or a date as seconds since 2001; optionals as for `integer`.
    package func double(_ property: Int, _ key: UInt64, _ hint: inout RowHint) throws -> Double?? {
        let column = columns[property]
        let cell: FixedCell
        do {
            cell = try table.fixedCell(key, at: &hint.location, column.position)
        } catch { throw HornbeamError(error) }
        guard cell.state == .value else { return cell.state == .null ? .some(nil) : nil }
        return switch column.type {
        case .double, .date: Double(bitPattern: cell.bits)
        case .float: Double(Float(bitPattern: UInt32(truncatingIfNeeded: cell.bits)))
        default: preconditionFailure("The property is no double, float or date.")
        }
    }

    /// The text of a string or URI; optionals as for `integer`.
    package func string(_ property: Int, _ key: UInt64, _ hint: inout RowHint) throws -> String?? {
        let column = columns[property]
        precondition(column.type == .string || column.type == .uri, "The property is no text.")
        do {
            return switch try table.textCell(key, at: &hint.location, column.position) {
            case .noRow: nil
            case .null: .some(nil)
            case .text(let text): text
            }
        } catch { throw HornbeamError(error) }
    }
}

/// Where a property's cell is, and what it holds.
struct CellColumn {
    let position: Int
    /// Nil for properties without a column: to-many and transient ones.
    let type: CellType?
}

extension StoreSnapshot {
    /// What reads the cells of a concrete entity's objects.
    package func cells(_ entity: EntityDescription) -> CellReader {
        let table = schema.table(entity)
        return CellReader(cells(table), table.cells)
    }
}
