/// Splits a predicate format into tokens. Works on UTF-8 with a zero byte after the text, so that
/// reading one byte ahead stays in the array.
struct PredicateScanner {
    let bytes: [UInt8]
    private(set) var position = 0

    init(_ text: String) {
        var bytes = [UInt8]()
        bytes.reserveCapacity(text.utf8.count + 2)
        bytes.append(contentsOf: text.utf8)
        bytes.append(0)
        self.bytes = bytes
    }

    /// The number of bytes of the text.
    var count: Int { bytes.count - 1 }

    /// Sets the position. The parser uses it to return to an earlier token after a lookahead.
    mutating func move(to position: Int) { self.position = position }

    /// The text of a range of bytes.
    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    mutating func next() -> PredicateToken {
        skipSpace()
        let start = position
        let byte = bytes[start]
        let kind: PredicateToken.Kind
        switch byte {
        case 0 where start == count: kind = .end
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "_"), 0x80...0xFF:
            kind = word()
        case UInt8(ascii: "0")...UInt8(ascii: "9"): kind = number()
        case UInt8(ascii: "\""), UInt8(ascii: "'"): kind = string(byte)
        case UInt8(ascii: "$"): kind = prefixed(.variable)
        case UInt8(ascii: "@"): kind = prefixed(.collectionOperator)
        case UInt8(ascii: "#"): kind = prefixed(.escapedName)
        case UInt8(ascii: "%"): kind = placeholder()
        default: kind = sign(byte)
        }
        return PredicateToken(kind: kind, start: start, end: position)
    }

    private mutating func skipSpace() {
        while true {
            let byte = bytes[position]
            guard byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) else { return }
            position += 1
        }
    }

    static func startsName(_ byte: UInt8) -> Bool {
        (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
            || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    static func continuesName(_ byte: UInt8) -> Bool {
        startsName(byte) || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
    }

    private mutating func word() -> PredicateToken.Kind {
        let start = position
        while Self.continuesName(bytes[position]) { position += 1 }
        if position - start == 3, bytes[position] == UInt8(ascii: "-"), let keyword = typeOperator(start) {
            return .keyword(keyword)
        }
        return PredicateToken.Keyword(bytes, start..<position).map { .keyword($0) } ?? .identifier
    }

    /// `UTI-CONFORMS-TO` and `UTI-EQUALS`, the only words with hyphens.
    private mutating func typeOperator(_ start: Int) -> PredicateToken.Keyword? {
        for (word, keyword) in [("uti-conforms-to", PredicateToken.Keyword.typeConformsTo), ("uti-equals", .typeEquals)] {
            let end = start + word.utf8.count
            guard end <= count, !Self.continuesName(bytes[end]) else { continue }
            if zip(bytes[start..<end], word.utf8).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) {
                position = end
                return keyword
            }
        }
        return nil
    }

    private mutating func number() -> PredicateToken.Kind {
        if bytes[position] == UInt8(ascii: "0") {
            let letter = bytes[position + 1] | 0x20
            if letter == UInt8(ascii: "x") || letter == UInt8(ascii: "o") || letter == UInt8(ascii: "b") {
                position += 2
                while Self.continuesName(bytes[position]) { position += 1 }
                return .number
            }
        }
        skipDigits()
        if bytes[position] == UInt8(ascii: "."), isDigit(bytes[position + 1]) {
            position += 1
            skipDigits()
        }
        if bytes[position] | 0x20 == UInt8(ascii: "e") {
            let sign = bytes[position + 1] == UInt8(ascii: "-") || bytes[position + 1] == UInt8(ascii: "+")
            let first = position + (sign ? 2 : 1)
            if first <= count, isDigit(bytes[first]) {
                position = first
                skipDigits()
            }
        }
        guard !Self.startsName(bytes[position]) else {
            while Self.continuesName(bytes[position]) { position += 1 }
            return .invalid
        }
        return .number
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    private mutating func skipDigits() {
        while isDigit(bytes[position]) { position += 1 }
    }

    private mutating func string(_ quote: UInt8) -> PredicateToken.Kind {
        position += 1
        while position < count {
            let byte = bytes[position]
            position += 1
            if byte == quote { return .string }
            if byte == UInt8(ascii: "\\"), position < count { position += 1 }
        }
        return .unterminatedString
    }

    private mutating func prefixed(_ kind: PredicateToken.Kind) -> PredicateToken.Kind {
        position += 1
        guard Self.startsName(bytes[position]) else { return .invalid }
        while Self.continuesName(bytes[position]) { position += 1 }
        return kind
    }

    private mutating func placeholder() -> PredicateToken.Kind {
        position += 1
        switch bytes[position] {
        case UInt8(ascii: "@"):
            position += 1
            return .argument
        case UInt8(ascii: "K"):
            position += 1
            return .keyPathArgument
        case UInt8(ascii: "%"):
            position += 1
            return .sign(.percent)
        default:
            while "hlqLjzt".utf8.contains(bytes[position]) { position += 1 }
            guard "cCdDioOuUxXeEfFgGaA".utf8.contains(bytes[position]) else { return .invalid }
            position += 1
            return .numberArgument
        }
    }

    private mutating func sign(_ byte: UInt8) -> PredicateToken.Kind {
        let following = bytes[position + 1 < bytes.count ? position + 1 : position]
        if let sign = Self.doubleSign(byte, following) {
            position += 2
            return .sign(sign)
        }
        guard position < count else { return .end }
        position += 1
        return Self.singleSign(byte).map { .sign($0) } ?? .invalid
    }

    private static func doubleSign(_ first: UInt8, _ second: UInt8) -> PredicateToken.Sign? {
        switch (first, second) {
        case (UInt8(ascii: "="), UInt8(ascii: "=")): .equal
        case (UInt8(ascii: "!"), UInt8(ascii: "=")), (UInt8(ascii: "<"), UInt8(ascii: ">")): .notEqual
        case (UInt8(ascii: "<"), UInt8(ascii: "=")), (UInt8(ascii: "="), UInt8(ascii: "<")): .lessOrEqual
        case (UInt8(ascii: ">"), UInt8(ascii: "=")), (UInt8(ascii: "="), UInt8(ascii: ">")): .greaterOrEqual
        case (UInt8(ascii: "&"), UInt8(ascii: "&")): .doubleAmpersand
        case (UInt8(ascii: "|"), UInt8(ascii: "|")): .doubleBar
        case (UInt8(ascii: "*"), UInt8(ascii: "*")): .power
        case (UInt8(ascii: "<"), UInt8(ascii: "<")): .shiftLeft
        case (UInt8(ascii: ">"), UInt8(ascii: ">")): .shiftRight
        case (UInt8(ascii: ":"), UInt8(ascii: "=")): .assign
        default: nil
        }
    }

    private static func singleSign(_ byte: UInt8) -> PredicateToken.Sign? {
        switch byte {
        case UInt8(ascii: "("): .openParenthesis
        case UInt8(ascii: ")"): .closeParenthesis
        case UInt8(ascii: "{"): .openBrace
        case UInt8(ascii: "}"): .closeBrace
        case UInt8(ascii: "["): .openBracket
        case UInt8(ascii: "]"): .closeBracket
        case UInt8(ascii: ","): .comma
        case UInt8(ascii: "."): .dot
        case UInt8(ascii: "+"): .plus
        case UInt8(ascii: "-"): .hyphen
        case UInt8(ascii: "*"): .star
        case UInt8(ascii: "/"): .slash
        case UInt8(ascii: "|"): .bar
        case UInt8(ascii: "^"): .caret
        case UInt8(ascii: "&"): .ampersand
        case UInt8(ascii: "~"): .tilde
        case UInt8(ascii: "!"): .exclamation
        case UInt8(ascii: "="): .equal
        case UInt8(ascii: "<"): .less
        case UInt8(ascii: ">"): .greater
        default: nil
        }
    }
}
