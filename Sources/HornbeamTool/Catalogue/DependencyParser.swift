/// Parses the dependency grammar of Debian control files from bytes.
///
///     field       = clause *( "," clause )
///     clause      = alternative *( "|" alternative )
///     alternative = name [ ":" architecture ] [ "(" relation version ")" ] [ "[" architectures "]" ] *( "<" profiles ">" )
@safe struct DependencyParser {
    /// A syntax error and its position in the field.
    struct Failure: Error, Equatable {
        let offset: Int
        let reason: String
    }

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    private init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = unsafe bytes }

    /// The clauses of a field. Empty clauses, such as after a trailing comma, are ignored.
    static func clauses(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> [DependencyClause] {
        var parser = unsafe DependencyParser(bytes)
        var clauses: [DependencyClause] = []
        while true {
            parser.skipSpace()
            guard let byte = parser.peek else { return clauses }
            if byte == UInt8(ascii: ",") {
                parser.position += 1
                continue
            }
            clauses.append(try parser.clause())
            parser.skipSpace()
            if let byte = parser.peek, byte != UInt8(ascii: ",") {
                throw parser.failure("a comma was expected and \(Self.name(of: byte)) found")
            }
        }
    }

    private mutating func clause() throws(Failure) -> DependencyClause {
        var alternatives = [try alternative()]
        while take("|") { alternatives.append(try alternative()) }
        return DependencyClause(alternatives: alternatives)
    }

    private mutating func alternative() throws(Failure) -> DependencyAlternative {
        skipSpace()
        var result = DependencyAlternative(name: try word("a package name", Self.isNameByte))
        if peek == UInt8(ascii: ":") {
            position += 1
            result.architectureQualifier = try word("an architecture", Self.isNameByte)
        }
        if take("(") { result.constraint = try constraint() }
        if take("[") { result.architectures = try words(until: "]") }
        while take("<") { result.profiles.append(try words(until: ">")) }
        skipSpace()
        return result
    }

    private mutating func constraint() throws(Failure) -> VersionConstraint {
        skipSpace()
        let relation = try relation()
        skipSpace()
        let version = try word("a version", Self.isVersionByte)
        guard take(")") else { throw failure("the version constraint is not closed with ')'") }
        return VersionConstraint(relation: relation, version: version)
    }

    private mutating func relation() throws(Failure) -> VersionConstraint.Relation {
        let start = position
        let first = takeSign()
        let second = takeSign()
        switch (first, second) {
        case ("<", "<"): return .earlier
        // A single sign is the old notation and includes equality.
        case ("<", "="), ("<", nil): return .earlierOrEqual
        case ("=", nil): return .equal
        case (">", "="), (">", nil): return .laterOrEqual
        case (">", ">"): return .later
        default: throw Failure(offset: start, reason: "one of << <= = >= >> was expected")
        }
    }

    private mutating func takeSign() -> Unicode.Scalar? {
        guard let byte = peek, (UInt8(ascii: "<")...UInt8(ascii: ">")).contains(byte) else { return nil }
        position += 1
        return Unicode.Scalar(byte)
    }

    private mutating func words(until close: Unicode.Scalar) throws(Failure) -> [String] {
        var words: [String] = []
        while !take(close) {
            guard peek != nil else { throw failure("the list is not closed with '\(close)'") }
            words.append(try word("a name or '\(close)'", Self.isRestrictionByte))
        }
        return words
    }

    // MARK: Bytes

    private var peek: UInt8? { unsafe position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while unsafe position < bytes.count, unsafe bytes[position] <= 0x20 { position += 1 }
    }

    /// Skips white space, then consumes the character if it comes next.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func word(_ expected: String, _ belongs: (UInt8) -> Bool) throws(Failure) -> String {
        let start = position
        while unsafe position < bytes.count, unsafe belongs(bytes[position]) { position += 1 }
        guard position > start else {
            let found = peek.map(Self.name(of:)) ?? "the end of the field"
            throw failure("\(expected) was expected and \(found) found")
        }
        return text(start..<position)
    }

    private func text(_ range: Range<Int>) -> String { unsafe String(decoding: bytes[range], as: UTF8.self) }

    private func failure(_ reason: String) -> Failure { Failure(offset: position, reason: reason) }

    private static func name(of byte: UInt8) -> String {
        (0x21...0x7E).contains(byte) ? "'\(Character(Unicode.Scalar(byte)))'" : "byte \(byte)"
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isVersionByte(_ byte: UInt8) -> Bool {
        isNameByte(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "~")
    }

    private static func isRestrictionByte(_ byte: UInt8) -> Bool { isNameByte(byte) || byte == UInt8(ascii: "!") }
}
