internal import Foundation

/// Encoded as plain JSON if JSON has the type (nil, booleans, integers, texts, lists), else as an
/// object with one member that names the type: `{"double": 1.5}`, `{"data": "<base64>"}`, `{"dictionary": {…}}`.
/// A date is `{"date": 757382400}` in seconds since 1970, or `{"instant": 0.1}` in seconds since 2001 if only these are exact.
extension PropertyValue: Codable {
    private enum Kind: String, CodingKey {
        case double, decimal, date, instant, data, uuid, uri, objectID, set, dictionary
    }

    public func encode(to encoder: any Encoder) throws {
        if try encodePlain(to: encoder) { return }
        var container = encoder.container(keyedBy: Kind.self)
        switch self {
        case .null, .bool, .int, .string, .array: break
        case .double(let value):
            if value.isFinite {
                try container.encode(value, forKey: .double)
            } else {
                try container.encode("\(value)", forKey: .double)
            }
        case .decimal(let value): try container.encode(value.description, forKey: .decimal)
        case .date(let value):
            if Date(timeIntervalSince1970: value.timeIntervalSince1970) == value {
                try container.encode(value.timeIntervalSince1970, forKey: .date)
            } else {
                try container.encode(value.timeIntervalSinceReferenceDate, forKey: .instant)
            }
        case .data(let value): try container.encode(value.base64EncodedString(), forKey: .data)
        case .uuid(let value): try container.encode(value.uuidString, forKey: .uuid)
        case .uri(let value): try container.encode(value.absoluteString, forKey: .uri)
        case .objectID(let value): try container.encode(value, forKey: .objectID)
        case .set(let values):
            try container.encode(values.sorted { $0.sortOrder(to: $1) == .less }, forKey: .set)
        case .dictionary(let values): try container.encode(values, forKey: .dictionary)
        }
    }

    private func encodePlain(to encoder: any Encoder) throws -> Bool {
        switch self {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .int(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .string(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .array(let values):
            var container = encoder.singleValueContainer()
            try container.encode(values)
        default: return false
        }
        return true
    }

    public init(from decoder: any Decoder) throws {
        if let plain = Self.decodePlain(from: decoder) {
            self = plain
            return
        }
        let container = try decoder.container(keyedBy: Kind.self)
        guard let kind = container.allKeys.first, container.allKeys.count == 1 else {
            throw DecodingError.dataCorrupted(.init(
                codingPath: decoder.codingPath,
                debugDescription: "A value is null, a boolean, a whole number, a string, a list, or an object "
                    + "with one member that names its kind, such as {\"double\": 1.5}."))
        }
        guard let value = try Self.decode(kind, from: container) else {
            throw DecodingError.dataCorruptedError(
                forKey: kind, in: container, debugDescription: "The \(kind.rawValue) cannot be read.")
        }
        self = value
    }

    private static func decodePlain(from decoder: any Decoder) -> PropertyValue? {
        if let container = try? decoder.singleValueContainer() {
            if container.decodeNil() { return .null }
            if let value = try? container.decode(Bool.self) { return .bool(value) }
            if let value = try? container.decode(Int64.self) { return .int(value) }
            if let value = try? container.decode(Double.self) { return .double(value) }
            if let value = try? container.decode(String.self) { return .string(value) }
        }
        if let values = try? [PropertyValue](from: decoder) { return .array(values) }
        return nil
    }

    private static func decode(
        _ kind: Kind, from container: KeyedDecodingContainer<Kind>
    ) throws -> PropertyValue? {
        switch kind {
        case .double:
            if let value = try? container.decode(Double.self, forKey: kind) { return .double(value) }
            return Double(try container.decode(String.self, forKey: kind)).map { .double($0) }
        case .decimal:
            return Decimal(predicateText: try container.decode(String.self, forKey: kind)).map { .decimal($0) }
        case .date: return .date(Date(timeIntervalSince1970: try container.decode(Double.self, forKey: kind)))
        case .instant: return .date(Date(timeIntervalSinceReferenceDate: try container.decode(Double.self, forKey: kind)))
        case .data:
            return Data(base64Encoded: try container.decode(String.self, forKey: kind)).map { .data($0) }
        case .uuid: return UUID(uuidString: try container.decode(String.self, forKey: kind)).map { .uuid($0) }
        case .uri: return URL(stored: try container.decode(String.self, forKey: kind)).map { .uri($0) }
        case .objectID: return .objectID(try container.decode(ManagedObjectID.self, forKey: kind))
        case .set: return .set(Set(try container.decode([PropertyValue].self, forKey: kind)))
        case .dictionary:
            return .dictionary(try container.decode([String: PropertyValue].self, forKey: kind))
        }
    }
}
