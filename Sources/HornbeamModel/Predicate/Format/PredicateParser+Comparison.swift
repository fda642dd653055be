// Parses comparisons: an optional quantifier, two expressions, an operator and its options.

extension PredicateParser {
    mutating func parseComparison() throws(PredicateSyntaxProblem) -> Parsed {
        let start = token.start
        if at(.truePredicate) || at(.falsePredicate) {
            let value = at(.truePredicate)
            advance()
            return Parsed(kind: .predicate(.constant(value)), height: 1, start: start)
        }
        let quantifier = takeQuantifier()
        let left = try parseExpression()
        if case .predicate = left.kind {
            guard quantifier == nil else {
                throw problem("expected a collection after \(quantifier!.word), but a whole comparison begins here", at: left.start)
            }
            return left
        }
        guard let (comparator, isNegated) = try takeComparator() else {
            guard quantifier == nil else { throw unexpected("an operator such as ==, <, IN or CONTAINS") }
            return left
        }
        let options = try takeOptions(after: comparator)
        let right = try parseExpression()
        var node = FetchPredicate.Node.comparison(
            try comparison(left, comparator, right, options: options, quantifier: quantifier))
        var height = try grown(max(left.height, right.height), at: start)
        if isNegated != (quantifier == .some(.none)) {
            node = .not(node)
            height = try grown(height, at: start)
        }
        return Parsed(kind: .predicate(node), height: height, start: start)
    }

    private enum Quantifier {
        case any, all, none
        var modifier: FetchPredicate.Modifier { self == .all ? .all : .any }
        var word: String {
            switch self {
            case .any: "ANY"
            case .all: "ALL"
            case .none: "NONE"
            }
        }
    }

    private mutating func takeQuantifier() -> Quantifier? {
        if consume(.any) || consume(.some) { return .any }
        if consume(.all) { return .all }
        if consume(.none) { return Quantifier.none }
        return nil
    }

    private func comparison(
        _ left: Parsed, _ comparator: FetchPredicate.Comparator, _ right: Parsed,
        options: FetchPredicate.Options, quantifier: Quantifier?
    ) throws(PredicateSyntaxProblem) -> FetchPredicate.Comparison {
        let rightNode = try requireExpression(right).node
        if comparator == .between { try checkBounds(rightNode, at: right.start) }
        return try FetchPredicate.Comparison(
            requireExpression(left).node, comparator, rightNode, options: options,
            modifier: quantifier?.modifier ?? .direct)
    }

    private func checkBounds(_ node: FetchExpression.Node, at start: Int) throws(PredicateSyntaxProblem) {
        let count: Int
        switch node {
        case .constant(.array(let values)): count = values.count
        case .aggregate(let nodes): count = nodes.count
        case .constant(.null): return
        case .constant: count = 1
        default: return
        }
        guard count == 2 else { throw problem("BETWEEN needs two bounds, {low, high}, but there are \(count)", at: start) }
    }

    private mutating func takeComparator() throws(PredicateSyntaxProblem) -> (FetchPredicate.Comparator, negated: Bool)? {
        if at(.not) {
            advance()
            guard let comparator = Self.wordComparator(token.kind) else {
                throw unexpected("IN, BETWEEN, CONTAINS, BEGINSWITH, ENDSWITH, LIKE or MATCHES after NOT")
            }
            advance()
            return (comparator, true)
        }
        guard let comparator = Self.signComparator(token.kind) ?? Self.wordComparator(token.kind) else { return nil }
        advance()
        return (comparator, false)
    }

    private static func signComparator(_ kind: PredicateToken.Kind) -> FetchPredicate.Comparator? {
        guard case .sign(let sign) = kind else { return nil }
        switch sign {
        case .equal: return .equal
        case .notEqual: return .notEqual
        case .less: return .lessThan
        case .lessOrEqual: return .lessThanOrEqual
        case .greater: return .greaterThan
        case .greaterOrEqual: return .greaterThanOrEqual
        default: return nil
        }
    }

    private static func wordComparator(_ kind: PredicateToken.Kind) -> FetchPredicate.Comparator? {
        guard case .keyword(let keyword) = kind else { return nil }
        switch keyword {
        case .in: return .in
        case .between: return .between
        case .contains: return .contains
        case .beginsWith: return .beginsWith
        case .endsWith: return .endsWith
        case .like: return .like
        case .matches: return .matches
        case .typeConformsTo: return .typeConformsTo
        case .typeEquals: return .typeEquals
        default: return nil
        }
    }

    private mutating func takeOptions(after comparator: FetchPredicate.Comparator) throws(PredicateSyntaxProblem) -> FetchPredicate.Options {
        guard at(.openBracket) else { return [] }
        guard comparator != .between, comparator != .typeConformsTo, comparator != .typeEquals else {
            throw problem("\(comparator.word) takes no options")
        }
        advance()
        var options: FetchPredicate.Options = []
        for byte in scanner.bytes[token.start..<token.end] {
            switch byte | 0x20 {
            case UInt8(ascii: "c"): options.insert(.caseInsensitive)
            case UInt8(ascii: "d"): options.insert(.diacriticInsensitive)
            case UInt8(ascii: "n"): options.insert(.normalized)
            case UInt8(ascii: "l"): options.insert(.localeSensitive)
            default: throw unexpected("options out of c, d, n and l")
            }
        }
        guard !options.isEmpty else { throw unexpected("options out of c, d, n and l") }
        advance()
        try expect(.closeBracket, "“]” after the options")
        return options
    }
}
