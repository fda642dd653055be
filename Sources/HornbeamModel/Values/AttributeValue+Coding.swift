internal import Foundation

// The coded form of attribute values with their Swift types: an enum as its raw value, a date by the coder's strategy, a `Codable`
// value as itself. `PropertyValue` is coded with the name of its type instead.

extension AttributeValue {
    /// Encodes a value of an attribute of this type.
    package static func encode(_ value: PropertyValue, to encoder: any Encoder) throws {
        if let coded = self as? any CodedType.Type { return try coded.encodeCoded(value, to: encoder) }
        if !isCodedWithTypeName {
            var container = encoder.singleValueContainer()
            switch value {
            case .bool(let value): return try container.encode(value)
            case .int(let value): return try container.encode(value)
            case .double(let value): return try container.encode(value)
            case .decimal(let value): return try container.encode(value)
            case .string(let value): return try container.encode(value)
            case .date(let value): return try container.encode(value)
            case .data(let value): return try container.encode(value)
            case .uuid(let value): return try container.encode(value)
            case .uri(let value): return try container.encode(value)
            case .objectID(let value): return try container.encode(value)
            case .dictionary(let value): return try container.encode(value)
            case .null, .array, .set: break
            }
        }
        try value.encode(to: encoder)
    }

    /// The value written by `encode`.
    ///
    /// - Throws: `DecodingError` for a value of another type.
    package static func decode(from decoder: any Decoder) throws -> PropertyValue {
        if let coded = self as? any CodedType.Type { return try coded.decodeCoded(from: decoder) }
        let value = try decodeStored(from: decoder)
        guard Self(propertyValue: value) != nil else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "The value is not of type \(Self.self)."))
        }
        return value
    }

    private static func decodeStored(from decoder: any Decoder) throws -> PropertyValue {
        if isCodedWithTypeName { return try PropertyValue(from: decoder) }
        let container = try decoder.singleValueContainer()
        return switch attributeType {
        case .boolean: .bool(try container.decode(Bool.self))
        case .integer16, .integer32, .integer64: .int(try container.decode(Int64.self))
        case .double, .float: .double(try container.decode(Double.self))
        case .decimal: .decimal(try container.decode(Decimal.self))
        case .string: .string(try container.decode(String.self))
        case .date: .date(try container.decode(Date.self))
        case .binary: .data(try container.decode(Data.self))
        case .uuid: .uuid(try container.decode(UUID.self))
        case .uri: .uri(try container.decode(URL.self))
        case .objectID: .objectID(try container.decode(ManagedObjectID.self))
        case .composite: .dictionary(try container.decode([String: PropertyValue].self))
        case .undefined, .transformable: try PropertyValue(from: decoder)
        }
    }

    /// True for attribute types that allow values of any type. Such values are coded with the name of their type.
    private static var isCodedWithTypeName: Bool { attributeType == .undefined || attributeType == .transformable }
}
