/// A JSON value, with only the features that the compiler's messages use. The plug-in does not link Foundation, so that it starts fast.
enum JSON: Equatable {
    case null
    case bool(Bool)
    case number(Int)
    case string(String)
    case array([JSON])
    case object([Member])

    struct Member: Equatable {
        var key: String
        var value: JSON
    }

    /// The value of a member of an object; nil for a missing member, and for other values than objects.
    subscript(key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var integer: Int? {
        guard case .number(let number) = self else { return nil }
        return number
    }
}

extension JSON: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral members: (String, JSON)...) { self = .object(members.map { Member(key: $0.0, value: $0.1) }) }
}

// MARK: Writing

extension JSON: CustomStringConvertible {
    var description: String {
        switch self {
        case .null: "null"
        case .bool(let truth): "\(truth)"
        case .number(let number): "\(number)"
        case .string(let text): Self.quoted(text)
        case .array(let elements): "[" + elements.map(\.description).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0.key) + ":" + $0.value.description }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

// MARK: Reading

extension JSON {
    /// Nil for bytes that are not JSON, and for values that are nested too deeply.
    init?(_ bytes: [UInt8]) {
        var reader = JSONReader(bytes)
        guard let value = reader.value(depth: 0), reader.isAtEnd else { return nil }
        self = value
    }
}

private struct JSONReader {
    private static let depthMax = 200
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return position == bytes.count
        }
    }

    mutating func value(depth: Int) -> JSON? {
        guard depth < Self.depthMax else { return nil }
        skipSpace()
        guard position < bytes.count else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "{"): return object(depth)
        case UInt8(ascii: "["): return array(depth)
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "t"): return word("true", .bool(true))
        case UInt8(ascii: "f"): return word("false", .bool(false))
        case UInt8(ascii: "n"): return word("null", .null)
        default: return number()
        }
    }

    private mutating func object(_ depth: Int) -> JSON? {
        var members: [JSON.Member] = []
        position += 1
        if consume(UInt8(ascii: "}")) { return .object([]) }
        repeat {
            skipSpace()
            guard let key = string(), consume(UInt8(ascii: ":")), let value = value(depth: depth + 1) else { return nil }
            members.append(.init(key: key, value: value))
        } while consume(UInt8(ascii: ","))
        return consume(UInt8(ascii: "}")) ? .object(members) : nil
    }

    private mutating func array(_ depth: Int) -> JSON? {
        var elements: [JSON] = []
        position += 1
        if consume(UInt8(ascii: "]")) { return .array([]) }
        repeat {
            guard let value = value(depth: depth + 1) else { return nil }
            elements.append(value)
        } while consume(UInt8(ascii: ","))
        return consume(UInt8(ascii: "]")) ? .array(elements) : nil
    }

    private mutating func word(_ word: StaticString, _ value: JSON) -> JSON? {
        let length = word.utf8CodeUnitCount
        guard position + length <= bytes.count, String(decoding: bytes[position..<position + length], as: UTF8.self) == "\(word)" else { return nil }
        position += length
        return value
    }

    /// Reads a number and rounds it to an integer: the plug-in reads no fractions.
    private mutating func number() -> JSON? {
        let start = position
        while position < bytes.count, "+-.eE0123456789".utf8.contains(bytes[position]) { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let number = Int(text) ?? Double(text).flatMap({ Int(exactly: $0.rounded()) }) else { return nil }
        return .number(number)
    }

    private mutating func string() -> String? {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return nil }
        position += 1
        var text = ""
        while let end = nextSpecial() {
            text += String(decoding: bytes[position..<end], as: UTF8.self)
            position = end + 1
            if bytes[end] == UInt8(ascii: "\"") { return text }
            guard let scalar = escape() else { return nil }
            text.unicodeScalars.append(scalar)
        }
        return nil
    }

    /// The position of the next quotation mark or backslash. Messages are long and plug-ins are often built without optimisation, so a
    /// short loop searches for it, and the bytes before it are copied at once.
    private func nextSpecial() -> Int? {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            var index = position
            while index < bytes.count {
                let byte = unsafe bytes[index]
                if byte == 0x22 || byte == 0x5C { return index }
                index &+= 1
            }
            return nil
        }
    }

    /// The character of the escape sequence after a backslash.
    private mutating func escape() -> Unicode.Scalar? {
        guard position < bytes.count else { return nil }
        position += 1
        switch bytes[position - 1] {
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "u"): return hexScalar()
        case let other: return Unicode.Scalar(other)
        }
    }

    private mutating func hexScalar() -> Unicode.Scalar? {
        guard let high = hexUnit() else { return nil }
        guard (0xD800..<0xDC00).contains(high) else { return Unicode.Scalar(high) ?? "\u{FFFD}" }
        guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u") else { return "\u{FFFD}" }
        position += 2
        guard let low = hexUnit(), (0xDC00..<0xE000).contains(low) else { return "\u{FFFD}" }
        return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    }

    private mutating func hexUnit() -> UInt32? {
        guard position + 4 <= bytes.count else { return nil }
        position += 4
        return UInt32(String(decoding: bytes[position - 4..<position], as: UTF8.self), radix: 16)
    }

    private mutating func consume(_ byte: UInt8) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[position]) { position += 1 }
    }
}
