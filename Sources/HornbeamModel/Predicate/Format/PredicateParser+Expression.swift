extension PredicateParser {
    /// Parses an expression, or an assignment `$name := expression`.
    mutating func parseExpression() throws(PredicateSyntaxProblem) -> Parsed {
        let left = try parseBinary(1)
        guard at(.assign) else { return left }
        guard case .expression(.variable(let name)) = left.kind else {
            throw problem("expected a variable such as $x before “:=”", at: left.start)
        }
        advance()
        let (value, height) = try requireExpression(parseBinary(1))
        return Parsed(kind: .expression(.assignment(name, value)), height: try grown(height, at: left.start), start: left.start)
    }

    // MARK: Operators

    private enum Operation {
        case set(FetchExpression.SetOperator)
        case function(PredicateFunction)

        var precedence: Int {
            switch self {
            case .set: 1
            case .function(.modulus): PredicateFunction.divide.infix?.precedence ?? 0
            case .function(let function): function.infix?.precedence ?? 0
            }
        }
    }

    private var operation: Operation? {
        switch token.kind {
        case .sign(.plus): .function(.add)
        case .sign(.hyphen): .function(.subtract)
        case .sign(.star): .function(.multiply)
        case .sign(.slash): .function(.divide)
        case .sign(.percent): .function(.modulus)
        case .sign(.bar): .function(.bitOr)
        case .sign(.caret): .function(.bitXor)
        case .sign(.ampersand): .function(.bitAnd)
        case .sign(.shiftLeft): .function(.shiftLeft)
        case .sign(.shiftRight): .function(.shiftRight)
        case .keyword(.union): .set(.union)
        case .keyword(.intersect): .set(.intersect)
        case .keyword(.minus): .set(.minus)
        default: nil
        }
    }

    private mutating func parseBinary(_ lowest: Int) throws(PredicateSyntaxProblem) -> Parsed {
        var left = try parseUnary()
        while let operation, operation.precedence >= lowest {
            let (leftNode, leftHeight) = try requireExpression(left)
            advance()
            let (rightNode, rightHeight) = try requireExpression(parseBinary(operation.precedence + 1))
            let node: FetchExpression.Node =
                switch operation {
                case .set(let set): .set(set, leftNode, rightNode)
                case .function(let function): .function(function, [leftNode, rightNode])
                }
            left.kind = .expression(node)
            left.height = try grown(max(leftHeight, rightHeight), at: left.start)
        }
        return left
    }

    private mutating func parseUnary() throws(PredicateSyntaxProblem) -> Parsed {
        let start = token.start
        if at(.hyphen) {
            if let literal = try parseNegativeLiteral() { return literal }
            return try parsePrefixed(start) { .function(.subtract, [.constant(.int(0)), $0]) }
        }
        if at(.tilde) { return try parsePrefixed(start) { .function(.onesComplement, [$0]) } }
        return try parsePower()
    }

    private mutating func parsePrefixed(
        _ start: Int, _ wrap: (FetchExpression.Node) -> FetchExpression.Node
    ) throws(PredicateSyntaxProblem) -> Parsed {
        advance()
        try increaseDepth()
        defer { depth -= 1 }
        let (node, height) = try requireExpression(parseUnary())
        return Parsed(kind: .expression(wrap(node)), height: try grown(height, at: start), start: start)
    }

    /// Parses `-3` as a constant; nil before a power, because `-2**2` is `-(2**2)`.
    private mutating func parseNegativeLiteral() throws(PredicateSyntaxProblem) -> Parsed? {
        let minus = token
        advance()
        guard token.kind == .number, token.start == minus.end else {
            token = minus
            scanner.move(to: minus.end)
            return nil
        }
        let value = try numberValue(token, isNegative: true)
        advance()
        guard !at(.power) else {
            token = minus
            scanner.move(to: minus.end)
            return nil
        }
        return Parsed(kind: .expression(.constant(value)), height: 1, start: minus.start)
    }

    private mutating func parsePower() throws(PredicateSyntaxProblem) -> Parsed {
        let base = try parsePostfix()
        guard at(.power) else { return base }
        let (baseNode, baseHeight) = try requireExpression(base)
        advance()
        try increaseDepth()
        defer { depth -= 1 }
        let (exponent, height) = try requireExpression(parseUnary())
        return Parsed(
            kind: .expression(.function(.power, [baseNode, exponent])),
            height: try grown(max(baseHeight, height), at: base.start), start: base.start)
    }

    // MARK: Steps and indexes

    private mutating func parsePostfix() throws(PredicateSyntaxProblem) -> Parsed {
        var parsed = try parsePrimary()
        while true {
            if at(.dot) {
                let (node, height) = try requireExpression(parsed)
                let steps = try parseSteps()
                parsed.kind = .expression(Self.extended(node, by: steps))
                parsed.height = try grown(height, at: parsed.start)
            } else if at(.openBracket) {
                let (node, height) = try requireExpression(parsed)
                let (index, indexHeight) = try parseIndex()
                parsed.kind = .expression(.index(node, index))
                parsed.height = try grown(max(height, indexHeight), at: parsed.start)
            } else {
                return parsed
            }
        }
    }

    private static func extended(_ node: FetchExpression.Node, by steps: [FetchExpression.Step]) -> FetchExpression.Node {
        guard !steps.isEmpty else { return node }
        guard case .keyPath(let root, let first) = node else { return .keyPath(node, steps) }
        return .keyPath(root, first + steps)
    }

    /// Parses steps such as `.name.@count.%K`; the current token is the first dot. The step `self` has no effect.
    private mutating func parseSteps() throws(PredicateSyntaxProblem) -> [FetchExpression.Step] {
        var steps: [FetchExpression.Step] = []
        while consume(.dot) {
            switch token.kind {
            case .keyword(.self): advance()
            case .identifier, .keyword: steps.append(.name(takeText()))
            case .escapedName: steps.append(.name(takeText(dropping: 1)))
            case .collectionOperator: steps.append(try takeCollectionOperator())
            case .keyPathArgument:
                guard case .keyPath(.evaluatedObject, let more) = try keyPathArgument() else {
                    throw problem("the argument of this %K must be a key path")
                }
                steps += more
            default: throw unexpected("a key after the dot")
            }
            guard steps.count < Self.heightMax else { throw problem("this key path has more than \(Self.heightMax) parts") }
        }
        return steps
    }

    mutating func takeText(dropping prefix: Int = 0) -> String {
        let text = scanner.text(token.start + prefix..<token.end)
        advance()
        return text
    }

    mutating func takeCollectionOperator() throws(PredicateSyntaxProblem) -> FetchExpression.Step {
        let name = scanner.text(token.start + 1..<token.end)
        guard let found = FetchExpression.CollectionOperator(rawValue: name) else {
            throw problem("there is no operator @\(name)" + suggestion(for: name, among: FetchExpression.CollectionOperator.allCases.map(\.rawValue)))
        }
        advance()
        return .collection(found)
    }

    private mutating func parseIndex() throws(PredicateSyntaxProblem) -> (FetchExpression.Index, height: Int) {
        advance()
        let index: FetchExpression.Index
        var height = 0
        switch token.kind {
        case .keyword(.first):
            index = .first
            advance()
        case .keyword(.last):
            index = .last
            advance()
        case .keyword(.size):
            index = .size
            advance()
        default:
            try increaseDepth()
            defer { depth -= 1 }
            let (node, nodeHeight) = try requireExpression(parseExpression())
            index = .value(node)
            height = nodeHeight
        }
        try expect(.closeBracket, "“]” after the index")
        return (index, height)
    }
}
