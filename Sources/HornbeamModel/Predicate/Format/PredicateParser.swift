/// Parses a predicate format by recursive descent, in one pass.
///
/// A parenthesis may open a predicate or an expression. The same functions parse both and
/// return the kind that they found, so no token is parsed twice. The height of the tree is limited, so
/// no text can exhaust the stack during parsing or a later traversal.
struct PredicateParser {
    /// The maximum height of a tree.
    static let heightMax = 120
    /// The maximum length of a format in bytes.
    static let formatLengthMax = 1 << 20

    var scanner: PredicateScanner
    var token: PredicateToken
    let arguments: [PredicateArgumentValue]
    var argumentsUsed = 0
    /// The number of strings that consist of a placeholder in quotes. They are plain text; as many extra arguments are allowed and ignored.
    var quotedPlaceholders = 0
    var depth = 0

    init(_ format: String, _ arguments: [PredicateArgumentValue]) throws(PredicateSyntaxProblem) {
        guard format.utf8.count <= Self.formatLengthMax else {
            throw PredicateSyntaxProblem(
                offset: 0, explanation: "it is longer than \(Self.formatLengthMax) bytes; pass long lists as arguments of %@")
        }
        scanner = PredicateScanner(format)
        token = scanner.next()
        self.arguments = arguments
    }

    /// The result of parsing a part.
    struct Parsed {
        enum Kind {
            case predicate(FetchPredicate.Node)
            case expression(FetchExpression.Node)
        }
        var kind: Kind
        var height: Int
        var start: Int
    }

    static func predicate(_ format: String, _ arguments: [PredicateArgumentValue]) throws -> FetchPredicate.Node {
        do throws(PredicateSyntaxProblem) {
            var parser = try PredicateParser(format, arguments)
            let parsed = try parser.parseOr()
            let node = try parser.requirePredicate(parsed).node
            try parser.finish()
            return node
        } catch {
            throw error.error(in: format)
        }
    }

    static func expression(_ format: String, _ arguments: [PredicateArgumentValue]) throws -> FetchExpression.Node {
        do throws(PredicateSyntaxProblem) {
            var parser = try PredicateParser(format, arguments)
            let parsed = try parser.parseOr()
            let node = try parser.requireExpression(parsed).node
            try parser.finish()
            return node
        } catch {
            throw error.error(in: format)
        }
    }

    // MARK: Tokens

    mutating func advance() { token = scanner.next() }

    func at(_ sign: PredicateToken.Sign) -> Bool { token.kind == .sign(sign) }
    func at(_ keyword: PredicateToken.Keyword) -> Bool { token.kind == .keyword(keyword) }

    mutating func consume(_ sign: PredicateToken.Sign) -> Bool {
        guard at(sign) else { return false }
        advance()
        return true
    }

    mutating func consume(_ keyword: PredicateToken.Keyword) -> Bool {
        guard at(keyword) else { return false }
        advance()
        return true
    }

    mutating func expect(_ sign: PredicateToken.Sign, _ wanted: String) throws(PredicateSyntaxProblem) {
        guard consume(sign) else { throw unexpected(wanted) }
    }

    private mutating func finish() throws(PredicateSyntaxProblem) {
        guard token.kind == .end else { throw unexpected("AND, OR or the end of the format") }
        guard (argumentsUsed ... argumentsUsed + quotedPlaceholders).contains(arguments.count) else {
            throw PredicateSyntaxProblem(
                offset: scanner.count,
                explanation: "it has \(argumentsUsed) placeholders but \(arguments.count) arguments were given")
        }
    }

    /// The problem at the current token.
    func unexpected(_ wanted: String) -> PredicateSyntaxProblem {
        let found: String
        switch token.kind {
        case .end: found = "the format ends here"
        case .unterminatedString: return PredicateSyntaxProblem(offset: token.start, explanation: "the string that begins here has no closing quote")
        case .sign(.closeParenthesis): found = "found a parenthesis that closes too early"
        default: found = "found “\(scanner.text(token.start..<min(token.end, token.start + 40)))”"
        }
        return PredicateSyntaxProblem(offset: token.start, explanation: "expected \(wanted), but \(found)")
    }

    func problem(_ explanation: String, at offset: Int? = nil) -> PredicateSyntaxProblem {
        PredicateSyntaxProblem(offset: offset ?? token.start, explanation: explanation)
    }

    // MARK: Results

    // These methods read the current token. Do not parse inside their argument lists: Swift reads `self`
    // before it evaluates the arguments.

    func grown(_ height: Int, at start: Int) throws(PredicateSyntaxProblem) -> Int {
        guard height < Self.heightMax else { throw problem("it is nested more than \(Self.heightMax) levels deep", at: start) }
        return height + 1
    }

    mutating func increaseDepth() throws(PredicateSyntaxProblem) {
        depth += 1
        guard depth <= Self.heightMax else { throw problem("it is nested more than \(Self.heightMax) levels deep") }
    }

    func requirePredicate(_ parsed: Parsed) throws(PredicateSyntaxProblem) -> (node: FetchPredicate.Node, height: Int) {
        switch parsed.kind {
        case .predicate(let node): return (node, parsed.height)
        case .expression: throw unexpected("an operator such as ==, <, IN or CONTAINS")
        }
    }

    func requireExpression(_ parsed: Parsed) throws(PredicateSyntaxProblem) -> (node: FetchExpression.Node, height: Int) {
        switch parsed.kind {
        case .expression(let node): return (node, parsed.height)
        case .predicate: throw problem("expected a value, but a whole comparison begins here", at: parsed.start)
        }
    }

    // MARK: Compound predicates

    mutating func parseOr() throws(PredicateSyntaxProblem) -> Parsed {
        try increaseDepth()
        defer { depth -= 1 }
        let first = try parseAnd()
        guard at(.or) || at(.doubleBar) else { return first }
        var nodes: [FetchPredicate.Node] = []
        var height = 0
        try append(first, to: &nodes, &height)
        while consume(.or) || consume(.doubleBar) {
            let next = try parseAnd()
            try append(next, to: &nodes, &height)
        }
        return Parsed(kind: .predicate(.or(nodes)), height: try grown(height, at: first.start), start: first.start)
    }

    private mutating func parseAnd() throws(PredicateSyntaxProblem) -> Parsed {
        let first = try parseNot()
        guard at(.and) || at(.doubleAmpersand) else { return first }
        var nodes: [FetchPredicate.Node] = []
        var height = 0
        try append(first, to: &nodes, &height)
        while consume(.and) || consume(.doubleAmpersand) {
            let next = try parseNot()
            try append(next, to: &nodes, &height)
        }
        return Parsed(kind: .predicate(.and(nodes)), height: try grown(height, at: first.start), start: first.start)
    }

    private func append(
        _ parsed: Parsed, to nodes: inout [FetchPredicate.Node], _ height: inout Int
    ) throws(PredicateSyntaxProblem) {
        let (node, nodeHeight) = try requirePredicate(parsed)
        nodes.append(node)
        height = max(height, nodeHeight)
    }

    private mutating func parseNot() throws(PredicateSyntaxProblem) -> Parsed {
        guard at(.not) || at(.exclamation) else { return try parseComparison() }
        let start = token.start
        advance()
        try increaseDepth()
        defer { depth -= 1 }
        let parsed = try parseNot()
        let (node, height) = try requirePredicate(parsed)
        return Parsed(kind: .predicate(.not(node)), height: try grown(height, at: start), start: start)
    }
}
