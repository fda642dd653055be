/// Encoding that omits members with their default value, and decoding that refuses unknown members.
extension KeyedEncodingContainer {
    /// Writes a value unless it is the default.
    mutating func encode<T: Encodable & Equatable>(_ value: T, forKey key: Key, unless standard: T) throws {
        if value != standard { try encode(value, forKey: key) }
    }

    /// Writes a dictionary with sorted keys, unless it is empty.
    mutating func encodeSorted<T: Encodable>(_ values: [String: T], forKey key: Key) throws {
        guard !values.isEmpty else { return }
        var inner = nestedContainer(keyedBy: TextKey.self, forKey: key)
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            try inner.encode(value, forKey: TextKey(name))
        }
    }
}

extension KeyedDecodingContainer {
    /// Reads a value; returns the default when the member is missing.
    func decode<T: Decodable>(_ type: T.Type = T.self, forKey key: Key, default standard: T) throws -> T {
        try decodeIfPresent(T.self, forKey: key) ?? standard
    }
}

/// Any text as a key.
struct TextKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
}

/// The cause of a decoding error: an unknown member of an object.
struct UnknownMember: Error {
    let key: String
}

extension Decoder {
    /// A container with known keys.
    ///
    /// - Throws: `DecodingError` for a member with an unknown key, so that misspellings are reported.
    func strictContainer<Key: CodingKey & CaseIterable>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let known = Key.allCases.map(\.stringValue)
        for key in try container(keyedBy: TextKey.self).allKeys where !known.contains(key.stringValue) {
            throw DecodingError.dataCorrupted(.init(
                codingPath: codingPath,
                debugDescription: "“\(key.stringValue)” is not a member here"
                    + suggestion(for: key.stringValue, among: known) + ".",
                underlyingError: UnknownMember(key: key.stringValue)))
        }
        return try container(keyedBy: type)
    }
}
