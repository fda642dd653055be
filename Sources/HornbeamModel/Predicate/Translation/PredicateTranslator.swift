public import Foundation

extension FetchPredicate {
    /// Translates a predicate of Foundation's `#Predicate` macro.
    ///
    /// ```swift
    /// let predicate = try FetchPredicate(#Predicate<Event> { $0.latitude > 37 && $0.tags.contains { $0.name == "x" } })
    /// ```
    /// The rules of the format language apply: texts compare by bytes, and `.count` of a text is its
    /// length in UTF-16 units. `Docs/Querying.md` describes comparisons with nil.
    /// - Throws: `HornbeamError` with code `predicateInvalid` that names the part without an equivalent.
    public init<Subject>(_ predicate: Predicate<Subject>) throws {
        var translator = PredicateTranslator()
        translator.variables[predicate.variable.key] = .evaluatedObject
        node = try translator.predicate(predicate.expression)
    }
}

extension FetchRequest {
    /// The request with an additional condition from Foundation's `#Predicate`: `.where(#Predicate<Book> { $0.year < 1900 })`.
    ///
    /// - Throws: The errors of `FetchPredicate(_:)`.
    public func `where`(_ predicate: Predicate<Result>) throws -> Self { `where`(try FetchPredicate(predicate)) }
}

extension FetchExpression {
    /// Translates an expression of Foundation's `#Expression` macro, with the same rules as for predicates.
    ///
    /// ```swift
    /// let total = try FetchExpression(#Expression<Line, Double> { $0.price * $0.amount })
    /// ```
    /// - Throws: `HornbeamError` with code `predicateInvalid` that names the part without an equivalent.
    public init<Subject, Output>(_ expression: Foundation.Expression<Subject, Output>) throws {
        var translator = PredicateTranslator()
        translator.variables[expression.variable.key] = .evaluatedObject
        node = try translator.expression(expression.expression)
    }
}

/// A translation of Foundation's expression tree, with the expressions that replace its variables.
struct PredicateTranslator {
    var variables: [PredicateExpressions.VariableID: FetchExpression.Node] = [:]
    var subqueries = 0

    /// The result of translating a part.
    enum Translated {
        case predicate(FetchPredicate.Node)
        case expression(FetchExpression.Node)
    }

    mutating func translate(_ part: Any) throws -> Translated {
        guard let node = part as? any TranslatablePart else { throw Self.untranslatable(part) }
        return try node.translated(&self)
    }

    mutating func predicate(_ part: Any) throws -> FetchPredicate.Node {
        switch try translate(part) {
        case .predicate(let node): return node
        case .expression(.conditional(let condition, .constant(.int(1)), .constant(.int(0)))): return condition
        case .expression(.constant(.int(let flag))): return .constant(flag != 0)
        case .expression(let node): return .comparison(.init(node, .equal, .constant(.int(1))))
        }
    }

    mutating func expression(_ part: Any) throws -> FetchExpression.Node {
        switch try translate(part) {
        case .expression(let node): return node
        case .predicate(.constant(let value)): return .constant(.int(value ? 1 : 0))
        case .predicate(let node): return .conditional(node, .constant(.int(1)), .constant(.int(0)))
        }
    }

    /// `SUBQUERY(collection, $x, test)` with a new variable.
    mutating func subquery(
        _ collection: Any, _ variable: PredicateExpressions.VariableID, _ test: Any, isNegated: Bool = false
    ) throws -> FetchExpression.Node {
        let members = try expression(collection)
        let name = subqueries == 0 ? "x" : "x\(subqueries)"
        subqueries += 1
        variables[variable] = .variable(name)
        let condition = try predicate(test)
        return .subquery(members, name, isNegated ? .not(condition) : condition)
    }

    static func untranslatable(_ part: Any) -> HornbeamError {
        let type = String(String(describing: Swift.type(of: part)).prefix { $0 != "<" })
        return HornbeamError(
            .predicateInvalid,
            "The #Predicate uses \(type), which has no counterpart in the predicate language. "
                + "Write this part as a format, or filter the fetched objects.")
    }

    /// The steps of a key path from a type.
    static func steps(_ keyPath: AnyKeyPath, from type: Any.Type) throws -> [FetchExpression.Step] {
        if let subject = type as? any PredicateSubject.Type {
            return try subject.predicateKeys(along: keyPath).map { .name($0) }
        }
        let text = "\(keyPath)"
        guard let dot = text.firstIndex(of: "."), !text.contains("<"), !text.contains("[") else {
            throw HornbeamError(
                .predicateInvalid,
                "The #Predicate reads a computed property of \(type), whose name is not known. "
                    + "Make \(type) conform to PredicateSubject, or write this part as a format.")
        }
        return text[text.index(after: dot)...].split(separator: ".").compactMap { part in
            let name = part.drop { $0 == "?" || $0 == "!" }.prefix { $0 != "?" && $0 != "!" }
            return name.isEmpty ? nil : .name(String(name))
        }
    }
}

/// A node of Foundation's expression tree that has an equivalent in the predicate language.
protocol TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> PredicateTranslator.Translated
}
