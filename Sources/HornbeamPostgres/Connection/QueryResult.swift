#if Postgres
internal import CPostgres
internal import Foundation
internal import Glibc

/// The result of a statement.
///
/// `@unchecked Sendable`: libpq does not change a result after it was made.
@safe final class QueryResult: @unchecked Sendable {
    private let handle: OpaquePointer
    let rowCount: Int
    private let columnCount: Int
    /// True if the values have the server's binary form.
    let isBinary: Bool

    init(_ handle: OpaquePointer) {
        unsafe self.handle = handle
        rowCount = unsafe Int(PQntuples(handle))
        columnCount = unsafe Int(PQnfields(handle))
        isBinary = unsafe columnCount > 0 && PQfformat(handle, 0) == 1
    }

    deinit { unsafe PQclear(handle) }

    /// The text of a cell; nil for NULL. Of a binary result, only for columns of texts.
    subscript(row: Int, column: Int) -> String? {
        unsafe withBytes(row, column) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The number in a cell; nil for NULL and for other texts.
    func integer(_ row: Int, _ column: Int) -> Int64? {
        let number: Int64?? = unsafe withBytes(row, column) { unsafe isBinary ? Self.binaryInteger($0) : Self.integer($0) }
        return number ?? nil
    }

    /// The number of a column's type on the server (`pg_type.oid`).
    func type(_ column: Int) -> UInt32 { unsafe PQftype(handle, Int32(column)) }

    func isNull(_ row: Int, _ column: Int) -> Bool { unsafe withBytes(row, column) { _ in false } ?? true }

    /// The bits of a number of a given length, at most eight bytes, in a binary result; nil for NULL and for other lengths.
    func bits(_ row: Int, _ column: Int, byteCount: Int) -> UInt64? {
        let bits: UInt64?? = unsafe withBytes(row, column) { bytes in unsafe bytes.count == byteCount ? Self.bits(bytes) : nil }
        return bits ?? nil
    }

    private static func bits(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var bits: UInt64 = 0
        for place in 0 ..< bytes.count { unsafe bits = bits << 8 | UInt64(bytes[place]) }
        return bits
    }

    private static func binaryInteger(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard bytes.count == 8 || bytes.count == 4 || bytes.count == 2 else { return nil }
        let shift = UInt64(64 - 8 * bytes.count)
        return Int64(bitPattern: unsafe bits(bytes) << shift) >> Int64(shift)
    }

    /// The text of a cell, and whether it has a given byte; nil for NULL.
    func text(_ row: Int, _ column: Int, with byte: UInt8) -> (text: String, hasByte: Bool)? {
        unsafe withBytes(row, column) { bytes in
            let hasByte = unsafe bytes.baseAddress.map { unsafe memchr($0, Int32(byte), bytes.count) != nil } ?? false
            return unsafe (String(decoding: bytes, as: UTF8.self), hasByte)
        }
    }

    /// The bytes of a cell; nil for NULL.
    func bytes(_ row: Int, _ column: Int) -> [UInt8]? { unsafe withBytes(row, column) { unsafe Array($0) } }

    /// The bytes of a UUID in a binary result; nil for NULL and for other lengths.
    func uuid(_ row: Int, _ column: Int) -> uuid_t? {
        let uuid: uuid_t?? = unsafe withBytes(row, column) { bytes in
            unsafe bytes.count == 16 ? UnsafeRawBufferPointer(bytes).loadUnaligned(as: uuid_t.self) : nil
        }
        return uuid ?? nil
    }

    /// True if a cell has the same bytes as a text.
    func isEqual(_ row: Int, _ column: Int, to text: String) -> Bool {
        var text = text
        return unsafe withBytes(row, column) { cell in
            text.withUTF8 { utf8 in
                guard cell.count == utf8.count, let a = cell.baseAddress, let b = utf8.baseAddress else { return utf8.isEmpty && cell.isEmpty }
                return unsafe memcmp(a, b, cell.count) == 0
            }
        } ?? false
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
