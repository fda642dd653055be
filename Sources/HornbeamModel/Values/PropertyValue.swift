public import Foundation

/// A value of a property, an argument of a predicate, or the result of an expression.
///
/// Integers of every width are `int`. Values of `Float` attributes are `double` and are rounded to the precision
/// of a float when they are stored. Collections occur in predicates and as to-many values only.
///
/// `==` compares type and content, texts by their UTF-8 bytes, URIs by their absolute texts; NaN is
/// equal to NaN. `isEqual(to:)` compares as predicates do: `1` equals `1.0`.
public enum PropertyValue: Sendable {
    /// No value.
    case null
    /// True or false.
    case bool(Bool)
    /// An integer, for attributes of all widths.
    case int(Int64)
    /// A floating-point number, for attributes of both widths.
    case double(Double)
    /// A decimal number.
    case decimal(Decimal)
    /// A text.
    case string(String)
    /// A point in time.
    case date(Date)
    /// Bytes; also the JSON of a `Coded` value.
    case data(Data)
    /// A UUID.
    case uuid(UUID)
    /// A URI.
    case uri(URL)
    /// The ID of an object.
    case objectID(ManagedObjectID)
    /// An ordered list of values.
    case array([PropertyValue])
    /// A set of values.
    case set(Set<PropertyValue>)
    /// Values by name, such as the elements of a composite.
    case dictionary([String: PropertyValue])

    /// True for `.null`.
    @inlinable public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The type of the value in messages: `string`, `number`, `date` …
    public var kindName: String {
        switch self {
        case .null: "nil"
        case .bool: "boolean"
        case .int, .double, .decimal: "number"
        case .string: "string"
        case .date: "date"
        case .data: "binary data"
        case .uuid: "UUID"
        case .uri: "URI"
        case .objectID: "object ID"
        case .array: "list"
        case .set: "set"
        case .dictionary: "dictionary"
        }
    }
}

extension PropertyValue: Hashable {
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.double(let a), .double(let b)): a == b || (a.isNaN && b.isNaN)
        case (.decimal(let a), .decimal(let b)): a == b
        case (.string(let a), .string(let b)): compareUTF8(a, b) == .same
        case (.date(let a), .date(let b)): a == b
        case (.data(let a), .data(let b)): a == b
        case (.uuid(let a), .uuid(let b)): a == b
        case (.uri(let a), .uri(let b)): compareUTF8(a.absoluteString, b.absoluteString) == .same
        case (.objectID(let a), .objectID(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.set(let a), .set(let b)): a == b
        case (.dictionary(let a), .dictionary(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .int(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.isNaN ? Double.nan : value)
        case .decimal(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value)
        case .data(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .uri(let value): hasher.combine(value.absoluteString)
        case .objectID(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .set(let value): hasher.combine(value)
        case .dictionary(let value): hasher.combine(value)
        }
    }
}

extension PropertyValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: PropertyValue...) { self = .array(elements) }
}

extension PropertyValue: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, PropertyValue)...) {
        self = .dictionary(Dictionary(elements) { _, last in last })
    }
}
