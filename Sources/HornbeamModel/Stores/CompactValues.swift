internal import Foundation

/// Values in a form without references: a value needs no reference counting, and a text no allocation of its own.
package struct CompactValues: Sendable {
    package enum Kind: UInt8, Sendable {
        case null, bool, int, double, date, text, other
    }

    /// A value, or the place of one.
    package struct Value: Sendable {
        package let kind: Kind
        /// The number of bytes of a text.
        fileprivate var count: UInt32 = 0
        /// The number; of a boolean 0 or 1; of a date the seconds since 2001; of a text the place of its bytes; else the place in `others`.
        package let bits: UInt64

        package var double: Double { Double(bitPattern: bits) }
        package var int: Int64 { Int64(bitPattern: bits) }
    }

    private var values: [Value] = []
    /// The UTF-8 bytes of the texts.
    private var bytes: [UInt8] = []
    private var others: [PropertyValue] = []

    package init() {}

    var count: Int { values.count }

    mutating func reserveCapacity(_ count: Int) { values.reserveCapacity(count) }

    package mutating func append(_ value: PropertyValue) {
        switch value {
        case .null: appendNull()
        case .bool(let flag): append(flag)
        case .int(let number): append(number)
        case .double(let number): append(number)
        case .date(let date): append(date: date.timeIntervalSinceReferenceDate)
        case .string(var text) where text.utf8.count <= Int(UInt32.max): text.withUTF8 { unsafe append(utf8: $0) }
        default:
            values.append(Value(kind: .other, bits: UInt64(others.count)))
            others.append(value)
        }
    }

    mutating func appendNull() { values.append(Value(kind: .null, bits: 0)) }
    mutating func append(_ flag: Bool) { values.append(Value(kind: .bool, bits: flag ? 1 : 0)) }
    mutating func append(_ number: Int64) { values.append(Value(kind: .int, bits: UInt64(bitPattern: number))) }
    mutating func append(_ number: Double) { values.append(Value(kind: .double, bits: number.bitPattern)) }
    mutating func append(date seconds: Double) { values.append(Value(kind: .date, bits: seconds.bitPattern)) }

    /// Appends a text of less than 2³² bytes. The bytes are valid UTF-8.
    mutating func append(utf8: UnsafeBufferPointer<UInt8>) {
        values.append(Value(kind: .text, count: UInt32(utf8.count), bits: UInt64(bytes.count)))
        unsafe bytes.append(contentsOf: utf8)
    }

    /// Appends values of another list.
    mutating func append(_ range: Range<Int>, of other: CompactValues) {
        for value in other.values[range] {
            switch value.kind {
            case .text: unsafe other.withUTF8(of: value) { unsafe append(utf8: $0) }
            case .other: append(other.others[Int(value.bits)])
            default: values.append(value)
            }
        }
    }

    package subscript(place: Int) -> Value { values[place] }

    /// Calls `body` with the UTF-8 bytes of a text, which is one of these values.
    package func withUTF8<R>(of text: Value, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        let start = Int(text.bits)
        precondition(text.kind == .text && start + Int(text.count) <= bytes.count, "The text is one of these values.")
        return unsafe bytes.withUnsafeBufferPointer { unsafe body(UnsafeBufferPointer(rebasing: $0[start ..< start + Int(text.count)])) }
    }

    package func propertyValue(_ value: Value) -> PropertyValue {
        switch value.kind {
        case .null: .null
        case .bool: .bool(value.bits != 0)
        case .int: .int(value.int)
        case .double: .double(value.double)
        case .date: .date(Date(timeIntervalSinceReferenceDate: value.double))
        case .text: .string(unsafe withUTF8(of: value) { unsafe String(decoding: $0, as: UTF8.self) })
        case .other: others[Int(value.bits)]
        }
    }
}
