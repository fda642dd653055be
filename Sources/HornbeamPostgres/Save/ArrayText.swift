#if Postgres
internal import Foundation
internal import HornbeamModel

/// The text form of an array parameter.
struct ArrayText {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]
    private(set) var count = 0

    /// The length of the text, apart from its end.
    var byteCount: Int { bytes.count }

    /// The array.
    var text: String { String(decoding: bytes, as: UTF8.self) + "}" }

    /// Returns the array, and begins another one.
    mutating func take() -> String {
        bytes.append(UInt8(ascii: "}"))
        let text = String(decoding: bytes, as: UTF8.self)
        bytes.removeAll(keepingCapacity: true)
        bytes.append(UInt8(ascii: "{"))
        count = 0
        return text
    }

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
        if Self.isPlain(text) { append(plain: text) } else { append(escaping: text) }
    }

    /// Appends the value of an attribute.
    mutating func append(_ value: PropertyValue, of column: TableLayout.Column) throws {
        switch value {
        case .null: appendNull()
        case .int(let number): append(number)
        case .bool(let flag):
            begin()
            bytes.append(UInt8(ascii: flag ? "t" : "f"))
        case .double(let number) where column.type == .double: append(number)
        case .date(let date) where !column.isTimestamp: append(date.timeIntervalSinceReferenceDate)
        case .string(let text):
            begin()
            if Self.isPlain(text) { append(plain: text) } else { append(escaping: ColumnValue.escaped(text)) }
        case .data(let data): append(data)
        default: append(try column.text(of: value))
        }
    }

    private mutating func append(_ number: Int64) {
        begin()
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        bytes.append(digits: number.magnitude)
    }

    // No text of a number needs quotation marks.
    private mutating func append(_ number: Double) {
        begin()
        bytes.append(contentsOf: ColumnValue.text(of: number).utf8)
    }

    private mutating func append(_ data: Data) {
        begin()
        bytes.append(contentsOf: "\"\\\\x".utf8)
        for byte in data {
            bytes.append(hexDigit: byte >> 4)
            bytes.append(hexDigit: byte & 15)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func append(plain text: String) {
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\""))
    }

    // By bytes: a combining mark after a quotation mark would be one character with it.
    private mutating func append(escaping text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// True for a text without characters that are escaped in an array or in a column.
    private static func isPlain(_ text: String) -> Bool {
        let bytes = text.utf8.span
        for place in bytes.indices {
            let byte = bytes[place]
            if byte <= 1 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return false }
        }
        return true
    }
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
        // Reversing a slice would copy it.
        var (first, last) = (start, count - 1)
        while first < last {
            swapAt(first, last)
            (first, last) = (first + 1, last - 1)
        }
    }

    fileprivate mutating func append(hexDigit digit: UInt8) { append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit) }
}
#endif
