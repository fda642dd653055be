// Encodes numbers, names and byte ranges of records by appending them to an array. Decodes them with a check of every length.

extension Array where Element == UInt8 {
    mutating func appendInteger<T: FixedWidthInteger>(_ value: T) {
        unsafe Swift.withUnsafeBytes(of: value.littleEndian) { unsafe append(contentsOf: $0) }
    }

    mutating func appendText(_ text: String) {
        appendInteger(UInt16(text.utf8.count))
        append(contentsOf: text.utf8)
    }

    /// A variable-length integer (LEB128): seven bits in each byte, the low bits first.
    mutating func appendVariable(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        append(UInt8(value))
    }
}

/// Reads bytes that may be damaged. Each method throws `damaged` instead of reading beyond the end.
struct ByteReader {
    private(set) var rest: Bytes

    init(_ bytes: Bytes) { rest = bytes }

    var isAtEnd: Bool { rest.count == 0 }

    mutating func readBytes(_ count: Int) throws(EngineError) -> Bytes {
        guard count >= 0, count <= rest.count else {
            throw EngineError(.damaged, "A record ends after \(rest.count) bytes where \(count) were expected.")
        }
        let taken = rest.prefix(count)
        rest = rest.dropFirst(count)
        return taken
    }

    mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(EngineError) -> T {
        T(littleEndian: try readBytes(MemoryLayout<T>.size).load(0))
    }

    mutating func text() throws(EngineError) -> String {
        let bytes = try readBytes(Int(try integer(UInt16.self)))
        guard let text = unsafe String(validating: bytes.buffer, as: UTF8.self) else {
            throw EngineError(.damaged, "A name is not valid UTF-8.")
        }
        return text
    }

    mutating func variable() throws(EngineError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let byte = try integer(UInt8.self)
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw EngineError(.damaged, "A number of variable length does not end.")
    }
}
