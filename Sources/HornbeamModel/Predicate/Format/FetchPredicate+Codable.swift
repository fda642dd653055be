/// Archived as format text with exact dates and the type of every constant. An archive is
/// therefore readable, and does not depend on the types of the syntax tree.
extension FetchPredicate: Codable {
    /// Parses a predicate from its text.
    ///
    /// - Throws: `HornbeamError` with code `predicateSyntax` when the text is not a predicate.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        node = try PredicateParser.predicate(text, [])
    }

    /// Writes the predicate as its text.
    ///
    /// - Throws: `HornbeamError` with code `predicateInvalid` when a part is a block, which has no text.
    public func encode(to encoder: any Encoder) throws {
        guard !node.hasBlocks else {
            throw HornbeamError(
                .predicateInvalid, "A predicate with a block cannot be archived. Write the condition as a format.")
        }
        var container = encoder.singleValueContainer()
        try container.encode(PredicatePrinter.format(node, isExact: true))
    }
}

/// Archived as format text, like predicates.
extension FetchExpression: Codable {
    /// Parses an expression from its text.
    ///
    /// - Throws: `HornbeamError` with code `predicateSyntax` when the text is not an expression.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        node = try PredicateParser.expression(text, [])
    }

    public func encode(to encoder: any Encoder) throws {
        guard !node.hasBlocks else {
            throw HornbeamError(
                .predicateInvalid, "An expression with a block cannot be archived. Write the calculation as a format.")
        }
        var container = encoder.singleValueContainer()
        try container.encode(PredicatePrinter.format(node, isExact: true))
    }
}
