/// A value computed from an object: one side of a comparison, or a column of a fetched dictionary.
///
/// ```swift
/// let total = try FetchExpression(format: "lines.@sum.price * 1.2")
/// ```
public struct FetchExpression: Sendable, Hashable {
    package let node: Node

    package init(node: Node) { self.node = node }

    /// One node of the tree. Booleans occur as the numbers 0 and 1, as in Core Data.
    package indirect enum Node: Hashable, Sendable {
        /// A literal or an argument, in the form of `normalized(_:)`.
        case constant(PropertyValue)
        /// `SELF`
        case evaluatedObject
        /// `$name`
        case variable(String)
        /// Steps from an expression; plain key paths start at `evaluatedObject`.
        case keyPath(Node, [Step])
        case function(PredicateFunction, [Node])
        /// `UNION`, `INTERSECT`, `MINUS`
        case set(SetOperator, Node, Node)
        /// `SUBQUERY(collection, $variable, predicate)`
        case subquery(Node, String, FetchPredicate.Node)
        /// `{a, b}` with at least one element that is not a constant.
        case aggregate([Node])
        /// `ANYKEY`
        case anyKey
        /// `TERNARY(predicate, then, else)`
        case conditional(FetchPredicate.Node, Node, Node)
        case index(Node, Index)
        /// `CAST(x, "type")`
        case cast(Node, CastType)
        /// `$name := x`
        case assignment(String, Node)
        /// A calculation written as a closure.
        case block(ExpressionBlock)
        /// `FETCH(request, context, countOnly)`: parsed and printed, but only a context can evaluate it.
        case fetch(Node, Node, countOnly: Bool)
    }

    /// One step of a key path.
    package enum Step: Hashable, Sendable {
        case name(String)
        case collection(CollectionOperator)
    }

    /// The operators of key paths over collections, written with `@`.
    package enum CollectionOperator: String, Hashable, Sendable, CaseIterable {
        case count, sum, avg, min, max
        case unionOfObjects, distinctUnionOfObjects
        case unionOfArrays, distinctUnionOfArrays
        case unionOfSets, distinctUnionOfSets
    }

    package enum SetOperator: String, Hashable, Sendable {
        case union = "UNION"
        case intersect = "INTERSECT"
        case minus = "MINUS"
    }

    package indirect enum Index: Hashable, Sendable {
        case first, last, size
        case value(Node)
    }

    /// The types of `CAST`. Class names of Foundation are accepted; no class is looked up.
    package enum CastType: String, Hashable, Sendable, CaseIterable {
        case date = "NSDate"
        case number = "NSNumber"
        case decimal = "NSDecimalNumber"
        case string = "NSString"
        case data = "NSData"
        case uuid = "NSUUID"
        case url = "NSURL"
        case set = "NSSet"
        case array = "NSArray"
        case dictionary = "NSDictionary"
        case objectID = "NSManagedObjectID"
    }

    /// A constant in the normal form of trees: Booleans become numbers, so that `YES` equals `1`.
    package static func normalized(_ value: PropertyValue) -> PropertyValue {
        switch value {
        case .bool(let flag): .int(flag ? 1 : 0)
        case .double(let number) where number == 0: .double(0)
        case .array(let elements): .array(elements.map(normalized))
        case .set(let elements): .set(Set(elements.map(normalized)))
        case .dictionary(let pairs): .dictionary(pairs.mapValues(normalized))
        default: value
        }
    }
}

/// A calculation as a closure. Like `PredicateBlock`, it equals itself only.
package final class ExpressionBlock: Hashable, Sendable {
    package let body: @Sendable (EvaluatedValue, [String: PropertyValue]) throws -> PropertyValue

    package init(_ body: @escaping @Sendable (EvaluatedValue, [String: PropertyValue]) throws -> PropertyValue) {
        self.body = body
    }

    package static func == (a: ExpressionBlock, b: ExpressionBlock) -> Bool { a === b }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension FetchExpression {
    /// A calculation as a closure, for computations that the predicate language lacks. Pass it to a format as an argument of `%@`.
    ///
    /// It is evaluated in memory after the rows were read. It cannot use an index, be printed or be archived.
    public static func block(
        _ body: @escaping @Sendable (EvaluatedValue, [String: PropertyValue]) throws -> PropertyValue
    ) -> FetchExpression {
        FetchExpression(node: .block(ExpressionBlock(body)))
    }
}

extension FetchExpression.Node {
    /// A plain key path of names: `a.b.c`.
    package static func keyPath(_ names: String...) -> Self {
        .keyPath(.evaluatedObject, names.map { .name($0) })
    }
}
