internal import Foundation
internal import HornbeamModel

/// Reads JSON as property values: whole numbers as integers, others as doubles, numbers with more digits than these hold as decimals. Safe: it
/// exists only during the call that passes the bytes.
@safe struct JSONParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var place = 0
    private var depth = 0

    private static let depthMax = 128
    /// The digits of a `Decimal`.
    private static let digitsMax = 38
    /// The number of digits that each double holds.
    private static let doubleDigits = 15

    /// The row of a JSON object.
    ///
    /// - Throws: `typeMismatch` for other JSON, and for bytes that are no JSON.
    static func row(_ slice: ArraySlice<UInt8>) throws -> ImportRow {
        guard case .dictionary(let row) = try value(slice) else { throw HornbeamError(.typeMismatch, "The row is no JSON object.") }
        return row
    }

    /// The value of JSON.
    ///
    /// - Throws: `typeMismatch` for bytes that are no JSON.
    static func value(_ slice: ArraySlice<UInt8>) throws -> PropertyValue {
        unsafe try slice.withUnsafeBufferPointer { bytes in
            var parser = unsafe JSONParser(bytes)
            let value = try parser.value()
            parser.skipSpace()
            guard parser.place == bytes.count else { throw parser.fault("has text after its value") }
            return value
        }
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>) { unsafe self.bytes = unsafe bytes }

    private var next: UInt8? { unsafe place < bytes.count ? bytes[place] : nil }

    private mutating func skipSpace() {
        while unsafe place < bytes.count, unsafe bytes[place].isSpace { place += 1 }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        skipSpace()
        guard next == byte else { return false }
        place += 1
        return true
    }

    private func fault(_ what: String) -> HornbeamError {
        HornbeamError(.typeMismatch, "The JSON of the row \(what), at byte \(place).")
    }

    // MARK: Values

    private mutating func value() throws -> PropertyValue {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try nested { try $0.object() }
        case UInt8(ascii: "["): return try nested { try $0.list() }
        case UInt8(ascii: "\""): return .string(try text())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw fault("ends early")
        default: return try number()
        }
    }

    private mutating func nested(_ body: (inout JSONParser) throws -> PropertyValue) throws -> PropertyValue {
        guard depth < Self.depthMax else { throw fault("is nested more than \(Self.depthMax) deep") }
        depth += 1
        defer { depth -= 1 }
        place += 1
        return try body(&self)
    }

    private mutating func object() throws -> PropertyValue {
        var row: ImportRow = [:]
        if skip(UInt8(ascii: "}")) { return .dictionary(row) }
        row.reserveCapacity(8)
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw fault("has no name where one must be") }
            let name = try text()
            guard skip(UInt8(ascii: ":")) else { throw fault("has a name without a value") }
            guard row.updateValue(try value(), forKey: name) == nil else { throw fault("has the name “\(name)” twice") }
        } while skip(UInt8(ascii: ","))
        guard skip(UInt8(ascii: "}")) else { throw fault("has an object without an end") }
        return .dictionary(row)
    }

    private mutating func list() throws -> PropertyValue {
        var list: [PropertyValue] = []
        if skip(UInt8(ascii: "]")) { return .array(list) }
        repeat { list.append(try value()) } while skip(UInt8(ascii: ","))
        guard skip(UInt8(ascii: "]")) else { throw fault("has a list without an end") }
        return .array(list)
    }

    private mutating func word(_ word: StaticString, _ value: PropertyValue) throws -> PropertyValue {
        let end = place + word.utf8CodeUnitCount
        guard unsafe end <= bytes.count, unsafe bytes[place..<end].elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        else { throw fault("has an unknown word") }
        place = end
        return value
    }

    private mutating func number() throws -> PropertyValue {
        let start = place
        if next == UInt8(ascii: "-") { place += 1 }
        let hasLeadingZero = next == UInt8(ascii: "0")
        let count = skipDigits()
        guard count == 1 || (count > 1 && !hasLeadingZero) else { throw fault("has no value where one must be") }
        let isWhole = try !skipFraction()
        let text = unsafe String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<place]), as: UTF8.self)
        if !isWhole {
            guard let number = Double(text), number.isFinite else { throw fault("has a number beyond the range of a double") }
            return Self.exactDecimal(text, number).map(PropertyValue.decimal) ?? .double(number)
        }
        if let number = Int64(text) { return .int(number) }
        guard count <= Self.digitsMax, let number = Decimal(string: text) else {
            throw fault("has a whole number of more than \(Self.digitsMax) digits")
        }
        return .decimal(number)
    }

    /// The decimal of a number that differs from the digits of its nearest double; nil for others, and for more digits than a decimal holds.
    private static func exactDecimal(_ text: String, _ nearest: Double) -> Decimal? {
        let digits = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }.filter { $0 &- UInt8(ascii: "0") < 10 }.drop { $0 == UInt8(ascii: "0") }
        guard digits.count > doubleDigits, digits.count <= digitsMax else { return nil }
        let plain = Locale(identifier: "en_US_POSIX")
        guard let exact = Decimal(string: text, locale: plain), exact.isFinite, exact != Decimal(string: "\(nearest)", locale: plain) else { return nil }
        return exact
    }

    /// Moves past digits. Returns their number.
    private mutating func skipDigits() -> Int {
        let start = place
        while let byte = next, byte &- UInt8(ascii: "0") < 10 { place += 1 }
        return place - start
    }

    /// Moves past the decimals and the exponent of a number. Returns false if there are none.
    private mutating func skipFraction() throws -> Bool {
        let start = place
        if next == UInt8(ascii: ".") {
            place += 1
            guard skipDigits() > 0 else { throw fault("has a number that ends early") }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            place += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { place += 1 }
            guard skipDigits() > 0 else { throw fault("has a number that ends early") }
        }
        return place > start
    }

    // MARK: Texts

    private mutating func text() throws -> String {
        place += 1
        let start = place
        var bits: UInt8 = 0
        while let byte = next, byte != UInt8(ascii: "\\") {
            if byte == UInt8(ascii: "\"") {
                defer { place += 1 }
                return unsafe try string(bytes[start..<place], isASCII: bits < 0x80)
            }
            guard byte >= 0x20 else { throw fault("has a control character in a text") }
            bits |= byte
            place += 1
        }
        return try escapedText(from: start)
    }

    private func string(_ part: Slice<UnsafeBufferPointer<UInt8>>, isASCII: Bool = false) throws -> String {
        // The validating initialiser is slower.
        if isASCII { return unsafe String(decoding: UnsafeBufferPointer(rebasing: part), as: UTF8.self) }
        guard let text = unsafe String(validating: part, as: UTF8.self) else { throw fault("has a text that is no UTF-8") }
        return text
    }

    private mutating func escapedText(from start: Int) throws -> String {
        var text = unsafe try string(bytes[start..<place])
        while let byte = next {
            if byte == UInt8(ascii: "\"") {
                place += 1
                return text
            }
            if byte == UInt8(ascii: "\\") {
                place += 1
                text.unicodeScalars.append(try escape())
                continue
            }
            let part = place
            while let byte = next, byte != UInt8(ascii: "\\"), byte != UInt8(ascii: "\"") {
                guard byte >= 0x20 else { throw fault("has a control character in a text") }
                place += 1
            }
            unsafe text += try string(bytes[part..<place])
        }
        throw fault("has a text without an end")
    }

    private mutating func escape() throws -> Unicode.Scalar {
        guard let byte = next else { throw fault("has a text without an end") }
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try scalar()
        default: throw fault("has an unknown escape")
        }
    }

    /// The character of one `\u`, or of two for one beyond 16 bits.
    private mutating func scalar() throws -> Unicode.Scalar {
        let high = try unit()
        if let scalar = Unicode.Scalar(high) { return scalar }
        guard UTF16.isLeadSurrogate(UInt16(high)), next == UInt8(ascii: "\\") else { throw fault("has half of a character") }
        place += 1
        guard next == UInt8(ascii: "u") else { throw fault("has half of a character") }
        place += 1
        let low = try unit()
        guard UTF16.isTrailSurrogate(UInt16(low)), let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)) else {
            throw fault("has half of a character")
        }
        return scalar
    }

    private mutating func unit() throws -> UInt32 {
        guard unsafe place + 4 <= bytes.count else { throw fault("has an unknown escape") }
        var unit: UInt32 = 0
        for unsafe byte in unsafe bytes[place..<(place + 4)] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw fault("has an unknown escape") }
            unit = unit << 4 | UInt32(digit)
        }
        place += 4
        return unit
    }
}
