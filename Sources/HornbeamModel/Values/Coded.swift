internal import Foundation

/// A `Codable` value that is stored in a transformable attribute, as JSON (ATT-12).
///
/// ```swift
/// static let tags = Attribute<Coded<[String]>>("tags")
/// book[Book.tags] = Coded(["crime", "Paris"])
/// ```
/// The value is a copy: set it again to change it. `Value.encode` must not
/// throw. Bytes that cannot be decoded give nil: a getter then returns the default or the empty value, and the context
/// reports the object as unreadable. Infinity and NaN, which JSON does not have, are stored as text.
public struct Coded<Value: Codable & Sendable>: AttributeValue {
    /// The value itself.
    public var value: Value

    /// Wraps a value to be stored as JSON.
    public init(_ value: Value) { self.value = value }

    public static var attributeType: AttributeType { .transformable }

    public var propertyValue: PropertyValue {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        do {
            return .data(try encoder.encode(value))
        } catch {
            misuse("A value of type \(Value.self) cannot be stored in an attribute: \(error)")
        }
    }

    public init?(propertyValue: PropertyValue) {
        guard case .data(let bytes) = propertyValue else { return nil }
        self.init(json: bytes)
    }

    private init?(json: Data) {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        guard let value = try? decoder.decode(Value.self, from: json) else { return nil }
        self.value = value
    }

    /// The empty value: zeros, empty texts and lists, nil, the first case of an enum with `CaseIterable`.
    ///
    /// Some types have no empty value. A container does not open if a required attribute of such a type has no default.
    public static var unsetValue: Self {
        do { return Self(try EmptyValueDecoder.value(of: Value.self)) } catch {
            misuse(
                "\(Value.self) has no empty value: give the attribute a default, or declare it as Attribute<Coded<\(Value.self)>?>.")
        }
    }
}

/// Access to a `Coded` type whose `Value` is not known at compile time: for checks at opening, and for coding.
package protocol CodedType {
    static var hasUnsetValue: Bool { get }
    /// Encodes the decoded form of a stored JSON value.
    static func encodeCoded(_ value: PropertyValue, to encoder: any Encoder) throws
    /// Decodes a value into its stored form.
    static func decodeCoded(from decoder: any Decoder) throws -> PropertyValue
}

extension Coded: CodedType {
    package static var hasUnsetValue: Bool { (try? EmptyValueDecoder.value(of: Value.self)) != nil }

    package static func encodeCoded(_ value: PropertyValue, to encoder: any Encoder) throws {
        guard let coded = Self(propertyValue: value) else { return try value.encode(to: encoder) }
        try coded.value.encode(to: encoder)
    }

    package static func decodeCoded(from decoder: any Decoder) throws -> PropertyValue {
        Self(try Value(from: decoder)).propertyValue
    }
}

extension Optional: CodedType where Wrapped: CodedType {
    package static var hasUnsetValue: Bool { true }

    package static func encodeCoded(_ value: PropertyValue, to encoder: any Encoder) throws {
        try Wrapped.encodeCoded(value, to: encoder)
    }

    package static func decodeCoded(from decoder: any Decoder) throws -> PropertyValue { try Wrapped.decodeCoded(from: decoder) }
}

extension Coded: Equatable where Value: Equatable {}
extension Coded: Hashable where Value: Hashable {}
