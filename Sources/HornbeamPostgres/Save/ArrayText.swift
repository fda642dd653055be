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
        guard var text else { return appendNull() }
        begin()
        text.withUTF8 { utf8 in
            guard unsafe !Self.isPlain(utf8) else { return unsafe append(plain: utf8) }
            append(escaping: unsafe String(decoding: utf8, as: UTF8.self))
        }
    }

    /// Appends the value of an attribute.
    mutating func append(_ value: PropertyValue, of column: TableLayout.Column) throws {
        var values = CompactValues()
        values.append(value)
        try append(values[0], of: values, column)
    }

    /// Appends the value of an attribute, or the key of a destination.
    mutating func append(_ value: CompactValues.Value, of values: CompactValues, _ column: TableLayout.Column) throws {
        switch value.kind {
        case .null: appendNull()
        case .int: append(value.int)
        case .bool:
            begin()
            bytes.append(UInt8(ascii: value.bits == 0 ? "f" : "t"))
        case .double where column.type == .double, .date where !column.isTimestamp: append(value.double)
        case .text:
            begin()
            unsafe values.withUTF8(of: value) { utf8 in
                guard unsafe !Self.isPlain(utf8) else { return unsafe append(plain: utf8) }
                append(escaping: ColumnValue.escaped(unsafe String(decoding: utf8, as: UTF8.self)))
            }
        default:
            let value = values.propertyValue(value)
            if case .data(let data) = value { append(data) } else { append(try column.text(of: value)) }
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

    private mutating func append(plain text: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        unsafe bytes.append(contentsOf: text)
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
    private static func isPlain(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe !text.contains { $0 <= 1 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
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
