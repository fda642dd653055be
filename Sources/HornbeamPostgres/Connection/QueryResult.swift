#if Postgres
internal import CPostgres

/// The result of a statement.
///
/// `@unchecked Sendable`: libpq does not change a result after it was made.
@safe final class QueryResult: @unchecked Sendable {
    private let handle: OpaquePointer
    let rowCount: Int
    private let columnCount: Int

    init(_ handle: OpaquePointer) {
        unsafe self.handle = handle
        rowCount = unsafe Int(PQntuples(handle))
        columnCount = unsafe Int(PQnfields(handle))
    }

    deinit { unsafe PQclear(handle) }

    /// The text of a cell; nil for NULL.
    subscript(row: Int, column: Int) -> String? {
        unsafe withBytes(row, column) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The number in a cell; nil for NULL and for other texts.
    func integer(_ row: Int, _ column: Int) -> Int64? {
        let number: Int64?? = unsafe withBytes(row, column) { unsafe Self.integer($0) }
        return number ?? nil
    }

    private static func integer(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        let isNegative = unsafe bytes.first == UInt8(ascii: "-")
        guard bytes.count > (isNegative ? 1 : 0) else { return nil }
        // Negative, because the least number has no positive counterpart.
        var number: Int64 = 0
        for place in (isNegative ? 1 : 0) ..< bytes.count {
            let digit = unsafe bytes[place] &- UInt8(ascii: "0")
            let (product, isTooLong) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooSmall) = product.subtractingReportingOverflow(Int64(digit))
            if digit > 9 || isTooLong || isTooSmall { return nil }
            number = sum
        }
        if isNegative { return number }
        return number == .min ? nil : -number
    }

    /// Passes the bytes of a cell; nil for NULL.
    func withBytes<R>(_ row: Int, _ column: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R? {
        precondition(row >= 0 && row < rowCount && column >= 0 && column < columnCount, "The cell exists.")
        let length = unsafe Int(PQgetlength(handle, Int32(row), Int32(column)))
        if length == 0, unsafe PQgetisnull(handle, Int32(row), Int32(column)) == 1 { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(start: PQgetvalue(handle, Int32(row), Int32(column)), count: length)
        return unsafe try bytes.withMemoryRebound(to: UInt8.self) { unsafe try body($0) }
    }

    /// The first cell of the first row.
    var value: String? { rowCount > 0 ? self[0, 0] : nil }
}
#endif
