import Foundation

extension PredicateExpressions.Variable: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        guard let node = translator.variables[key] else { throw PredicateTranslator.untranslatable(self) }
        return .expression(node)
    }
}

extension PredicateExpressions.Value: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        if let regex = value as? PredicateExpressions.PredicateRegex {
            return .expression(.constant(.string("(?s).*(?:\(regex.stringRepresentation)).*")))
        }
        if let argument = value as? any PredicateArgument { return .expression(argument.predicateArgument.expressionNode) }
        if let attribute = value as? any AttributeValue {
            return .expression(.constant(FetchExpression.normalized(attribute.propertyValue)))
        }
        if let list = value as? any Sequence, let nodes = Self.constants(list) { return .expression(.constant(.array(nodes))) }
        throw HornbeamError(
            .predicateInvalid,
            "The #Predicate captures a value of type \(Output.self), which attributes cannot have. "
                + "Capture a string, number, date, UUID or object ID instead.")
    }

    private static func constants(_ list: any Sequence) -> [PropertyValue]? {
        var values: [PropertyValue] = []
        for element in list {
            guard let attribute = element as? any AttributeValue else { return nil }
            values.append(FetchExpression.normalized(attribute.propertyValue))
        }
        return values
    }
}

extension PredicateExpressions.KeyPath: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        let base = try translator.expression(root)
        switch kind {
        case .collectionCount: return .expression(Self.count(of: base))
        case .collectionIsEmpty: return .predicate(.comparison(.init(Self.count(of: base), .equal, .constant(.int(0)))))
        case .collectionFirst: return .expression(.index(base, .first))
        case .bidirectionalCollectionLast: return .expression(.index(base, .last))
        case nil: break
        @unknown default: throw PredicateTranslator.untranslatable(self)
        }
        if Root.Output.self is any CountedMembers.Type {
            if Output.self == Int.self { return .expression(Self.count(of: base)) }
            if Output.self == Bool.self { return .predicate(.comparison(.init(Self.count(of: base), .equal, .constant(.int(0))))) }
        }
        let steps = try PredicateTranslator.steps(keyPath, from: Root.Output.self)
        return .expression(steps.isEmpty ? base : PredicateSide(base).appending(steps))
    }

    private static func count(of base: FetchExpression.Node) -> FetchExpression.Node {
        if Root.Output.self is any StringProtocol.Type { return .function(.length, [base]) }
        return PredicateSide(base).appending([.collection(.count)])
    }
}

extension PredicateExpressions.DictionaryKeySubscript: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .expression(.index(try translator.expression(wrapped), .value(try translator.expression(key))))
    }
}

extension PredicateExpressions.DictionaryKeyDefaultValueSubscript: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        let value = FetchExpression.Node.index(try translator.expression(wrapped), .value(try translator.expression(key)))
        let isThere = FetchPredicate.Node.comparison(.init(value, .notEqual, .constant(.null)))
        return .expression(.conditional(isThere, value, try translator.expression(self.default)))
    }
}

extension PredicateExpressions.CollectionIndexSubscript: TranslatablePart {
    func translated(_ translator: inout PredicateTranslator) throws -> Translated {
        .expression(.index(try translator.expression(wrapped), .value(try translator.expression(index))))
    }
}
