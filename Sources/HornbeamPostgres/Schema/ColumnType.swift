#if Postgres
internal import Foundation
internal import HornbeamModel

/// The type of a column, and the text form of its values.
///
/// A text in PostgreSQL cannot contain U+0000. Texts are stored with U+0000 as U+0001 U+0001 and U+0001 as U+0001 U+0002, which keeps their order.
enum ColumnType: String {
    case smallint, integer, bigint, numeric, real, text, boolean, bytea, uuid
    case double = "double precision"

    /// Nil for an attribute without a stored form.
    init?(_ type: AttributeType) {
        switch type {
        case .integer16: self = .smallint
        case .integer32: self = .integer
        case .integer64: self = .bigint
        case .decimal: self = .numeric
        case .double, .date: self = .double
        case .float: self = .real
        case .string, .uri, .objectID, .composite: self = .text
        case .boolean: self = .boolean
        case .binary, .transformable: self = .bytea
        case .uuid: self = .uuid
        case .undefined: return nil
        }
    }

    var sql: String { rawValue }

    /// The types of a column in a result of `RowReader.columns`: numbers of the server (`pg_type.oid`).
    var resultTypes: [UInt32] {
        switch self {
        case .bigint, .integer, .smallint: [20, 23, 21]
        case .double: [701]
        case .real: [700]
        case .boolean: [16]
        case .bytea: [17]
        case .uuid: [2950]
        // `text` and `character varying`.
        case .text, .numeric: [25, 1043]
        }
    }

    /// The type in the definition of a column. Texts compare by bytes, as in Hornbeam, so that an index serves comparisons and orders.
    var definition: String { self == .text ? "text COLLATE \"C\"" : rawValue }
}

