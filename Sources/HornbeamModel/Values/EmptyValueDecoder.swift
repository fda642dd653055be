/// Makes the empty value of a `Decodable` type: numbers are zero, texts, lists and dictionaries empty, optional values nil.
///
/// A getter must return a value for an attribute without a value, or with one that its type cannot decode. This decoder
/// supplies zeros and empty values to the type's own `init(from:)`.
struct EmptyValueDecoder: Decoder {
    /// Limits the recursion: a type that contains itself has no empty value.
    private static let depthMax = 32
    /// Limits the elements that a type decodes from an empty list. Vectors decode a fixed number of elements without checking for the end.
    fileprivate static let elementsMax = 64

    fileprivate let depth: Int
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// - Throws: `DecodingError` when the type's `init(from:)` refuses zeros and empty values.
    static func value<Value: Decodable>(of type: Value.Type) throws -> Value { try EmptyValueDecoder(depth: 0).value(of: type) }

    fileprivate func value<Value: Decodable>(of type: Value.Type) throws -> Value {
        if let known = type as? any AttributeValue.Type, let value = known.unsetValue as? Value { return value }
        if let cases = type as? any CaseIterable.Type { return try first(of: cases) }
        guard depth < Self.depthMax else { throw Self.noEmptyValue(type) }
        return try Value(from: EmptyValueDecoder(depth: depth + 1))
    }

    private func first<Cases: CaseIterable, Value>(of type: Cases.Type) throws -> Value {
        guard let first = type.allCases.first as? Value else { throw Self.noEmptyValue(type) }
        return first
    }

    fileprivate static func noEmptyValue(_ type: Any.Type) -> DecodingError {
        .valueNotFound(type, DecodingError.Context(codingPath: [], debugDescription: "\(type) has no empty value."))
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(EmptyObject(decoder: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { EmptyList(decoder: self) }
    func singleValueContainer() -> any SingleValueDecodingContainer { EmptySingleValue(decoder: self) }
}

/// An object in which each optional key is missing and each other key has an empty value.
private struct EmptyObject<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: EmptyValueDecoder
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_ key: Key) -> Bool { true }
    func decodeNil(forKey key: Key) -> Bool { true }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try decoder.value(of: type) }
    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedDecodingContainer<Nested> {
        decoder.container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { decoder.unkeyedContainer() }
    func superDecoder() -> any Decoder { decoder }
    func superDecoder(forKey key: Key) -> any Decoder { decoder }
}

/// A list without elements. It still returns empty values to a type that does not check for its end.
private struct EmptyList: UnkeyedDecodingContainer {
    let decoder: EmptyValueDecoder
    var codingPath: [any CodingKey] { [] }
    var count: Int? { 0 }
    var isAtEnd: Bool { true }
    private(set) var currentIndex = 0

    init(decoder: EmptyValueDecoder) { self.decoder = decoder }

    mutating func decodeNil() -> Bool { true }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard currentIndex < EmptyValueDecoder.elementsMax else { throw EmptyValueDecoder.noEmptyValue(type) }
        currentIndex += 1
        return try decoder.value(of: type)
    }
    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
        decoder.container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { decoder.unkeyedContainer() }
    mutating func superDecoder() -> any Decoder { decoder }
}

private struct EmptySingleValue: SingleValueDecodingContainer {
    let decoder: EmptyValueDecoder
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { true }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.value(of: type) }
}
