import Foundation

extension PredicateParser {
    mutating func parsePrimary() throws(PredicateSyntaxProblem) -> Parsed {
        let start = token.start
        switch token.kind {
        case .identifier: return try parseName()
        case .number: return leaf(.constant(try takeNumber()), start)
        case .string: return leaf(.constant(.string(try takeString())), start)
        case .variable: return leaf(.variable(takeText(dropping: 1)), start)
        case .escapedName: return leaf(.keyPath(.evaluatedObject, [.name(takeText(dropping: 1))]), start)
        case .collectionOperator:
            return leaf(.keyPath(.evaluatedObject, [try takeCollectionOperator()]), start)
        case .argument: return try parseArgument()
        case .keyPathArgument: return leaf(try keyPathArgument(), start)
        case .numberArgument: return leaf(.constant(try numberArgument()), start)
        case .sign(.openParenthesis):
            advance()
            var inner = try parseOr()
            try expect(.closeParenthesis, Self.closing(inner))
            inner.start = start
            return inner
        case .sign(.openBrace): return try parseAggregate()
        case .keyword(let keyword): return try parseKeyword(keyword)
        default: throw unexpected("a value, a key or “(”")
        }
    }

    private static func closing(_ parsed: Parsed) -> String {
        if case .predicate = parsed.kind { return "AND, OR or “)”" }
        return "an operator or “)”"
    }

    func leaf(_ node: FetchExpression.Node, _ start: Int) -> Parsed {
        Parsed(kind: .expression(node), height: 1, start: start)
    }

    // MARK: Words

    private mutating func parseKeyword(_ keyword: PredicateToken.Keyword) throws(PredicateSyntaxProblem) -> Parsed {
        let word = token
        advance()
        switch keyword {
        case .null: return leaf(.constant(.null), word.start)
        case .yes: return leaf(.constant(.int(1)), word.start)
        case .no: return leaf(.constant(.int(0)), word.start)
        case .self: return leaf(.evaluatedObject, word.start)
        case .anyKey: return leaf(.anyKey, word.start)
        default: break
        }
        guard keyword.isContextual else {
            token = word
            scanner.move(to: word.end)
            let text = scanner.text(word.start..<word.end)
            throw unexpected("a value or a key (a key named \(text) is written #\(text))")
        }
        guard at(.openParenthesis) else {
            return leaf(.keyPath(.evaluatedObject, [.name(scanner.text(word.start..<word.end))]), word.start)
        }
        return try parseForm(keyword, word)
    }

    private mutating func parseForm(
        _ keyword: PredicateToken.Keyword, _ word: PredicateToken
    ) throws(PredicateSyntaxProblem) -> Parsed {
        switch keyword {
        case .subquery: return try parseSubquery(word.start)
        case .function: return try parseFunctionForm(word.start)
        case .cast: return try parseCast(word.start)
        case .ternary: return try parseTernary(word.start)
        case .fetch: return try parseFetch(word.start)
        default: return try parseCall(scanner.text(word.start..<word.end), word.start)
        }
    }

    /// Parses an identifier: a key, or a function when a parenthesis or a colon follows.
    private mutating func parseName() throws(PredicateSyntaxProblem) -> Parsed {
        let word = token
        if let name = functionName(from: word) {
            advance()
            return try parseCall(name, word.start)
        }
        let text = takeText()
        if at(.openParenthesis) { return try parseCall(text, word.start) }
        return leaf(.keyPath(.evaluatedObject, [.name(text)]), word.start)
    }

    /// The name of a function such as `multiply:by:`; nil when the word is not followed by a colon, or is followed by `:=`.
    private mutating func functionName(from word: PredicateToken) -> String? {
        let bytes = scanner.bytes
        var end = word.end
        guard bytes[end] == UInt8(ascii: ":"), bytes[end + 1] != UInt8(ascii: "=") else { return nil }
        while bytes[end] == UInt8(ascii: ":") || PredicateScanner.continuesName(bytes[end]) { end += 1 }
        scanner.move(to: end)
        return scanner.text(word.start..<end)
    }

    // MARK: Calls

    private mutating func parseCall(_ name: String, _ start: Int) throws(PredicateSyntaxProblem) -> Parsed {
        guard let function = PredicateFunction(named: name) else {
            throw problem(
                "there is no function \(name)"
                    + suggestion(for: name, among: PredicateFunction.allCases.map(\.rawValue)), at: start)
        }
        let (nodes, height) = try parseArguments()
        return try call(function, nodes, height, start)
    }

    private func call(
        _ function: PredicateFunction, _ nodes: [FetchExpression.Node], _ height: Int, _ start: Int
    ) throws(PredicateSyntaxProblem) -> Parsed {
        let counts = function.argumentCounts
        guard counts.contains(nodes.count) else {
            let wanted = counts.upperBound == .max ? "at least 1" : "\(counts.lowerBound)"
            throw problem("the function \(function.rawValue) takes \(wanted) arguments, but there are \(nodes.count)", at: start)
        }
        return Parsed(kind: .expression(.function(function, nodes)), height: try grown(height, at: start), start: start)
    }

