import Foundation

extension PredicateTranslator {
    /// A comparison of the number of elements of a SUBQUERY with 0.
    static func count(
        _ subquery: FetchExpression.Node, _ comparator: FetchPredicate.Comparator
    ) -> Translated {
        .predicate(.comparison(.init(.keyPath(subquery, [.collection(.count)]), comparator, .constant(.int(0)))))
    }

    /// A string operator. With an empty part it is always true, because in Swift every text contains the empty text.
    mutating func text(_ base: Any, _ comparator: FetchPredicate.Comparator, _ part: Any) throws -> Translated {
        let other = try expression(part)
        if other == .constant(.string("")) { return .predicate(.constant(true)) }
        return .predicate(.comparison(.init(try expression(base), comparator, other)))
    }
}

extension PredicateExpressions.Filter: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .expression(try translator.subquery(sequence, variable.key, filter))
    }
}

extension PredicateExpressions.SequenceContainsWhere: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        PredicateTranslator.count(try translator.subquery(sequence, variable.key, test), .notEqual)
    }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        PredicateTranslator.count(try translator.subquery(sequence, variable.key, test, isNegated: true), .equal)
    }
}

extension PredicateExpressions.SequenceContains: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        guard !(LHS.Output.self is any StringProtocol.Type) else { throw PredicateTranslator.untranslatable(self) }
        return try translator.comparison(element, .in, sequence)
    }
}

extension PredicateExpressions.CollectionContainsCollection: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        guard Base.Output.self is any StringProtocol.Type else { throw PredicateTranslator.untranslatable(self) }
        return try translator.text(base, .contains, other)
    }
}

extension PredicateExpressions.SequenceStartsWith: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        guard Base.Output.self is any StringProtocol.Type else { throw PredicateTranslator.untranslatable(self) }
        return try translator.text(base, .beginsWith, prefix)
    }
}

extension PredicateExpressions.StringContainsRegex: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        try translator.comparison(subject, .matches, regex)
    }
}

extension PredicateExpressions.SequenceMaximum: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .expression(.function(.max, [try translator.expression(elements)]))
    }
}

extension PredicateExpressions.SequenceMinimum: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .expression(.function(.min, [try translator.expression(elements)]))
    }
}

// MARK: Ranges

/// A range that is constructed inside the predicate, with the parts of its bounds.
private protocol TranslatableRange {
    var bounds: (lower: Any, upper: Any, isClosed: Bool) { get }
}

extension PredicateExpressions.Range: TranslatableRange {
    fileprivate var bounds: (lower: Any, upper: Any, isClosed: Bool) { (lower, upper, false) }
}

extension PredicateExpressions.ClosedRange: TranslatableRange {
    fileprivate var bounds: (lower: Any, upper: Any, isClosed: Bool) { (lower, upper, true) }
}

/// A captured range, with its bounds as values.
private protocol CapturedRange {
    var ends: (lower: (any PredicateArgument)?, upper: (any PredicateArgument)?, isClosed: Bool) { get }
}

extension Range: CapturedRange {
    fileprivate var ends: (lower: (any PredicateArgument)?, upper: (any PredicateArgument)?, isClosed: Bool) {
        (lowerBound as? any PredicateArgument, upperBound as? any PredicateArgument, false)
    }
}

extension ClosedRange: CapturedRange {
    fileprivate var ends: (lower: (any PredicateArgument)?, upper: (any PredicateArgument)?, isClosed: Bool) {
        (lowerBound as? any PredicateArgument, upperBound as? any PredicateArgument, true)
    }
}

extension PartialRangeFrom: CapturedRange {
    fileprivate var ends: (lower: (any PredicateArgument)?, upper: (any PredicateArgument)?, isClosed: Bool) {
        (lowerBound as? any PredicateArgument, nil, true)
    }
}

extension PartialRangeUpTo: CapturedRange {
    fileprivate var ends: (lower: (any PredicateArgument)?, upper: (any PredicateArgument)?, isClosed: Bool) {
        (nil, upperBound as? any PredicateArgument, false)
    }
}

extension PartialRangeThrough: CapturedRange {
    fileprivate var ends: (lower: (any PredicateArgument)?, upper: (any PredicateArgument)?, isClosed: Bool) {
        (nil, upperBound as? any PredicateArgument, true)
    }
}

private protocol CapturedPart {
    var captured: Any { get }
}

extension PredicateExpressions.Value: CapturedPart {
    fileprivate var captured: Any { value }
}

extension PredicateExpressions.RangeExpressionContains: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        let value = try translator.expression(element)
        let lower: FetchExpression.Node?
        let upper: FetchExpression.Node?
        let isClosed: Bool
        if let built = range as? any TranslatableRange {
            lower = try translator.expression(built.bounds.lower)
            upper = try translator.expression(built.bounds.upper)
            isClosed = built.bounds.isClosed
        } else if let part = range as? any CapturedPart, let ends = (part.captured as? any CapturedRange)?.ends {
            lower = ends.lower?.predicateArgument.expressionNode
            upper = ends.upper?.predicateArgument.expressionNode
            isClosed = ends.isClosed
        } else {
            throw PredicateTranslator.untranslatable(range)
        }
        return try Self.within(value, lower, upper, isClosed, self)
    }

    private static func within(
        _ value: FetchExpression.Node, _ lower: FetchExpression.Node?, _ upper: FetchExpression.Node?,
        _ isClosed: Bool, _ part: Any
    ) throws -> Translated {
        if isClosed, let lower, let upper {
            let bounds = FetchExpression.constants([lower, upper]).map { FetchExpression.Node.constant(.array($0)) }
            return .predicate(.comparison(.init(value, .between, bounds ?? .aggregate([lower, upper]))))
        }
        var nodes: [FetchPredicate.Node] = []
        if let lower { nodes.append(.comparison(.init(value, .greaterThanOrEqual, lower))) }
        if let upper { nodes.append(.comparison(.init(value, isClosed ? .lessThanOrEqual : .lessThan, upper))) }
        guard !nodes.isEmpty else { throw PredicateTranslator.untranslatable(part) }
        return .predicate(nodes.count == 1 ? nodes[0] : .and(nodes))
    }
}
