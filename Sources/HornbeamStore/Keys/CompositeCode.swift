internal import Foundation
internal import HornbeamModel

/// The cell of a composite attribute (ATT-13): its elements by name, each with its type and content.
///
/// ```
/// count  2 bytes
/// then for each element that has a value, in the byte order of the names:
///   name     2 bytes of length, UTF-8
///   kind     1 byte
///   content  4 bytes of length, bytes
/// ```
/// Numbers are little-endian. Equal composites have equal cells, so equality can be tested on the bytes. Each element contains its name,
/// so adding an element to the model, or removing one, rewrites no row.
enum CompositeCode {
    private enum Kind: UInt8 {
        case int = 1, double, bool, date, decimal, string, data, uuid, uri, composite
    }

    /// Limits the recursion in damaged cells. A composite of a model contains at most a hundred others.
    private static let depthMax = 128

    /// The cell of a dictionary whose values are already converted to the elements' types.
    static func encode(_ parts: [String: PropertyValue]) -> [UInt8] {
        var bytes: [UInt8] = []
        let present = parts.filter { !$0.value.isNull }.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
        append(UInt16(present.count), to: &bytes)
        for (name, value) in present {
            append(UInt16(name.utf8.count), to: &bytes)
            bytes += name.utf8
            let (kind, content) = encode(value)
            bytes.append(kind.rawValue)
            append(UInt32(content.count), to: &bytes)
            bytes += content
        }
        return bytes
    }

    private static func encode(_ value: PropertyValue) -> (Kind, [UInt8]) {
        switch value {
        case .int(let number): (.int, raw(number))
        case .double(let number): (.double, raw(number.bitPattern))
        case .bool(let flag): (.bool, [flag ? 1 : 0])
        case .date(let date): (.date, raw(date.timeIntervalSinceReferenceDate.bitPattern))
        case .decimal(let number): (.decimal, decimal(number))
        case .string(let text): (.string, Array(text.utf8))
        case .data(let data): (.data, [UInt8](data))
        case .uuid(let uuid): unsafe (.uuid, withUnsafeBytes(of: uuid.uuid) { unsafe [UInt8]($0) })
        case .uri(let url): (.uri, Array(url.absoluteString.utf8))
        case .dictionary(let parts): (.composite, encode(parts))
        case .null, .objectID, .array, .set:
            preconditionFailure("A \(value.kindName) is not an element of a composite. Convert it first.")
        }
    }

    private static func decimal(_ number: Decimal) -> [UInt8] {
        var bytes: [UInt8] = []
        DecimalCode.append(number, to: &bytes)
        return bytes
    }

    private static func raw<T: FixedWidthInteger>(_ number: T) -> [UInt8] {
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe [UInt8]($0) }
    }

    private static func append<T: FixedWidthInteger>(_ number: T, to bytes: inout [UInt8]) { bytes += raw(number) }

    /// The elements of a cell; nil when its bytes are invalid.
    static func decode(_ cell: [UInt8]) -> [String: PropertyValue]? { decode(cell[...], depth: 0) }

    private static func decode(_ cell: ArraySlice<UInt8>, depth: Int) -> [String: PropertyValue]? {
        var reader = Reader(rest: cell)
        guard depth < depthMax, let count = reader.number(UInt16.self) else { return nil }
        var parts: [String: PropertyValue] = [:]
        for _ in 0 ..< count {
            guard let length = reader.number(UInt16.self), let name = reader.bytes(Int(length)),
                let kind = reader.number(UInt8.self).flatMap(Kind.init), let size = reader.number(UInt32.self),
                let content = reader.bytes(Int(size)), let value = value(kind, content, depth)
            else { return nil }
            parts[String(decoding: name, as: UTF8.self)] = value
        }
        return reader.rest.isEmpty ? parts : nil
    }

    private static func value(_ kind: Kind, _ content: ArraySlice<UInt8>, _ depth: Int) -> PropertyValue? {
        var reader = Reader(rest: content)
        switch kind {
        case .int: return reader.number(Int64.self).map { .int($0) }
        case .double: return reader.number(UInt64.self).map { .double(Double(bitPattern: $0)) }
        case .bool: return reader.number(UInt8.self).map { .bool($0 != 0) }
        case .date:
            return reader.number(UInt64.self).map { .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0))) }
        case .decimal: return DecimalCode.decode(Array(content)).map { .decimal($0) }
        case .string: return .string(String(decoding: content, as: UTF8.self))
        case .data: return .data(Data(content))
        case .uuid:
            guard content.count == 16 else { return nil }
            return unsafe content.withUnsafeBytes { unsafe .uuid(UUID(uuid: $0.loadUnaligned(as: uuid_t.self))) }
        case .uri: return URL(stored: String(decoding: content, as: UTF8.self)).map { .uri($0) }
        case .composite: return decode(content, depth: depth + 1).map { .dictionary($0) }
        }
    }

    /// Reads bytes from the front; nil when there are too few.
    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
            guard count <= rest.count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func number<T: FixedWidthInteger>(_ type: T.Type) -> T? {
            unsafe bytes(MemoryLayout<T>.size)?.withUnsafeBytes { unsafe T(littleEndian: $0.loadUnaligned(as: T.self)) }
        }
    }
}