    /// Parses arguments `(a, b, c)`, possibly empty.
    private mutating func parseArguments() throws(PredicateSyntaxProblem) -> ([FetchExpression.Node], height: Int) {
        try expect(.openParenthesis, "“(” after the name of the function")
        var nodes: [FetchExpression.Node] = []
        var height = 0
        if consume(.closeParenthesis) { return (nodes, height) }
        repeat { try appendExpression(to: &nodes, &height) } while consume(.comma)
        try expect(.closeParenthesis, "“,” or “)”")
        return (nodes, height)
    }

    private mutating func appendExpression(
        to nodes: inout [FetchExpression.Node], _ height: inout Int
    ) throws(PredicateSyntaxProblem) {
        try increaseDepth()
        defer { depth -= 1 }
        let (node, nodeHeight) = try requireExpression(parseExpression())
        nodes.append(node)
        height = max(height, nodeHeight)
    }

    private mutating func parseAggregate() throws(PredicateSyntaxProblem) -> Parsed {
        let start = token.start
        advance()
        var nodes: [FetchExpression.Node] = []
        var height = 0
        if !consume(.closeBrace) {
            repeat { try appendExpression(to: &nodes, &height) } while consume(.comma)
            try expect(.closeBrace, "“,” or “}”")
        }
        if let values = FetchExpression.constants(nodes) { return leaf(.constant(.array(values)), start) }
        return Parsed(kind: .expression(.aggregate(nodes)), height: try grown(height, at: start), start: start)
    }

    private mutating func parseInner() throws(PredicateSyntaxProblem) -> (node: FetchExpression.Node, height: Int) {
        try increaseDepth()
        defer { depth -= 1 }
        return try requireExpression(parseExpression())
    }

    private mutating func parseSubquery(_ start: Int) throws(PredicateSyntaxProblem) -> Parsed {
        advance()
        let (collection, height) = try parseInner()
        try expect(.comma, "“,” after the collection of SUBQUERY")
        guard token.kind == .variable else { throw unexpected("a variable such as $x as the second part of SUBQUERY") }
        let variable = takeText(dropping: 1)
        try expect(.comma, "“,” after the variable of SUBQUERY")
        let parsed = try parseOr()
        let (predicate, predicateHeight) = try requirePredicate(parsed)
        try expect(.closeParenthesis, "AND, OR or “)”")
        return Parsed(
            kind: .expression(.subquery(collection, variable, predicate)),
            height: try grown(max(height, predicateHeight), at: start), start: start)
    }

    private mutating func parseTernary(_ start: Int) throws(PredicateSyntaxProblem) -> Parsed {
        advance()
        let parsed = try parseOr()
        let (predicate, height) = try requirePredicate(parsed)
        try expect(.comma, "“,” after the condition of TERNARY")
        let (yes, yesHeight) = try parseInner()
        try expect(.comma, "“,” after the second part of TERNARY")
        let (no, noHeight) = try parseInner()
        try expect(.closeParenthesis, "“)”")
        return Parsed(
            kind: .expression(.conditional(predicate, yes, no)),
            height: try grown(max(height, yesHeight, noHeight), at: start), start: start)
    }

    /// Parses `FUNCTION(target, "name:", …)`, a call of the built-in function with this name, never of a method.
    private mutating func parseFunctionForm(_ start: Int) throws(PredicateSyntaxProblem) -> Parsed {
        let opening = token.end
        let (nodes, height) = try parseArguments()
        guard nodes.count >= 2, case .constant(.string(let name)) = nodes[1] else {
            throw problem("FUNCTION needs a target and the name of a function as a string", at: opening)
        }
        guard let function = PredicateFunction(named: name) else {
            throw problem(
                "FUNCTION calls built-in functions only, and there is none named \(name)"
                    + suggestion(for: name, among: PredicateFunction.allCases.map(\.rawValue)), at: opening)
        }
        return try call(function, [nodes[0]] + nodes[2...], height, start)
    }

    private mutating func parseCast(_ start: Int) throws(PredicateSyntaxProblem) -> Parsed {
        let opening = token.end
        let (nodes, height) = try parseArguments()
        guard nodes.count == 2, case .constant(.string(let name)) = nodes[1] else {
            throw problem("CAST needs a value and the name of a type as a string", at: opening)
        }
        guard let type = FetchExpression.CastType(named: name) else {
            throw problem(
                "CAST has no type \(name)"
                    + suggestion(for: name, among: FetchExpression.CastType.allCases.map(\.rawValue)), at: opening)
        }
        if case .constant(let value) = nodes[0], let constant = type.folded(value) {
            return leaf(.constant(constant), start)
        }
        return Parsed(kind: .expression(.cast(nodes[0], type)), height: try grown(height, at: start), start: start)
    }

    private mutating func parseFetch(_ start: Int) throws(PredicateSyntaxProblem) -> Parsed {
        let opening = token.end
        let (nodes, height) = try parseArguments()
        guard nodes.count == 2 || nodes.count == 3 else {
            throw problem("FETCH needs a request and a context, and may have YES for counting only", at: opening)
        }
        let countOnly = nodes.count == 3 && nodes[2] == .constant(.int(1))
        return Parsed(
            kind: .expression(.fetch(nodes[0], nodes[1], countOnly: countOnly)),
            height: try grown(height, at: start), start: start)
    }
}
