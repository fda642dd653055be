/// One word, literal or punctuation mark of Swift source, with its position.
struct Token: Equatable {
    enum Kind: Equatable {
        /// A word, keywords included. `isQuoted` is true for a word in backticks.
        case word(isQuoted: Bool)
        /// A word that begins with `#`: `#if`, `#Index`.
        case pound
        case number
        /// A whole text. `isPlain` is true for a text without interpolation.
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

/// Source as tokens, with the pairs of brackets.
struct TokenList {
    let bytes: [UInt8]
    let tokens: [Token]
    /// For each opening bracket, the index of its closing bracket; nil for other tokens.
    private let partners: [Int?]
    /// The position of a bracket without its counterpart, or of a text or comment without an end; nil for complete source.
    let errorPosition: Int?

    init(_ source: String) {
        var lexer = Lexer(Array(source.utf8))
        lexer.run()
        bytes = lexer.bytes
        tokens = lexer.tokens
        var partners = [Int?](repeating: nil, count: tokens.count)
        var broken = lexer.errorPosition
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
        errorPosition = broken
    }

    private static let closings: [UInt8: UInt8] = [
        UInt8(ascii: "("): UInt8(ascii: ")"), UInt8(ascii: "["): UInt8(ascii: "]"), UInt8(ascii: "{"): UInt8(ascii: "}"),
    ]

    var count: Int { tokens.count }

    /// The index after the group of brackets that opens at an index; the next index for other tokens.
    func afterGroup(_ index: Int) -> Int { (partners[index] ?? index) + 1 }

    /// The index of the bracket that closes the bracket at an index; nil for other tokens.
    func closing(of index: Int) -> Int? { partners[index] }

    func text(_ index: Int) -> String {
        guard tokens.indices.contains(index) else { return "" }
        return text(tokens[index].range)
    }

    /// The text of a word without backticks.
    func name(_ index: Int) -> String { text(index).filter { $0 != "`" } }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// The source from the first to the last token of a range.
    func text(tokens range: Range<Int>) -> String { range.isEmpty ? "" : text(bytes(of: range)) }

    func bytes(of range: Range<Int>) -> Range<Int> { tokens[range.lowerBound].range.lowerBound..<tokens[range.upperBound - 1].range.upperBound }

    func isMark(_ index: Int, _ mark: Unicode.Scalar) -> Bool {
        tokens.indices.contains(index) && tokens[index].kind == .mark(UInt8(ascii: mark))
    }

    /// True for the given word without backticks.
    func isWord(_ index: Int, _ word: String) -> Bool {
        tokens.indices.contains(index) && tokens[index].kind == .word(isQuoted: false) && text(index) == word
    }

    func isName(_ index: Int) -> Bool {
        guard tokens.indices.contains(index), case .word = tokens[index].kind else { return false }
        return true
    }

    /// The index of the name after the `.` or `::` at an index; nil when no name follows.
    func afterQualifier(_ index: Int) -> Int? {
        if isMark(index, "."), isName(index + 1) { return index + 1 }
        guard isMark(index, ":"), isMark(index + 1, ":"), !tokens[index + 1].isAfterSpace, isName(index + 2) else { return nil }
        return index + 2
    }

    /// The offset of a token's first byte; the length of the source for an index after the last token.
    func position(_ index: Int) -> Int { tokens.indices.contains(index) ? tokens[index].range.lowerBound : bytes.count }
}
