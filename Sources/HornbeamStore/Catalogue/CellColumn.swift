/// The column and type of a property's cell.
struct CellColumn {
    let position: Int
    /// Nil for properties without a column: to-many and transient ones.
    let type: CellType?

    @inline(__always)
    func integer(_ bits: UInt64) -> Int64 {
        switch type {
        case .int16: Int64(Int16(truncatingIfNeeded: bits))
        case .int32: Int64(Int32(truncatingIfNeeded: bits))
        case .int64, .bool: Int64(bitPattern: bits)
        default: preconditionFailure("The property is not an integer or boolean.")
        }
    }

    @inline(__always)
    func double(_ bits: UInt64) -> Double {
        switch type {
        case .double, .date: Double(bitPattern: bits)
        case .float: Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
        default: preconditionFailure("The property is not a double, float or date.")
        }
    }
}
