import Foundation

typealias Translated = PredicateTranslator.Translated

extension PredicateTranslator {
    mutating func comparison(
        _ left: Any, _ comparator: FetchPredicate.Comparator, _ right: Any
    ) throws -> Translated {
        .predicate(.comparison(.init(try expression(left), comparator, try expression(right))))
    }
}

extension PredicateExpressions.Conjunction: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        let (left, right) = (try translator.predicate(lhs), try translator.predicate(rhs))
        if case .and(let nodes) = left { return .predicate(.and(nodes + [right])) }
        return .predicate(.and([left, right]))
    }
}

extension PredicateExpressions.Disjunction: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        let (left, right) = (try translator.predicate(lhs), try translator.predicate(rhs))
        if case .or(let nodes) = left { return .predicate(.or(nodes + [right])) }
        return .predicate(.or([left, right]))
    }
}

extension PredicateExpressions.Negation: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .predicate(.not(try translator.predicate(wrapped)))
    }
}

extension PredicateExpressions.Equal: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        try translator.comparison(lhs, .equal, rhs)
    }
}

extension PredicateExpressions.NotEqual: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        try translator.comparison(lhs, .notEqual, rhs)
    }
}

extension PredicateExpressions.Comparison: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        let comparator: FetchPredicate.Comparator =
            switch op {
            case .lessThan: .lessThan
            case .lessThanOrEqual: .lessThanOrEqual
            case .greaterThan: .greaterThan
            case .greaterThanOrEqual: .greaterThanOrEqual
            @unknown default: throw PredicateTranslator.untranslatable(self)
            }
        return try translator.comparison(lhs, comparator, rhs)
    }
}

extension PredicateExpressions.Conditional: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .expression(
            .conditional(
                try translator.predicate(test), try translator.expression(trueBranch),
                try translator.expression(falseBranch)))
    }
}

extension PredicateExpressions.NilLiteral: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated { .expression(.constant(.null)) }
}

extension PredicateExpressions.ForcedUnwrap: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated { try translator.translate(inner) }
}

extension PredicateExpressions.NilCoalesce: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        let value = try translator.expression(lhs)
        let isThere = FetchPredicate.Node.comparison(.init(value, .notEqual, .constant(.null)))
        return .expression(.conditional(isThere, value, try translator.expression(rhs)))
    }
}

/// `a?.b`, `if let`, `flatMap`. A key path of nil is nil; other bodies need a condition for nil.
extension PredicateExpressions.OptionalFlatMap: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        let value = try translator.expression(wrapped)
        translator.variables[variable.key] = value
        let result = try translator.expression(transform)
        if case .keyPath(_, let steps) = result, steps.allSatisfy({ if case .name = $0 { true } else { false } }) {
            return .expression(result)
        }
        let isThere = FetchPredicate.Node.comparison(.init(value, .notEqual, .constant(.null)))
        return .expression(.conditional(isThere, result, .constant(.null)))
    }
}

extension PredicateExpressions.Arithmetic: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        let function: PredicateFunction =
            switch op {
            case .add: .add
            case .subtract: .subtract
            case .multiply: .multiply
            @unknown default: throw PredicateTranslator.untranslatable(self)
            }
        return .expression(.function(function, [try translator.expression(lhs), try translator.expression(rhs)]))
    }
}

extension PredicateExpressions.IntDivision: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .expression(.function(.divide, [try translator.expression(lhs), try translator.expression(rhs)]))
    }
}

extension PredicateExpressions.FloatDivision: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .expression(.function(.divide, [try translator.expression(lhs), try translator.expression(rhs)]))
    }
}

extension PredicateExpressions.IntRemainder: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .expression(.function(.modulus, [try translator.expression(lhs), try translator.expression(rhs)]))
    }
}

extension PredicateExpressions.UnaryMinus: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .expression(.function(.subtract, [.constant(.int(0)), try translator.expression(wrapped)]))
    }
}