/// Converts values of attributes into the text form of the server, and back.
enum ColumnValue {
    static func text(of value: PropertyValue, _ type: AttributeType) throws -> String? {
        switch value {
        case .null: return nil
        case .bool(let flag): return flag ? "t" : "f"
        case .int(let number): return String(number)
        case .double(let number): return type == .float ? text(of: Float(number)) : text(of: number)
        case .decimal(let number): return number.description
        case .string(let text): return escaped(text)
        case .date(let date): return text(of: date.timeIntervalSinceReferenceDate)
        case .data(let data): return "\\x" + data.map { hexDigits[Int($0)] }.joined()
        case .uuid(let uuid): return uuid.uuidString
        case .uri(let url): return escaped(url.absoluteString)
        case .objectID(let id): return escaped(id.uriRepresentation().absoluteString)
        case .array, .set, .dictionary: return escaped(String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
        }
    }

    /// - Throws: `storeOperationFailed` for a text that is no value of the type.
    static func value(of text: String?, _ type: AttributeType) throws -> PropertyValue {
        guard let text else { return .null }
        guard let value = known(text, type) else { throw wrongValue(type) }
        return value
    }

    /// The value of a cell of `RowReader.columns`, in the text form or in the binary one.
    static func value(_ result: QueryResult, _ row: Int, _ column: Int, _ type: AttributeType) throws -> PropertyValue {
        switch type {
        case .integer16, .integer32, .integer64: if let number = result.integer(row, column) { return .int(number) }
        case .string:
            guard let (text, isEscaped) = result.text(row, column, with: escape) else { return .null }
            return .string(isEscaped ? unescaped(text) : text)
        default: if result.isBinary { return try binary(result, row, column, type) }
        }
        return try value(of: result[row, column], type)
    }

    private static func binary(_ result: QueryResult, _ row: Int, _ column: Int, _ type: AttributeType) throws -> PropertyValue {
        let value: PropertyValue? =
            switch type {
            case .double: result.bits(row, column, byteCount: 8).map { .double(Double(bitPattern: $0)) }
            case .date: result.bits(row, column, byteCount: 8).map { .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0))) }
            case .float: result.bits(row, column, byteCount: 4).map { .double(Double(Float(bitPattern: UInt32($0)))) }
            case .boolean: result.bits(row, column, byteCount: 1).map { .bool($0 != 0) }
            case .binary, .transformable: result.bytes(row, column).map { .data(Data($0)) }
            case .uuid: result.uuid(row, column).map { .uuid(UUID(uuid: $0)) }
            default: try self.value(of: result[row, column], type)
            }
        if let value { return value }
        guard result.isNull(row, column) else { throw wrongValue(type) }
        return .null
    }

    /// The error for a value of another type: the type of the column may have changed since the store was opened.
    private static func wrongValue(_ type: AttributeType) -> HornbeamError {
        HornbeamError(.storeOperationFailed, "A column of the PostgreSQL server has a value that is no \(type). Correct it with psql.")
    }

    /// Appends the value of a cell of `RowReader.columns` to a table of rows, mostly without making a `PropertyValue`.
    static func append(_ result: QueryResult, _ row: Int, _ column: Int, _ type: AttributeType, to rows: inout CustomStoreTable) throws {
        switch type {
        case .integer16, .integer32, .integer64: if let number = result.integer(row, column) { return rows.append(number) }
        case .string: if appendPlain(result, row, column, to: &rows) { return }
        case .double where result.isBinary:
            if let bits = result.bits(row, column, byteCount: 8) { return rows.append(Double(bitPattern: bits)) }
        case .date where result.isBinary:
            if let bits = result.bits(row, column, byteCount: 8) { return rows.append(date: Double(bitPattern: bits)) }
        case .boolean where result.isBinary:
            if let bits = result.bits(row, column, byteCount: 1) { return rows.append(bits != 0) }
        default: break
        }
        rows.append(try value(result, row, column, type))
    }

    /// Appends a text of ASCII characters without escapes. Returns false for NULL and for other texts, whose bytes `String` checks.
    private static func appendPlain(_ result: QueryResult, _ row: Int, _ column: Int, to rows: inout CustomStoreTable) -> Bool {
        unsafe result.withBytes(row, column) { text in
            var bits: UInt8 = 0
            for unsafe byte in unsafe text {
                if byte == escape { return false }
                bits |= byte
            }
            if bits >= 0x80 { return false }
            unsafe rows.append(utf8: text)
            return true
        } ?? false
    }

    private static func known(_ text: String, _ type: AttributeType) -> PropertyValue? {
        switch type {
        case .integer16, .integer32, .integer64: Int64(text).map { .int($0) }
        case .decimal: text == "NaN" ? .decimal(.nan) : Decimal(string: text, locale: nil).map { .decimal($0) }
        case .double: Double(text).map { .double($0) }
        case .float: Float(text).map { .double(Double($0)) }
        case .string: .string(unescaped(text))
        case .boolean: text == "t" ? .bool(true) : text == "f" ? .bool(false) : nil
        case .date: Double(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        case .binary, .transformable: data(text).map { .data($0) }
        case .uuid: UUID(uuidString: text).map { .uuid($0) }
        case .uri: URL(stored: unescaped(text)).map { .uri($0) }
        case .objectID: URL(string: unescaped(text)).flatMap(ManagedObjectID.init(uriRepresentation:)).map { .objectID($0) }
        case .composite: try? JSONDecoder().decode(PropertyValue.self, from: Data(unescaped(text).utf8))
        case .undefined: nil
        }
    }

    /// The text of a time with microseconds, with the day as a Julian date. A column without a time zone ignores the zone of the text.
    static func timestamp(_ date: Date, _ property: PropertyDescription) throws -> String {
        let microseconds = (date.timeIntervalSinceReferenceDate * 1_000_000).rounded()
        guard let (day, rest) = daysSince2001(microseconds), julianDays.contains(julianDay2001 + day) else {
            throw HornbeamError(
                .typeMismatch, "\(property.entity.name).\(property.name) has a time that PostgreSQL's timestamp does not store.", entity: property.entity.name,
                key: property.name)
        }
        let seconds = rest / 1_000_000
        func digits(_ number: Int64, _ count: Int) -> String { String(repeating: "0", count: max(0, count - String(number).count)) + String(number) }
        let time = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { digits($0, 2) }.joined(separator: ":")
        return "J\(julianDay2001 + day) \(time).\(digits(rest % 1_000_000, 6))+00"
    }

    /// The Julian date of 1 January 2001, and those of PostgreSQL's times: from 4714 BC to 294276 AD.
    private static let julianDay2001: Int64 = 2_451_911
    private static let julianDays: Range<Int64> = 0 ..< 109_203_528

    /// The days since 1 January 2001, and the microseconds of the last one. Nil for numbers beyond 64 bits.
    private static func daysSince2001(_ microseconds: Double) -> (day: Int64, rest: Int64)? {
        guard let time = Int64(exactly: microseconds) else { return nil }
        let length: Int64 = 86_400_000_000
        let rest = time % length
        return rest < 0 ? (time / length - 1, rest + length) : (time / length, rest)
    }

    // MARK: Numbers and bytes

    static func text(of number: Double) -> String {
        number.isNaN ? "NaN" : number.isInfinite ? (number < 0 ? "-Infinity" : "Infinity") : number.description
    }

    private static func text(of number: Float) -> String {
        number.isNaN ? "NaN" : number.isInfinite ? (number < 0 ? "-Infinity" : "Infinity") : number.description
    }

    private static let hexDigits = (0 ..< 256).map { (byte: Int) in (byte < 16 ? "0" : "") + String(byte, radix: 16) }

    private static func data(_ text: String) -> Data? {
        guard text.hasPrefix("\\x") else { return nil }
        let digits = Array(text.utf8.dropFirst(2))
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes = Data(capacity: digits.count / 2)
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = nibble(digits[place]), let low = nibble(digits[place + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 48 ... 57: digit - 48
        case 97 ... 102: digit - 87
        default: nil
        }
    }

    // MARK: Texts

    /// The byte that begins an escape.
    private static let escape: UInt8 = 1

    /// True if a text has characters of the escaped form, so that a part of another text cannot be compared with it by the server.
    static func needsEscape(_ text: String) -> Bool { text.utf8.contains { $0 <= 2 } }

    static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 <= 1 }) else { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte <= 1 { bytes += [1, byte + 1] } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func unescaped(_ text: String) -> String {
        guard text.utf8.contains(1) else { return text }
        var bytes: [UInt8] = []
        var isEscape = false
        for byte in text.utf8 {
            if isEscape {
                // Other programs can have written U+0001 alone.
                bytes += byte == 1 || byte == 2 ? [byte - 1] : [1, byte]
                isEscape = false
            } else if byte == 1 {
                isEscape = true
            } else {
                bytes.append(byte)
            }
        }
        if isEscape { bytes.append(1) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
#endif
