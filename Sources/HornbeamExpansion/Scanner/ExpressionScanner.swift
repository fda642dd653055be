/// Finds the end of an initial value without parsing the expression.
struct ExpressionScanner {
    private let list: TokenList

    init(_ list: TokenList) { self.list = list }

    /// The index after the expression that begins at a token: at a comma, a block of accessors, or the next member.
    func end(from start: Int, limit: Int) -> Int {
        var index = start
        while index < limit {
            if list.isMark(index, ",") || list.isMark(index, ";") { return index }
            if index > start {
                if list.isMark(index, "{"), AccessorWords(list).followValue(at: index) { return index }
                if list.tokens[index].isAfterLineEnd, !continuesExpression(index) { return index }
            }
            if list.isMark(index, "<"), let end = afterGenericArguments(index, limit) {
                index = end
            } else {
                index = list.afterGroup(index)
            }
        }
        return index
    }

    /// True when a token at the start of a line continues the expression of the line before.
    private func continuesExpression(_ index: Int) -> Bool {
        if cannotEndExpression(index - 1) { return true }
        switch list.tokens[index].kind {
        case .mark(let mark):
            // A member or an operator continues the expression.
            if mark == UInt8(ascii: "@") { return false }
            // The caller has excluded accessors, so that a brace begins a closure or the body of an `if` expression.
            if mark == UInt8(ascii: ".") || mark == UInt8(ascii: "{") { return true }
            return "=+-*/%<>&|^?:!".utf8.contains(mark)
        case .word(isQuoted: false):
            return ["as", "is", "else", "in"].contains(list.text(index))
        default:
            return false
        }
    }

    /// True when an expression cannot end with the token.
    private func cannotEndExpression(_ index: Int) -> Bool {
        switch list.tokens[index].kind {
        case .mark(let mark):
            // An expression can end with the `!` of `x!`, the `?` of `x?` and the `>` of `Set<Int>`.
            if mark == UInt8(ascii: "!") || mark == UInt8(ascii: "?") { return list.tokens[index].isAfterSpace }
            // An expression can also end with `...`: `1...`.
            if mark == UInt8(ascii: ".") { return !list.isMark(index - 1, ".") }
            return "=+-*/%<&|^:~".utf8.contains(mark)
        case .word(isQuoted: false):
            return ["try", "await", "as", "is", "in", "if", "switch", "else", "unsafe", "some", "any"].contains(list.text(index))
        default:
            return false
        }
    }

    /// The index after generic arguments `<Int, String>`, whose comma does not end the value; nil when `<` is an operator.
    private func afterGenericArguments(_ index: Int, _ limit: Int) -> Int? {
        guard index > 0, list.isName(index - 1), !list.tokens[index].isAfterSpace,
            let (_, end) = TypeScanner(list).type(at: index - 1, limit: limit), end > index,
            end >= limit || "(.,)]}[?!;{".unicodeScalars.contains(where: { list.isMark(end, $0) }) || list.tokens[end].isAfterLineEnd
        else { return nil }
        return end
    }
}

/// Distinguishes a block of accessors from a closure.
struct AccessorWords {
    private let list: TokenList
    private static let observers: Set<String> = ["willSet", "didSet"]

    init(_ list: TokenList) { self.list = list }

    /// True for a block of accessors after an initial value; false for a closure, which may call a function `get`. The compiler decides in the same
    /// way: only observers and `init` can follow a value.
    func followValue(at index: Int) -> Bool { firstWord(index).map { Self.observers.contains($0) || $0 == "init" } ?? false }

    /// True for a block of `willSet` and `didSet`.
    func areObservers(at index: Int) -> Bool { firstWord(index).map(Self.observers.contains) ?? false }

    /// The first word of a block, after attributes; nil when the next token cannot follow the name of an accessor.
    private func firstWord(_ start: Int) -> String? {
        guard let closing = list.closing(of: start) else { return nil }
        var index = start + 1
        while index < closing, list.isMark(index, "@") {
            index += 2
            if list.isMark(index, "("), !list.tokens[index].isAfterSpace { index = list.afterGroup(index) }
        }
        guard index < closing, list.isName(index) else { return nil }
        let next = index + 1
        let isFollowed = next >= closing || ["{", "("].contains(where: { list.isMark(next, $0) }) || list.isName(next)
        return isFollowed ? list.text(index) : nil
    }
}
