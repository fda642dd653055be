/// An encoder that makes an `OrderedJSON` tree, with members in the order in which they are encoded.
struct JSONTreeEncoder: Encoder {
    let slot: JSONSlot
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        slot.beginObject()
        return KeyedEncodingContainer(Keyed<Key>(slot: slot, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        slot.beginArray()
        return List(slot: slot, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(slot: slot, codingPath: codingPath) }

    /// Encodes one value into a slot. Booleans, texts and numbers are stored without another encoder.
    static func encode(_ value: some Encodable, into slot: JSONSlot, path: [any CodingKey]) throws {
        switch value {
        case let value as Bool: slot.set(.bool(value))
        case let value as String: slot.set(.string(value))
        case let value as Double: slot.set(.double(value))
        case let value as Float: slot.set(.double(Double(value)))
        case let value as any BinaryInteger:
            guard let number = Int64(exactly: value) else {
                throw EncodingError.invalidValue(
                    value, .init(codingPath: path, debugDescription: "The integer does not fit 64 bits."))
            }
            slot.set(.int(number))
        default: try value.encode(to: JSONTreeEncoder(slot: slot, codingPath: path))
        }
    }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let slot: JSONSlot
        let codingPath: [any CodingKey]

        mutating func encodeNil(forKey key: Key) throws { slot.member(key.stringValue).set(.null) }
        mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
            try JSONTreeEncoder.encode(value, into: slot.member(key.stringValue), path: codingPath + [key])
        }
        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            JSONTreeEncoder(slot: slot.member(key.stringValue), codingPath: codingPath + [key]).container(keyedBy: type)
        }
        mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            JSONTreeEncoder(slot: slot.member(key.stringValue), codingPath: codingPath + [key]).unkeyedContainer()
        }
        mutating func superEncoder() -> any Encoder {
            JSONTreeEncoder(slot: slot.member("super"), codingPath: codingPath)
        }
        mutating func superEncoder(forKey key: Key) -> any Encoder {
            JSONTreeEncoder(slot: slot.member(key.stringValue), codingPath: codingPath + [key])
        }
    }

    private struct List: UnkeyedEncodingContainer {
        let slot: JSONSlot
        let codingPath: [any CodingKey]
        var count: Int { slot.count }

        mutating func encodeNil() throws { slot.append().set(.null) }
        mutating func encode<T: Encodable>(_ value: T) throws {
            try JSONTreeEncoder.encode(value, into: slot.append(), path: codingPath)
        }
        mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
            JSONTreeEncoder(slot: slot.append(), codingPath: codingPath).container(keyedBy: type)
        }
        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            JSONTreeEncoder(slot: slot.append(), codingPath: codingPath).unkeyedContainer()
        }
        mutating func superEncoder() -> any Encoder { JSONTreeEncoder(slot: slot.append(), codingPath: codingPath) }
    }

    private struct Single: SingleValueEncodingContainer {
        let slot: JSONSlot
        let codingPath: [any CodingKey]

        mutating func encodeNil() throws { slot.set(.null) }
        mutating func encode<T: Encodable>(_ value: T) throws {
            try JSONTreeEncoder.encode(value, into: slot, path: codingPath)
        }
    }
}
