/// The type of an attribute's values. Raw values are Core Data's (ATT-1).
public enum AttributeType: Int, Hashable, Sendable, CaseIterable {
    /// No declared type; allowed for transient attributes only.
    case undefined = 0
    /// A 16-bit integer.
    case integer16 = 100
    /// A 32-bit integer.
    case integer32 = 200
    /// A 64-bit integer.
    case integer64 = 300
    /// An exact decimal number of up to 38 digits (ATT-20).
    case decimal = 400
    /// A 64-bit floating-point number.
    case double = 500
    /// A 32-bit floating-point number.
    case float = 600
    /// A text.
    case string = 700
    /// True or false.
    case boolean = 800
    /// An instant, in seconds and fractions.
    case date = 900
    /// Bytes.
    case binary = 1000
    /// A UUID.
    case uuid = 1100
    /// A URI.
    case uri = 1200
    /// A value that a transformer converts into bytes (ATT-12).
    case transformable = 1800
    /// The ID of an object, also of another store.
    case objectID = 2000
    /// A named group of attributes (ATT-13).
    case composite = 2100

    /// True for the types whose values are numbers: integers, decimal, double, float and boolean.
    public var isNumeric: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean: true
        default: false
        }
    }

    /// The smallest and the largest value of an integer type; nil for other types.
    public var integerRange: ClosedRange<Int64>? {
        switch self {
        case .integer16: Int64(Int16.min)...Int64(Int16.max)
        case .integer32: Int64(Int32.min)...Int64(Int32.max)
        case .integer64: Int64.min...Int64.max
        default: nil
        }
    }
}

/// Encoded as a word (`"integer16"`), so that model files are readable.
extension AttributeType: Codable, CustomStringConvertible {
    public var description: String {
        switch self {
        case .undefined: "undefined"
        case .integer16: "integer16"
        case .integer32: "integer32"
        case .integer64: "integer64"
        case .decimal: "decimal"
        case .double: "double"
        case .float: "float"
        case .string: "string"
        case .boolean: "boolean"
        case .date: "date"
        case .binary: "binary"
        case .uuid: "uuid"
        case .uri: "uri"
        case .transformable: "transformable"
        case .objectID: "objectID"
        case .composite: "composite"
        }
    }

    /// The type with this name; nil for an unknown name.
    public init?(name: String) {
        guard let type = Self.allCases.first(where: { $0.description == name }) else { return nil }
        self = type
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let name = try container.decode(String.self)
        guard let type = Self(name: name) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "“\(name)” is not an attribute type"
                    + suggestion(for: name, among: Self.allCases.map(\.description)) + ".")
        }
        self = type
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
