import Foundation

extension PropertyValue {
    /// The value converted to another attribute type; nil when that type has no equivalent value.
    ///
    /// Texts are parsed as numbers, dates (ISO 8601), booleans, UUIDs and URIs, without white space around them; values of these types are
    /// formatted as texts. A number must be in the range of the type, and integral for an integer type. A date as a number is the seconds
    /// since 2001, and binary data as a text is Base64. Null stays null.
    public func converted(to type: AttributeType) -> PropertyValue? {
        if isNull { return .null }
        if case .double(let number) = self, !number.isFinite, type != .double, type != .float { return nil }
        if let value = try? coerced(to: type) { return value }
        switch (type, self) {
        case (_, .string(let text)): return Self.read(text.trimmingCharacters(in: .whitespacesAndNewlines), as: type)
        case (.string, .bool(let flag)): return .string(flag ? "true" : "false")
        case (.string, .date(let date)): return .string(date.formatted(Self.dateStyle))
        case (.string, .data(let data)): return .string(data.base64EncodedString())
        case (.string, _): return FetchExpression.CastType.string.cast(self)
        case (.date, _): return FetchExpression.CastType.date.cast(self)
        case (_, .date(let date)): return PropertyValue.double(date.timeIntervalSinceReferenceDate).converted(to: type)
        case (.decimal, _): return FetchExpression.CastType.decimal.cast(self)
        case (_, .bool(let flag)) where type != .boolean: return PropertyValue.int(flag ? 1 : 0).converted(to: type)
        case (.integer16, .decimal(let number)), (.integer32, .decimal(let number)), (.integer64, .decimal(let number)):
            return Int64("\(number)").flatMap { try? PropertyValue.int($0).coerced(to: type) }
        default: return nil
        }
    }

    private static let dateStyle = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func read(_ text: String, as type: AttributeType) -> PropertyValue? {
        switch type {
        case .integer16, .integer32, .integer64: return Int64(text).flatMap { try? PropertyValue.int($0).coerced(to: type) }
        case .double, .float:
            guard let number = Double(text), number.isFinite else { return nil }
            return try? PropertyValue.double(number).coerced(to: type)
        case .boolean:
            switch text.lowercased() {
            case "true", "yes", "1": return .bool(true)
            case "false", "no", "0": return .bool(false)
            default: return nil
            }
        case .date:
            let date = (try? Date(text, strategy: dateStyle)) ?? (try? Date(text, strategy: Date.ISO8601FormatStyle()))
            return date.map(PropertyValue.date)
        case .decimal: return Decimal(predicateText: text).flatMap { $0.isNaN ? nil : .decimal($0) }
        case .binary: return FetchExpression.CastType.data.cast(.string(text))
        case .uuid: return FetchExpression.CastType.uuid.cast(.string(text))
        case .uri: return FetchExpression.CastType.url.cast(.string(text))
        default: return nil
        }
    }
}
