#if Postgres
internal import HornbeamModel

/// The text form of an array parameter.
struct ArrayText {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]
    private(set) var count = 0

    /// The length of the text, apart from its end.
    var byteCount: Int { bytes.count }

    /// The array.
    var text: String { String(decoding: bytes, as: UTF8.self) + "}" }

    private mutating func begin() {
        if count > 0 { bytes.append(UInt8(ascii: ",")) }
        count += 1
    }

    mutating func appendNull() {
        begin()
        bytes.append(contentsOf: "NULL".utf8)
    }

    mutating func append(_ key: UInt64?) {
        guard let key else { return appendNull() }
        begin()
        bytes.append(digits: key)
    }

    mutating func append(_ text: String?) {
        guard let text else { return appendNull() }
        begin()
        append(quoted: text)
    }

    mutating func append(_ number: Int64) {
        begin()
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        bytes.append(digits: number.magnitude)
    }

    // By bytes: a combining mark after a quotation mark would be one character with it.
    private mutating func append(quoted text: String) {
        bytes.append(UInt8(ascii: "\""))
        if text.utf8.contains(where: Self.isEscaped) {
            for byte in text.utf8 {
                if Self.isEscaped(byte) { bytes.append(UInt8(ascii: "\\")) }
                bytes.append(byte)
            }
        } else {
            bytes.append(contentsOf: text.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") }
}

extension [UInt8] {
    /// Appends the decimal digits of a number.
    mutating func append(digits number: UInt64) {
        let start = count
        var rest = number
        repeat {
            append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        self[start...].reverse()
    }
}
#endif
