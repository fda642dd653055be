public import Foundation

extension ManagedObjectModel {
    /// Localised texts: `Entity/<E>`, `Property/<p>/Entity/<E>`, `Property/<p>`, `ErrorString/<text>` (MDL-3).
    public var localizationDictionary: [String: String] { definition.localizationDictionary }

    /// The localised name of an entity; nil when the dictionary has none.
    public func localizedName(ofEntity entity: String) -> String? {
        localizationDictionary["Entity/\(entity)"]
    }

    /// The localised name of a property: the text for its entity or the nearest superentity, else the text for all entities.
    public func localizedName(ofProperty property: String, entity: String) -> String? {
        if localizationDictionary.isEmpty { return nil }
        var line = entitiesByName[entity]
        while let current = line {
            if let name = localizationDictionary["Property/\(property)/Entity/\(current.name)"] { return name }
            line = current.superentity
        }
        return localizationDictionary["Property/\(property)"]
    }

    /// The localised text of an error; the text itself when the dictionary has none.
    public func localizedErrorString(_ text: String) -> String {
        localizationDictionary["ErrorString/\(text)"] ?? text
    }
}

/// A strings file in the format of Apple's tools: `"key" = "value";` with comments, in UTF-8 or UTF-16.
public enum StringsFile {
    /// The texts by key. The text of a key without a value (`"key";`) is the key. If a key is repeated, its last text is used.
    ///
    /// - Throws: `HornbeamError` with code `malformedModelFile`; the message contains the line.
    public static func parse(_ data: Data) throws -> [String: String] {
        try parse(text(of: data))
    }

    /// The texts by key, from the text of a file instead of its bytes.
    ///
    /// - Throws: `HornbeamError` with code `malformedModelFile`; the message contains the line.
    public static func parse(_ text: String) throws -> [String: String] {
        var scanner = StringsScanner(Array(text.unicodeScalars))
        return try scanner.pairs()
    }

    private static func text(of data: Data) throws -> String {
        let start = [UInt8](data.prefix(3))
        let encoding: String.Encoding
        switch start {
        case let bytes where bytes.starts(with: [0xFF, 0xFE]), let bytes where bytes.starts(with: [0xFE, 0xFF]):
            encoding = .utf16
        default: encoding = .utf8
        }
        let body = start == [0xEF, 0xBB, 0xBF] ? data.dropFirst(3) : data
        guard let text = String(data: body, encoding: encoding) else {
            throw HornbeamError(
                .malformedModelFile, "The strings file is neither UTF-8 nor UTF-16 with a byte order mark: save it as UTF-8.")
        }
        return text
    }
}

/// Reads the keys and texts of a strings file, and counts its lines for error messages.
private struct StringsScanner {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var line = 1

    init(_ scalars: [Unicode.Scalar]) { self.scalars = scalars }

    mutating func pairs() throws -> [String: String] {
        var pairs: [String: String] = [:]
        while try skipSpace() {
            let key = try word()
            _ = try skipSpace()
            if consume("=") {
                _ = try skipSpace()
                pairs[key] = try word()
                _ = try skipSpace()
            } else {
                pairs[key] = key
            }
            guard consume(";") else { throw error("a “;” is missing after the text of “\(key)”") }
        }
        return pairs
    }

    private func error(_ what: String) -> HornbeamError {
        HornbeamError(.malformedModelFile, "The strings file cannot be read at line \(line): \(what).")
    }

    private mutating func consume(_ scalar: Unicode.Scalar) -> Bool {
        guard position < scalars.count, scalars[position] == scalar else { return false }
        advance()
        return true
    }

    private mutating func advance() {
        if scalars[position] == "\n" { line += 1 }
        position += 1
    }

    /// Skips white space and comments; false at the end.
    private mutating func skipSpace() throws -> Bool {
        while position < scalars.count {
            if scalars[position].properties.isWhitespace || scalars[position] == "\u{FEFF}" {
                advance()
            } else if starts(with: "//") {
                while position < scalars.count, scalars[position] != "\n" { advance() }
            } else if starts(with: "/*") {
                let opening = line
                while position < scalars.count, !starts(with: "*/") { advance() }
                guard position < scalars.count else { throw error("the comment that begins at line \(opening) has no end") }
                advance()
                advance()
            } else {
                return true
            }
        }
        return false
    }

    private func starts(with text: String) -> Bool {
        scalars[position...].starts(with: text.unicodeScalars)
    }

    private mutating func word() throws -> String {
        if consume("\"") { return try quoted() }
        var word = String.UnicodeScalarView()
        while position < scalars.count, isBare(scalars[position]) {
            word.append(scalars[position])
            advance()
        }
        guard !word.isEmpty else { throw error("a text in quotes is expected") }
        return String(word)
    }

    private func isBare(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "_-./$:".unicodeScalars.contains(scalar)
    }

    private mutating func quoted() throws -> String {
        let opening = line
        var text = String.UnicodeScalarView()
        while position < scalars.count {
            let scalar = scalars[position]
            advance()
            if scalar == "\"" { return String(text) }
            if scalar == "\\" {
                text.append(try escaped())
            } else {
                text.append(scalar)
            }
        }
        throw error("the text that begins at line \(opening) has no closing quote")
    }

    private mutating func escaped() throws -> Unicode.Scalar {
        guard position < scalars.count else { throw error("the file ends within an escape") }
        let scalar = scalars[position]
        advance()
        switch scalar {
        case "n": return "\n"
        case "t": return "\t"
        case "r": return "\r"
        case "0": return "\0"
        case "U", "u":
            let digits = String(String.UnicodeScalarView(scalars[position...].prefix(4)))
            guard digits.count == 4, let number = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(number)
            else { throw error("“\\\(scalar)” must be followed by four hexadecimal digits of a character") }
            for _ in 0..<4 { advance() }
            return scalar
        default: return scalar
        }
    }
}
