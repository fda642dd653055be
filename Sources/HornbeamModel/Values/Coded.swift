internal import Foundation

/// A `Codable` value kept in a transformable attribute, as JSON (ATT-12).
///
/// ```swift
/// static let tags = Attribute<Coded<[String]>>("tags")
/// book[Book.tags] = Coded(["crime", "Paris"])
/// ```
/// The value is a copy: changing it changes nothing until it is set again. `Value.encode` must not
/// throw; decoding foreign bytes gives nil. Numbers that JSON does not know (infinity, NaN) are kept.
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
            misuse("A value of type \(Value.self) cannot be kept in an attribute: \(error)")
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

    /// The empty list, object, text or number, whichever `Value` can be.
    public static var unsetValue: Self {
        for empty in ["[]", "{}", "\"\"", "0", "false"] {
            if let value = Self(json: Data(empty.utf8)) { return value }
        }
        misuse(
            "\(Value.self) has no empty value: declare the attribute as Attribute<Coded<\(Value.self)>?>.")
    }
}

extension Coded: Equatable where Value: Equatable {}
extension Coded: Hashable where Value: Hashable {}
