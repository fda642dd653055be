/// One word, literal or punctuation mark of Swift source, by its place.
struct Token: Equatable {
    enum Kind: Equatable {
        /// A word, keywords included; `isQuoted` for one between backticks.
        case word(isQuoted: Bool)
        /// A word that begins with `#`: `#if`, `#Index`.
        case pound
        case number
        /// A text with everything in it; `isPlain` for one without interpolation.
        case text(isPlain: Bool)
        case regex
        /// One byte of punctuation or of an operator.
        case mark(UInt8)
    }

    var kind: Kind
    var range: Range<Int>
    /// True when space, a comment or a line end comes before the token.
    var isAfterSpace: Bool
    /// True when the token is the first of its line.
    var isAfterLineEnd: Bool
}

/// Source as tokens, with each bracket knowing its partner.
struct TokenList {
    let bytes: [UInt8]
    let tokens: [Token]
    /// By token, the index of the closing bracket of an opening one; nil for other tokens.
    private let partners: [Int?]
    /// The place of a bracket without a partner, or of a literal without an end; nil when there is none.
    let brokenPlace: Int?

    init(_ source: String) {
        var lexer = Lexer(Array(source.utf8))
        lexer.run()
        bytes = lexer.bytes
        tokens = lexer.tokens
        var partners = [Int?](repeating: nil, count: tokens.count)
        var broken = lexer.brokenPlace
        var open: [Int] = []
        for (index, token) in tokens.enumerated() {
            guard case .mark(let mark) = token.kind else { continue }
            if Self.closings[mark] != nil {
                open.append(index)
            } else if Self.closings.values.contains(mark) {
                guard let last = open.last, case .mark(let opening) = tokens[last].kind, Self.closings[opening] == mark else {
                    broken = broken ?? token.range.lowerBound
                    continue
                }
                partners[last] = index
                open.removeLast()
            }
        }
        if let last = open.last { broken = broken ?? tokens[last].range.lowerBound }
        self.partners = partners
        brokenPlace = broken
    }

    private static let closings: [UInt8: UInt8] = [
        UInt8(ascii: "("): UInt8(ascii: ")"), UInt8(ascii: "["): UInt8(ascii: "]"), UInt8(ascii: "{"): UInt8(ascii: "}"),
    ]

    var count: Int { tokens.count }

    /// The index after the group that opens at an index; the next index where none opens.
    func afterGroup(_ index: Int) -> Int { (partners[index] ?? index) + 1 }

    /// The index of the bracket that closes the one at an index.
    func closing(of index: Int) -> Int? { partners[index] }

    func text(_ index: Int) -> String {
        guard tokens.indices.contains(index) else { return "" }
        return text(tokens[index].range)
    }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// The source from the first to the last of some tokens, with what lies between them.
    func text(tokens range: Range<Int>) -> String { range.isEmpty ? "" : text(bytes(of: range)) }

    func bytes(of range: Range<Int>) -> Range<Int> { tokens[range.lowerBound].range.lowerBound..<tokens[range.upperBound - 1].range.upperBound }

    func isMark(_ index: Int, _ mark: Unicode.Scalar) -> Bool {
        tokens.indices.contains(index) && tokens[index].kind == .mark(UInt8(ascii: mark))
    }

    /// True for a word that is not between backticks.
    func isWord(_ index: Int, _ word: String) -> Bool {
        tokens.indices.contains(index) && tokens[index].kind == .word(isQuoted: false) && text(index) == word
    }

    func isName(_ index: Int) -> Bool {
        guard tokens.indices.contains(index), case .word = tokens[index].kind else { return false }
        return true
    }

    /// The byte where a token starts; the end of the source after the last.
    func place(_ index: Int) -> Int { tokens.indices.contains(index) ? tokens[index].range.lowerBound : bytes.count }
}
