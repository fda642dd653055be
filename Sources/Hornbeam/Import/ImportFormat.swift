public import Foundation
public import HornbeamModel

/// The conversion of a value of a row before it becomes the value of an attribute.
///
/// Formats of the app are closures: `ImportFormat { value in .string("\(value)") }`.
public struct ImportFormat: Sendable {
    /// Nil for `automatic`.
    let convert: (@Sendable (PropertyValue) throws -> PropertyValue)?

    /// A conversion of the app. Its errors refuse the row.
    public init(_ convert: @escaping @Sendable (PropertyValue) throws -> PropertyValue) { self.convert = convert }

    private init() { convert = nil }

    /// The values of JSON: dates are texts in ISO 8601, data is Base64, UUIDs and URIs are texts.
    public static let automatic = ImportFormat()

    /// The value for an attribute of a type.
    func converted(_ value: PropertyValue, _ type: AttributeType) throws -> PropertyValue {
        if let convert { try convert(value) } else { try value.fromJSON(to: type) }
    }

    /// Dates as a number of seconds since 1970.
    public static let secondsSince1970 = ImportFormat { value in
        guard let seconds = value.doubleValue else { throw refused("a number of seconds since 1970") }
        return .date(Date(timeIntervalSince1970: seconds))
    }

    /// Dates as a number of milliseconds since 1970.
    public static let millisecondsSince1970 = ImportFormat { value in
        guard let milliseconds = value.doubleValue else { throw refused("a number of milliseconds since 1970") }
        return .date(Date(timeIntervalSince1970: milliseconds / 1000))
    }

    /// Dates as texts with a pattern of `DateFormatter`, such as `dd.MM.yyyy`, in English and in a time zone.
    public static func date(_ pattern: String, timeZone: TimeZone = .gmt) -> ImportFormat {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = timeZone
        formatter.isLenient = false
        formatter.dateFormat = pattern
        return ImportFormat { value in
            guard case .string(let text) = value, let date = formatter.date(from: text) else { throw refused("a date like \(pattern)") }
            return .date(date)
        }
    }

    /// Numbers as texts with separators: `.number(decimal: ",", grouping: ".")` reads “1.234,5”. Numbers stay as they are.
    public static func number(decimal: Character = ".", grouping: Character? = nil) -> ImportFormat {
        ImportFormat { value in
            guard case .string(let text) = value else { return value }
            let plain = String(text.filter { $0 != grouping && !$0.isWhitespace }.map { $0 == decimal ? "." : $0 })
            let isNumber = plain.wholeMatch(of: /[+-]?\d+(\.\d+)?([eE][+-]?\d+)?/) != nil
            guard isNumber, let number = Decimal(string: plain, locale: Locale(identifier: "en_US_POSIX")) else { throw refused("a number") }
            return .decimal(number)
        }
    }

    private static func refused(_ wanted: String) -> HornbeamError {
        HornbeamError(.typeMismatch, "The value is not \(wanted).")
    }
}

extension PropertyValue {
    /// The value of an attribute for a value of JSON.
    func fromJSON(to type: AttributeType) throws -> PropertyValue {
        switch (type, self) {
        case (.date, .string(let text)):
            guard let date = Self.date(iso8601: text) else { throw notA("date in ISO 8601, such as 2026-01-31T12:00:00Z") }
            return .date(date)
        case (.uuid, .string(let text)):
            guard let uuid = UUID(uuidString: text) else { throw notA("UUID") }
            return .uuid(uuid)
        case (.uri, .string(let text)):
            guard let url = URL(string: text) else { throw notA("URI") }
            return .uri(url)
        case (.binary, .string(let text)):
            guard let data = Data(base64Encoded: text) else { throw notA("text in Base64") }
            return .data(data)
        // The decimal of more digits than a double has, as the nearest double.
        case (.double, .decimal(let number)), (.float, .decimal(let number)):
            return Double("\(number)").map(PropertyValue.double) ?? self
        // By its digits: 0.1 becomes the decimal 0.1.
        case (.decimal, .double(let number)):
            return Decimal(string: "\(number)", locale: Locale(identifier: "en_US_POSIX")).map(PropertyValue.decimal) ?? self
        case (.transformable, .array), (.transformable, .dictionary), (.transformable, .string), (.transformable, .int),
            (.transformable, .double), (.transformable, .decimal), (.transformable, .bool):
            return .data(try JSONSerialization.data(withJSONObject: jsonObject(), options: [.fragmentsAllowed, .sortedKeys]))
        default: return self
        }
    }

