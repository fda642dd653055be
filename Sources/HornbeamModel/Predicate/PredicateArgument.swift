public import Foundation

/// An argument for `%@`, `%K` or `%d` in a format: a value, a collection, nil, a predicate or an
/// expression.
public protocol PredicateArgument {
    /// The argument in the form that the parser reads.
    var predicateArgument: PredicateArgumentValue { get }
}

/// An argument of a predicate format, in one of its three kinds.
public enum PredicateArgumentValue: Sendable {
    /// A constant.
    case value(PropertyValue)
    /// A predicate, which the format contains as a part.
    case predicate(FetchPredicate)
    /// An expression, which the format contains as a part.
    case expression(FetchExpression)
}

extension PropertyValue: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(self) }
}

extension FetchPredicate: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .predicate(self) }
}

extension FetchExpression: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .expression(self) }
}

extension String: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.string(self)) }
}

extension Substring: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.string(String(self))) }
}

extension Bool: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.bool(self)) }
}

extension Int: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.int(Int64(self))) }
}

extension Int8: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.int(Int64(self))) }
}

extension Int16: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.int(Int64(self))) }
}

extension Int32: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.int(Int64(self))) }
}

extension Int64: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.int(self)) }
}

extension UInt: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { UInt64(self).predicateArgument }
}

extension UInt8: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.int(Int64(self))) }
}

extension UInt16: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.int(Int64(self))) }
}

extension UInt32: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.int(Int64(self))) }
}

extension UInt64: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue {
        .value(Int64(exactly: self).map(PropertyValue.int) ?? .decimal(Decimal(self)))
    }
}

extension Double: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.double(self)) }
}

extension Float: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.double(Double(self))) }
}

extension Decimal: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.decimal(self)) }
}

extension Date: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.date(self)) }
}

extension Data: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.data(self)) }
}

extension UUID: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.uuid(self)) }
}

extension URL: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.uri(self)) }
}

extension ManagedObjectID: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { .value(.objectID(self)) }
}

extension Optional: PredicateArgument where Wrapped: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { self?.predicateArgument ?? .value(.null) }
}

extension Array: PredicateArgument where Element: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue { PredicateArgumentValue(collection: self) }
}

extension Set: PredicateArgument where Element: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue {
        switch PredicateArgumentValue(collection: self) {
        case .value(.array(let elements)): .value(.set(Set<PropertyValue>(elements)))
        case let other: other
        }
    }
}

extension Dictionary: PredicateArgument where Key == String, Value: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue {
        .value(.dictionary(mapValues { $0.predicateArgument.plainValue }))
    }
}

/// The two bounds of a `BETWEEN %@`.
extension ClosedRange: PredicateArgument where Bound: PredicateArgument {
    public var predicateArgument: PredicateArgumentValue {
        PredicateArgumentValue(collection: [lowerBound, upperBound])
    }
}

extension PredicateArgumentValue {
    /// A collection of values, or of expressions if one element is an expression.
    fileprivate init(collection: some Sequence<some PredicateArgument>) {
        let elements = collection.map(\.predicateArgument)
        let nodes = elements.map(\.expressionNode)
        self =
            if let values = FetchExpression.constants(nodes) {
                .value(.array(values))
            } else {
                .expression(FetchExpression(node: .aggregate(nodes)))
            }
    }

    /// The argument as an expression; a predicate becomes `TERNARY(p, YES, NO)`.
    package var expressionNode: FetchExpression.Node {
        switch self {
        case .value(let value): .constant(FetchExpression.normalized(value))
        case .expression(let expression): expression.node
        case .predicate(let predicate): .conditional(predicate.node, .constant(.int(1)), .constant(.int(0)))
        }
    }

    fileprivate var plainValue: PropertyValue {
        if case .value(let value) = self { value } else { .null }
    }
}

extension FetchExpression {
    /// The values of nodes if all are constants; else nil.
    package static func constants(_ nodes: [Node]) -> [PropertyValue]? {
        var values: [PropertyValue] = []
        values.reserveCapacity(nodes.count)
        for node in nodes {
            guard case .constant(let value) = node else { return nil }
            values.append(value)
        }
        return values
    }
}
