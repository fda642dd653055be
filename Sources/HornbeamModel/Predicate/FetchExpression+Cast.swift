import Foundation

extension FetchExpression.CastType {
    /// Finds a type by its Foundation name, with or without the prefix: `Date`, `UUID`.
    package init?(named name: String) {
        for type in Self.allCases where type.rawValue == name || type.rawValue.dropFirst(2) == name {
            self = type
            return
        }
        return nil
    }

    /// The cast of a constant, computed at parse time; nil when the constant cannot be converted.
    package func folded(_ value: PropertyValue) -> PropertyValue? {
        cast(value).map(FetchExpression.normalized)
    }

    /// The value converted to this type; nil when it cannot be converted. Null converts to null.
    package func cast(_ value: PropertyValue) -> PropertyValue? {
        if value == .null { return .null }
        switch self {
        case .date: return date(value).map(PropertyValue.date)
        case .number: return number(value)
        case .decimal: return decimal(value).map(PropertyValue.decimal)
        case .string: return string(value).map(PropertyValue.string)
        case .data: return data(value).map(PropertyValue.data)
        case .uuid: return uuid(value).map(PropertyValue.uuid)
        case .url: return url(value).map(PropertyValue.uri)
        case .set: return elements(value).map { .set(Set($0)) }
        case .array: return elements(value).map(PropertyValue.array)
        case .dictionary: return dictionary(value)
        case .objectID: return objectID(value).map(PropertyValue.objectID)
        }
    }

    private func date(_ value: PropertyValue) -> Date? {
        switch value {
        case .date(let date): date
        case .int(let seconds): Date(timeIntervalSinceReferenceDate: Double(seconds))
        case .double(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .decimal(let seconds): Date(timeIntervalSinceReferenceDate: seconds.nearestDouble)
        default: nil
        }
    }

    private func number(_ value: PropertyValue) -> PropertyValue? {
        switch value {
        case .int, .double, .decimal: value
        case .bool(let flag): .int(flag ? 1 : 0)
        case .date(let date): .double(date.timeIntervalSinceReferenceDate)
        case .string(let text): Int64(text).map(PropertyValue.int) ?? Double(text).map(PropertyValue.double)
        default: nil
        }
    }

    private func decimal(_ value: PropertyValue) -> Decimal? {
        switch value {
        case .decimal(let number): number
        case .int(let number): Decimal(number)
        case .double(let number): number.isFinite ? Decimal(shortest: number) : nil
        case .string(let text): Decimal(predicateText: text)
        default: nil
        }
    }

    private func string(_ value: PropertyValue) -> String? {
        switch value {
        case .string(let text): text
        case .bool(let flag): flag ? "1" : "0"
        case .int(let number): String(number)
        case .double(let number): number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : "\(number)"
        case .decimal(let number): "\(number)"
        case .uuid(let uuid): uuid.uuidString
        case .uri(let url): url.absoluteString
        default: nil
        }
    }

    private func data(_ value: PropertyValue) -> Data? {
        switch value {
        case .data(let data): data
        case .string(let text): Data(base64Encoded: text)
        default: nil
        }
    }

    private func uuid(_ value: PropertyValue) -> UUID? {
        switch value {
        case .uuid(let uuid): uuid
        case .string(let text): UUID(uuidString: text)
        default: nil
        }
    }

    private func url(_ value: PropertyValue) -> URL? {
        switch value {
        case .uri(let url): url
        case .string(let text): URL(stored: text)
        default: nil
        }
    }

    private func objectID(_ value: PropertyValue) -> ManagedObjectID? {
        switch value {
        case .objectID(let id): id
        case .string(let text): URL(string: text).flatMap(ManagedObjectID.init(uriRepresentation:))
        case .uri(let url): ManagedObjectID(uriRepresentation: url)
        default: nil
        }
    }

    private func elements(_ value: PropertyValue) -> [PropertyValue]? {
        switch value {
        case .array(let values): values
        case .set(let values): Array(values)
        default: nil
        }
    }

    /// Makes a dictionary from a list of alternating keys and values.
    private func dictionary(_ value: PropertyValue) -> PropertyValue? {
        if case .dictionary = value { return value }
        guard case .array(let values) = value, values.count.isMultiple(of: 2) else { return nil }
        var pairs: [String: PropertyValue] = [:]
        for place in stride(from: 0, to: values.count, by: 2) {
            guard case .string(let key) = values[place] else { return nil }
            pairs[key] = values[place + 1]
        }
        return .dictionary(pairs)
    }
}

extension Decimal {
    /// Parses a complete decimal number; unlike `Decimal(string:)` it refuses trailing text.
    package init?(predicateText text: String) {
        guard text == "NaN" || Self.isNumber(text.utf8), let value = Decimal(string: text, locale: nil) else { return nil }
        self = value
    }

    /// True for an optional sign, digits with an optional point, and an optional exponent, with at least one digit.
    private static func isNumber(_ text: String.UTF8View) -> Bool {
        var rest = text[...]
        func takeSign() { if let first = rest.first, "+-".utf8.contains(first) { rest.removeFirst() } }
        func takeDigits() -> Int {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
            rest.removeFirst(digits)
            return digits
        }
        takeSign()
        var digits = takeDigits()
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            digits += takeDigits()
        }
        guard digits > 0 else { return false }
        guard let letter = rest.first else { return true }
        guard "eE".utf8.contains(letter) else { return false }
        rest.removeFirst()
        takeSign()
        return takeDigits() > 0 && rest.isEmpty
    }
}
