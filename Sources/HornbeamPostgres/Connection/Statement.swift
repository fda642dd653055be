#if Postgres
/// An SQL text and the values of its parameters `$1`, `$2`, … in the server's text form. Values are never part of the SQL text.
struct Statement: Sendable {
    var sql: String
    var parameters: [String?] = []
    /// True to receive the result in the server's binary form, which `QueryResult` reads for the types of `RowReader.columns` only.
    var hasBinaryResult = false

    /// True for a statement that is sent before the next one is made, because the server needs some time for its values.
    var isLarge: Bool { parameters.reduce(0) { $0 + ($1?.utf8.count ?? 0) } >= 8 << 10 }

    init(_ sql: String, _ parameters: [String?] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

/// Adds parameters to a statement while its text is made.
struct ParameterList {
    /// The largest number of parameters of a condition. A statement has 65,535 at most.
    private static let countMax = 65_000

    private(set) var values: [String?] = []
    /// True if a statement has room for the parameters.
    var fit: Bool { values.count <= Self.countMax }
    /// True to write values into the text, for conditions of indexes, which have no parameters.
    var areLiterals = false

    /// The placeholder of a value: `$3::bigint`.
    mutating func add(_ value: String?, as type: String) -> String {
        if areLiterals { return value.map { "\(SQLText.literal($0))::\(type)" } ?? "NULL::\(type)" }
        values.append(value)
        return "$\(values.count)::\(type)"
    }

    mutating func truncate(to count: Int) { values.removeSubrange(count...) }
}

enum SQLText {
    /// The longest name, in bytes, that PostgreSQL keeps whole.
    static let nameBytesMax = 63

    /// A name in quotation marks, so that every character in it is part of the name.
    static func name(_ name: String) -> String { "\"" + doubling("\"", in: name) + "\"" }

    /// A name without its quotation marks. By bytes, as in `doubling`.
    static func unquoted(_ name: String) -> String {
        let (bytes, mark) = (name.utf8, UInt8(ascii: "\""))
        guard bytes.count > 1, bytes.first == mark, bytes.last == mark else { return name }
        var text: [UInt8] = []
        var isSecond = false
        for byte in bytes.dropFirst().dropLast() {
            if !isSecond { text.append(byte) }
            isSecond = byte == mark && !isSecond
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A name of at most the longest length: a long one ends with the checksum of the whole.
    static func shortened(_ name: String) -> String {
        guard name.utf8.count > nameBytesMax else { return name }
        let checksum = name.utf8.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        let digits = String(checksum, radix: 16)
        var start = name
        while start.utf8.count > nameBytesMax - digits.utf8.count - 1 { start.unicodeScalars.removeLast() }
        return "\(start) \(digits)"
    }

    /// A text in quotation marks, for places where the server takes no parameters.
    static func literal(_ text: String) -> String { "E'" + doubling("'\\", in: text) + "'" }

    /// The text form of an array.
    static func array(_ elements: some Sequence<String?>) -> String {
        var array = ArrayText()
        for element in elements { array.append(element) }
        return array.text
    }

    // By bytes: a combining mark after a quotation mark would be one character with it.
    private static func doubling(_ marks: String, in text: String) -> String {
        let marks = Set(marks.utf8)
        return String(decoding: text.utf8.flatMap { marks.contains($0) ? [$0, $0] : [$0] }, as: UTF8.self)
    }

    /// The text form of an array of keys.
    static func array(keys: some Sequence<UInt64>) -> String {
        var array = ArrayText()
        for key in keys { array.append(key) }
        return array.text
    }
}
#endif