    /// A day, or a time with its zone. The parser of Foundation ignores text after a date, and takes the 30th of February and hour 99, so the text is
    /// checked first.
    private static func date(iso8601 text: String) -> Date? {
        let dayStyle = Date.ISO8601FormatStyle().year().month().day()
        let dayText = String(text.prefix(10))
        guard let day = try? Date(dayText, strategy: dayStyle), day.formatted(dayStyle) == dayText else { return nil }
        let time = text.dropFirst(10)
        if time.isEmpty { return day }
        guard isTimeWithZone(time) else { return nil }
        return try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// True for “T12:00:00Z”, “T12:00:00.5+01:00” and the like.
    private static func isTimeWithZone(_ text: Substring) -> Bool {
        guard text.first == "T", let zone = text.firstIndex(where: { "Z+-".contains($0) }) else { return false }
        let clock = text[..<zone].dropFirst().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = clock[0].split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, zip(parts, [24, 60, 61]).allSatisfy({ $0.count == 2 && isDigits($0) && Int($0) ?? $1 < $1 }) else { return false }
        if clock.count == 2, !isDigits(clock[1]) { return false }
        let offset = text[zone...].dropFirst()
        if text[zone] == "Z" { return offset.isEmpty }
        let digits = offset.count == 5 && offset.dropFirst(2).first == ":" ? offset.prefix(2) + offset.suffix(2) : offset
        return [2, 4].contains(digits.count) && isDigits(digits) && (digits.count == 2 || Int(digits.suffix(2)) ?? 60 < 60)
    }

    private static func isDigits(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
    }

    private func notA(_ wanted: String) -> HornbeamError { HornbeamError(.typeMismatch, "The value is not a \(wanted).") }

    /// The value in the JSON of a `Coded` value.
    ///
    /// - Throws: `typeMismatch` for values that such JSON cannot have.
    private func jsonObject() throws -> Any {
        switch self {
        case .null: NSNull()
        case .bool(let value): value
        case .int(let value): value
        case .double(let value): value.isFinite ? value : value.isNaN ? "nan" : value < 0 ? "-inf" : "inf"
        case .decimal(let value) where value.isFinite: NSDecimalNumber(decimal: value)
        case .string(let value): value
        case .date(let value): value.timeIntervalSinceReferenceDate
        case .data(let value): value.base64EncodedString()
        case .uuid(let value): value.uuidString
        case .uri(let value): value.absoluteString
        case .array(let values): try values.map { try $0.jsonObject() }
        case .dictionary(let values): try values.mapValues { try $0.jsonObject() }
        case .decimal, .set, .objectID: throw HornbeamError(.typeMismatch, "The value has a \(kindName), which JSON cannot have.")
        }
    }

    /// The value of a dictionary of Foundation: a text, a number, a date, data, a UUID, a URL, `NSNull`, or a list or dictionary of these.
    ///
    /// - Throws: `typeMismatch` for other types.
    public init(foundation value: Any) throws {
        switch value {
        case let value as PropertyValue: self = value
        case is NSNull: self = .null
        // First, because a number 0 or 1 of Foundation can be cast to Bool.
        case let number as NSNumber where type(of: value) is NSNumber.Type: self = PropertyValue(number: number)
        case let value as String: self = .string(value)
        case let value as Bool: self = .bool(value)
        case let value as any BinaryInteger: self = Int64(exactly: value).map(PropertyValue.int) ?? .decimal(Decimal(string: "\(value)") ?? .nan)
        case let value as any BinaryFloatingPoint: self = .double(Double(value))
        case let value as Decimal: self = .decimal(value)
        case let value as Date: self = .date(value)
        case let value as Data: self = .data(value)
        case let value as UUID: self = .uuid(value)
        case let value as URL: self = .uri(value)
        case let value as [Any]: self = .array(try value.map { try PropertyValue(foundation: $0) })
        case let value as [String: Any]: self = .dictionary(try value.mapValues { try PropertyValue(foundation: $0) })
        default:
            throw HornbeamError(.typeMismatch, "A value of type \(type(of: value)) cannot be imported. Convert it first.")
        }
    }

    /// The value of a number of Foundation, which has one object for true and one for false.
    private init(number: NSNumber) {
        if number === NSNumber(value: true) || number === NSNumber(value: false) {
            self = .bool(number.boolValue)
        } else if let decimal = number as? NSDecimalNumber {
            self = .decimal(decimal.decimalValue)
        } else if let whole = Int64(exactly: number) {
            self = .int(whole)
        } else if let whole = UInt64(exactly: number) {
            self = .decimal(Decimal(whole))
        } else {
            self = .double(number.doubleValue)
        }
    }
}
