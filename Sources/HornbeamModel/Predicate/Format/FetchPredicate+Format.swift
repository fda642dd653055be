extension FetchPredicate {
    /// Parses a format such as `"latitude > %d AND name BEGINSWITH[c] %@"`.
    ///
    /// `%@` stands for any value, a collection, nil, a predicate or an expression; `%K` for a key path; `%d` and similar
    /// placeholders for a number. `$name` is a variable that `substituting(_:)` or the evaluation replaces.
    /// Safe for texts from untrusted sources: length and depth are limited, and only
    /// built-in functions can be called. Linear in the length of the format.
    /// - Throws: `HornbeamError` with code `predicateSyntax`, whose message marks the position with a caret.
    public init(format: String, _ arguments: (any PredicateArgument)?...) throws {
        try self.init(format: format, arguments: arguments)
    }

    /// Parses a format with its arguments in an array.
    /// - Throws: `HornbeamError` with code `predicateSyntax`.
    public init(format: String, arguments: [(any PredicateArgument)?]) throws {
        let values = arguments.map { $0?.predicateArgument ?? .value(.null) }
        node = try PredicateParser.predicate(format, values)
    }

    /// The predicate in canonical form. Parsing it gives a predicate with the same canonical form. Blocks
    /// have no text.
    public var predicateFormat: String { PredicatePrinter.format(node) }
}

extension FetchPredicate: CustomStringConvertible {
    public var description: String { predicateFormat }
}

extension FetchExpression {
    /// Parses a format such as `"lines.@sum.price * 1.2"`.
    /// - Throws: `HornbeamError` with code `predicateSyntax`, whose message marks the position with a caret.
    public init(format: String, _ arguments: (any PredicateArgument)?...) throws {
        try self.init(format: format, arguments: arguments)
    }

    /// Parses a format with its arguments in an array.
    /// - Throws: `HornbeamError` with code `predicateSyntax`.
    public init(format: String, arguments: [(any PredicateArgument)?]) throws {
        let values = arguments.map { $0?.predicateArgument ?? .value(.null) }
        node = try PredicateParser.expression(format, values)
    }

    /// The expression of one key path, such as `"author.name"`.
    /// - Throws: `HornbeamError` with code `predicateSyntax`.
    public init(keyPath: String) throws {
        do {
            node = try PredicateParser.expression("%K", [.value(.string(keyPath))])
        } catch {
            throw HornbeamError(
                .predicateSyntax, "“\(keyPath)” is not a key path: names, joined by dots, were expected.", key: keyPath)
        }
    }

    /// The expression in canonical form, which parses to the same expression.
    public var expressionFormat: String { PredicatePrinter.format(node) }
}

extension FetchExpression: CustomStringConvertible {
    public var description: String { expressionFormat }
}
