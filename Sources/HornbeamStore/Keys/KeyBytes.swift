internal import Foundation

/// The encoding of values as bytes of keys. The order of the bytes is the order of the values.
///
/// A component of an index key is one type byte (0 for null, 1 for a value) and the value's bytes. Values of variable
/// length end with two zero bytes and encode a zero byte as 00 01, so that no encoded value is a prefix of another. A descending
/// component is complemented as a whole, type byte included. Numbers are big-endian with the sign bit inverted.
enum KeyBytes {
    static let null: UInt8 = 0
    static let present: UInt8 = 1

    @inline(__always)
    static func append<T: FixedWidthInteger>(_ number: T, to bytes: inout [UInt8]) {
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    static func appendSigned<T: FixedWidthInteger & SignedInteger>(_ number: T, to bytes: inout [UInt8]) {
        append(number ^ (1 << (T.bitWidth - 1)), to: &bytes)
    }

    /// Encodes −0 as 0, and every NaN as one value that sorts before all numbers. Comparisons in memory use the same order.
    static func append(_ number: Double, to bytes: inout [UInt8]) { append(ordered(number), to: &bytes) }

    static func append(_ number: Float, to bytes: inout [UInt8]) { append(ordered(number), to: &bytes) }

    /// Maps a double to an unsigned integer with the same order.
    static func ordered(_ number: Double) -> UInt64 {
        if number.isNaN { return 0 }
        let bits = (number == 0 ? 0 : number).bitPattern
        return bits >> 63 == 1 ? ~bits : bits | 1 << 63
    }

    /// The inverse of `ordered`.
    static func double(ordered: UInt64) -> Double {
        if ordered == 0 { return .nan }
        return Double(bitPattern: ordered >> 63 == 1 ? ordered & ~(1 << 63) : ~ordered)
    }

    static func ordered(_ number: Float) -> UInt32 {
        if number.isNaN { return 0 }
        let bits = (number == 0 ? 0 : number).bitPattern
        return bits >> 31 == 1 ? ~bits : bits | 1 << 31
    }

    static func appendEscaped(_ content: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        if let start = content.baseAddress, unsafe memchr(start, 0, content.count) != nil {
            for unsafe byte in unsafe content {
                bytes.append(byte)
                if byte == 0 { bytes.append(1) }
            }
        } else {
            unsafe bytes.append(contentsOf: content)
        }
        bytes.append(0)
        bytes.append(0)
    }

    /// Appends the common key prefix of all texts that begin with `content`.
    static func appendEscapedPrefix(_ content: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        unsafe appendEscaped(content, to: &bytes)
        bytes.removeLast(2)
    }

    static func complement(_ bytes: inout [UInt8], from start: Int) {
        for i in start ..< bytes.count { bytes[i] = ~bytes[i] }
    }

    /// The number in the last eight bytes of a key.
    static func suffix(_ key: UnsafeRawBufferPointer) -> UInt64 {
        unsafe UInt64(bigEndian: key.loadUnaligned(fromByteOffset: key.count - 8, as: UInt64.self))
    }

    static func number(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
        unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
