public import Foundation

/// Lossless conversions to Swift types: `1.0` is an integer, `1.5` and `"1"` are not.
extension PropertyValue {
    /// The integer, or the integral value of another numeric type if it is in range.
    public var intValue: Int64? {
        switch self {
        case .int(let value): return value
        case .bool(let value): return value ? 1 : 0
        case .double(let value): return Int64(exactly: value)
        case .decimal(let value): return value.wholeNumber
        default: return nil
        }
    }

    /// The number as the nearest double.
    public var doubleValue: Double? {
        switch self {
        case .double(let value): return value
        case .int(let value): return Double(value)
        case .bool(let value): return value ? 1 : 0
        case .decimal(let value): return value.nearestDouble
        default: return nil
        }
    }

    /// The number as a decimal; for a double, the shortest one that converts back to the same double.
    public var decimalValue: Decimal? {
        switch self {
        case .decimal(let value): return value
        case .int(let value): return Decimal(value)
        case .bool(let value): return value ? 1 : 0
        case .double(let value): return Decimal(shortest: value)
        default: return nil
        }
    }

    /// The boolean; for a number, true if it is not zero.
    public var boolValue: Bool? {
        switch self {
        case .bool(let value): return value
        case .int(let value): return value != 0
        case .double(let value): return value != 0
        case .decimal(let value): return value != 0
        default: return nil
        }
    }

    /// The text; nil for a value of another kind.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The date; nil for a value of another kind.
    public var dateValue: Date? {
        if case .date(let value) = self { value } else { nil }
    }

    /// The bytes; nil for a value of another kind.
    public var dataValue: Data? {
        if case .data(let value) = self { value } else { nil }
    }

    /// The UUID; nil for a value of another kind.
    public var uuidValue: UUID? {
        if case .uuid(let value) = self { value } else { nil }
    }

    /// The URI; nil for a value of another kind.
    public var uriValue: URL? {
        if case .uri(let value) = self { value } else { nil }
    }

    /// The object ID; nil for a value of another kind.
    public var objectIDValue: ManagedObjectID? {
        if case .objectID(let value) = self { value } else { nil }
    }
}

extension URL {
    /// The URL of a stored text. The empty text is the URL of components without parts, which `URL(string:)` refuses.
    package init?(stored text: String) {
        guard let url = text.isEmpty ? URLComponents().url : URL(string: text) else { return nil }
        self = url
    }
}

extension Decimal {
    /// The decimal with the fewest digits that converts to a double; nil for infinities.
    package init?(shortest value: Double) {
        if value.isNaN {
            self = .nan
            return
        }
        guard value.isFinite, let decimal = Decimal(string: "\(value)", locale: nil) else { return nil }
        self = decimal
    }

    /// The number, if it is integral and fits 64 bits.
    var wholeNumber: Int64? {
        guard !isNaN else { return nil }
        let number = Int64(truncating: self as NSDecimalNumber)
        if Decimal(number) == self { return number }
        // The bridged conversion passes through a double, which rounds numbers above 2⁵³.
        return Int64(description)
    }
}
