/// Divides Swift source into tokens, without comments.
///
/// Each byte is read a limited number of times, and each step moves forward, so that it ends for any input. For source that is not
/// Swift, it also returns tokens, and the position of the first error.
struct Lexer {
    let bytes: [UInt8]
    private(set) var tokens: [Token] = []
    /// The start of the first text or comment without an end.
    private(set) var errorPosition: Int?
    private var position = 0
    private var isAfterSpace = false
    private var isAfterLineEnd = true
    /// The position up to which a search for the end of a regular expression between slashes has failed.
    private var regexSearchedTo = 0
    /// The numbers of `#` for which a search for the end of a regular expression has failed. The rest is not searched again for them.
    private var poundsWithoutEnd: [Int] = []

    /// The maximum nesting depth of interpolations.
    private static let depthMax = 40
    /// The maximum length of a regular expression between slashes, in bytes.
    private static let regexLengthMax = 2000

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func run() {
        while position < bytes.count {
            if skipSpace() { continue }
            let start = position
            let kind = nextToken()
            tokens.append(
                Token(kind: kind, range: start..<position, isAfterSpace: isAfterSpace, isAfterLineEnd: isAfterLineEnd))
            isAfterSpace = false
            isAfterLineEnd = false
        }
    }

    private func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }

    private func isAt(_ index: Int, _ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard index + length <= bytes.count else { return false }
        return text.withUTF8Buffer { unsafe bytes[index..<index + length].elementsEqual($0) }
    }

    // MARK: Space and comments

    /// Skips white space or a comment; false when there is neither.
    private mutating func skipSpace() -> Bool {
        let byte = bytes[position]
        if byte == 0x0A || byte == 0x0D { isAfterLineEnd = true }
        if [0x20, 0x09, 0x0A, 0x0D, 0x0B, 0x0C, 0].contains(byte) {
            position += 1
        } else if isAt(position, "//") {
            while position < bytes.count, bytes[position] != 0x0A, bytes[position] != 0x0D { position += 1 }
        } else if isAt(position, "/*") {
            let end = endOfComment(position)
            if bytes[position..<end].contains(0x0A) { isAfterLineEnd = true }
            position = end
        } else {
            return false
        }
        isAfterSpace = true
        return true
    }

    /// The position after a comment, which may contain other comments.
    private mutating func endOfComment(_ start: Int) -> Int {
        var depth = 0
        var index = start
        while index < bytes.count {
            if isAt(index, "/*") {
                depth += 1
                index += 2
            } else if isAt(index, "*/") {
                depth -= 1
                index += 2
                if depth == 0 { return index }
            } else {
                index += 1
            }
        }
        errorPosition = errorPosition ?? start
        return bytes.count
    }

    // MARK: Tokens

    private mutating func nextToken() -> Token.Kind {
        let first = bytes[position]
        switch first {
        case UInt8(ascii: "\""):
            return text(pounds: 0)
        case UInt8(ascii: "#"):
            return afterPound()
        case UInt8(ascii: "`"):
            let end = bytes[(position + 1)...].firstIndex { $0 == UInt8(ascii: "`") || $0 == 0x0A }
            guard let end, bytes[end] == UInt8(ascii: "`") else {
                position += 1
                return .mark(first)
            }
            position = end + 1
            return .word(isQuoted: true)
        case UInt8(ascii: "/"):
            if let end = endOfRegex(position) {
                position = end
                return .regex
            }
            position += 1
            return .mark(first)
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            number()
            return .number
        case _ where Self.isWordByte(first):
            while position < bytes.count, Self.isWordByte(bytes[position]) { position += 1 }
            return .word(isQuoted: false)
        default:
            position += 1
            return .mark(first)
        }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }

    private mutating func number() {
        while position < bytes.count {
            if Self.isWordByte(bytes[position]) {
                position += 1
            } else if bytes[position] == UInt8(ascii: "."), (0x30...0x39).contains(byte(position + 1)) {
                position += 2
            } else if "+-".utf8.contains(bytes[position]), "eEpP".utf8.contains(byte(position - 1)), (0x30...0x39).contains(byte(position + 1)) {
                position += 2
            } else {
                return
            }
        }
    }

    /// Scans `#"raw"#`, `#/regex/#`, or a word such as `#if`.
    private mutating func afterPound() -> Token.Kind {
        let start = position
        var pounds = 0
        while byte(position + pounds) == UInt8(ascii: "#") { pounds += 1 }
        if byte(position + pounds) == UInt8(ascii: "\"") {
            position += pounds
            return text(pounds: pounds)
        }
        if byte(position + pounds) == UInt8(ascii: "/"), let end = endOfExtendedRegex(position + pounds + 1, pounds) {
            position = end
            return .regex
        }
        position += pounds
        guard pounds == 1, position < bytes.count, Self.isWordByte(bytes[position]) else {
            position = start + 1
            return .mark(UInt8(ascii: "#"))
        }
        while position < bytes.count, Self.isWordByte(bytes[position]) { position += 1 }
        return .pound
    }

    // MARK: Texts

    private mutating func text(pounds: Int) -> Token.Kind {
        let start = position
        guard let (end, isPlain) = endOfText(position, pounds, depth: 0) else {
            errorPosition = errorPosition ?? start
            position += 1
            return .mark(UInt8(ascii: "\""))
        }
        position = end
        return .text(isPlain: isPlain)
    }

    /// The position after the text whose first quotation mark is at `start`; nil when it does not end.
    private mutating func endOfText(_ start: Int, _ pounds: Int, depth: Int) -> (end: Int, isPlain: Bool)? {
        guard depth < Self.depthMax else { return nil }
        // `""` is an empty text, `"""` begins a text of several lines, and `#"""#` is a text with one quotation mark.
        let isMultiline = isAt(start, "\"\"\"") && (pounds == 0 || !hasPounds(start + 3, pounds))
        var index = start + (isMultiline ? 3 : 1)
        var isPlain = true
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\""), !isMultiline || isAt(index, "\"\"\"") {
                let after = index + (isMultiline ? 3 : 1)
                if hasPounds(after, pounds) { return (after + pounds, isPlain) }
                index += 1
            } else if byte == UInt8(ascii: "\\"), hasPounds(index + 1, pounds) {
                index += 1 + pounds
                if self.byte(index) == UInt8(ascii: "(") {
                    isPlain = false
                    guard let end = endOfInterpolation(index, depth: depth + 1) else { return nil }
                    index = end
                } else {
                    index += 1
                }
            } else if byte == 0x0A, !isMultiline {
                return nil
            } else {
                index += 1
            }
        }
        return nil
    }

    private func hasPounds(_ start: Int, _ count: Int) -> Bool {
        start + count <= bytes.count && bytes[start..<start + count].allSatisfy { $0 == UInt8(ascii: "#") }
    }

    /// The position after the parenthesis that closes the one at `start`; nil when it is not closed.
    private mutating func endOfInterpolation(_ start: Int, depth: Int) -> Int? {
        var index = start
        var open = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "("):
                open += 1
                index += 1
            case UInt8(ascii: ")"):
                open -= 1
                index += 1
                if open == 0 { return index }
            case UInt8(ascii: "\""):
                var pounds = 0
                while index - pounds - 1 > start, bytes[index - pounds - 1] == UInt8(ascii: "#") { pounds += 1 }
                guard let inner = endOfText(index, pounds, depth: depth) else { return nil }
                index = inner.end
            case _ where isAt(index, "/*"):
                index = endOfComment(index)
            default:
                index += 1
            }
        }
        return nil
    }

    // MARK: Regular expressions

    /// The position after a regular expression between slashes; nil when the slash is an operator.
    private mutating func endOfRegex(_ start: Int) -> Int? {
        let isSpaceOrComment = [0x20, 0x09, 0x0A, UInt8(ascii: "/"), UInt8(ascii: "*"), 0].contains(byte(start + 1))
        guard mayBeginExpression, start >= regexSearchedTo, !isSpaceOrComment else { return nil }
        var index = start + 1
        var isInSet = false
        while index < min(bytes.count, start + Self.regexLengthMax), bytes[index] != 0x0A {
            switch bytes[index] {
            case UInt8(ascii: "\\"): index += 1
            case UInt8(ascii: "["): isInSet = true
            case UInt8(ascii: "]"): isInSet = false
            case UInt8(ascii: "/") where !isInSet: return index + 1
            default: break
            }
            index += 1
        }
        regexSearchedTo = index
        return nil
    }

    private mutating func endOfExtendedRegex(_ start: Int, _ pounds: Int) -> Int? {
        guard !poundsWithoutEnd.contains(pounds) else { return nil }
        var index = start
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\\") {
                index += 2
            } else if bytes[index] == UInt8(ascii: "/"), hasPounds(index + 1, pounds) {
                return index + 1 + pounds
            } else {
                index += 1
            }
        }
        poundsWithoutEnd.append(pounds)
        return nil
    }

    /// True when a value may begin here: after an opening bracket, a comma, an equals sign or `return`.
    private var mayBeginExpression: Bool {
        guard let last = tokens.last else { return true }
        switch last.kind {
        case .mark(let mark): return "([{,=:&|;".utf8.contains(mark)
        case .word(isQuoted: false): return String(decoding: bytes[last.range], as: UTF8.self) == "return"
        default: return false
        }
    }
}
