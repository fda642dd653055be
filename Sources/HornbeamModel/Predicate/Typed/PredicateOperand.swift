/// An operand of a comparison in Swift: an attribute, a path over relationships, or an
/// aggregate.
///
/// ```swift
/// Event.latitude > 37 && Event.name.contains("x", .caseInsensitive)
/// Event.place[Place.city] == "Oslo"
/// Event.tags.any(Tag.name) == "swift" && Event.tags.count > 2
/// ```
public protocol PredicateOperand<Value> {
    /// The type of the values with which the operand is compared.
    associatedtype Value
    /// The expression, and its ANY or ALL modifier.
    var operand: PredicateSide { get }
}

/// One side of a comparison in Swift.
public struct PredicateSide: Hashable, Sendable {
    package let node: FetchExpression.Node
    package let modifier: FetchPredicate.Modifier

    package init(_ node: FetchExpression.Node, modifier: FetchPredicate.Modifier = .direct) {
        self.node = node
        self.modifier = modifier
    }

    /// The side's expression with more steps at the end of its key path.
    package func appending(_ steps: [FetchExpression.Step]) -> FetchExpression.Node {
        guard case .keyPath(let root, let first) = node else { return .keyPath(node, steps) }
        return .keyPath(root, first + steps)
    }

    func compared(
        _ comparator: FetchPredicate.Comparator, _ right: FetchExpression.Node, _ options: FetchPredicate.Options = []
    ) -> FetchPredicate {
        FetchPredicate(node: .comparison(.init(node, comparator, right, options: options, modifier: modifier)))
    }
}

/// A typed path from an object: to the object itself, over relationships to an attribute, or to an aggregate over objects.
///
/// The members of a managed object class are also members of a path to its objects, so a condition looks like Swift code:
/// ```swift
/// FetchRequest<Book>().where { $0.year < 1900 && $0.author.name.contains("shelley", .caseInsensitive) }
/// ```
@dynamicMemberLookup
public struct FetchPath<Value>: PredicateOperand, Hashable, Sendable {
    public let operand: PredicateSide

    package init(_ node: FetchExpression.Node, modifier: FetchPredicate.Modifier = .direct) {
        operand = PredicateSide(node, modifier: modifier)
    }
}

extension PredicateOperand {
    /// The operand as an expression, for columns of fetched dictionaries and for `%@`.
    public var expression: FetchExpression { FetchExpression(node: operand.node) }
}

extension Attribute: PredicateOperand {
    public var operand: PredicateSide { PredicateSide(keyPath) }
}

extension AttributeValue {
    /// The value as a constant of a predicate.
    var constant: FetchExpression.Node { .constant(FetchExpression.normalized(propertyValue)) }
}

extension PredicateOperand where Value: AttributeValue {
    /// True when the operand has the value.
    public static func == (left: Self, right: Value) -> FetchPredicate { left.operand.compared(.equal, right.constant) }
    /// True when the operand has another value or nil.
    public static func != (left: Self, right: Value) -> FetchPredicate { left.operand.compared(.notEqual, right.constant) }
    /// True when the operand is smaller than the value; false for nil.
    public static func < (left: Self, right: Value) -> FetchPredicate { left.operand.compared(.lessThan, right.constant) }
    /// True when the operand is smaller than the value or equal to it; false for nil.
    public static func <= (left: Self, right: Value) -> FetchPredicate {
        left.operand.compared(.lessThanOrEqual, right.constant)
    }
    /// True when the operand is larger than the value; false for nil.
    public static func > (left: Self, right: Value) -> FetchPredicate { left.operand.compared(.greaterThan, right.constant) }
    /// True when the operand is larger than the value or equal to it; false for nil.
    public static func >= (left: Self, right: Value) -> FetchPredicate {
        left.operand.compared(.greaterThanOrEqual, right.constant)
    }

    /// True when the operand is one of the values (`IN`). nil matches only if the list contains nil.
    public func isIn(_ values: some Sequence<Value>) -> FetchPredicate {
        operand.compared(.in, .constant(.array(values.map { FetchExpression.normalized($0.propertyValue) })))
    }
}

extension PredicateOperand {
    /// True when both operands have the same value, or both are nil.
    public static func == (left: Self, right: some PredicateOperand<Value>) -> FetchPredicate {
        left.operand.compared(.equal, right.operand.node)
    }
    /// True when the operands have different values.
    public static func != (left: Self, right: some PredicateOperand<Value>) -> FetchPredicate {
        left.operand.compared(.notEqual, right.operand.node)
    }
    /// True when the left operand is smaller; false if one is nil.
    public static func < (left: Self, right: some PredicateOperand<Value>) -> FetchPredicate {
        left.operand.compared(.lessThan, right.operand.node)
    }
    /// True when the left operand is smaller or equal; false if one is nil.
    public static func <= (left: Self, right: some PredicateOperand<Value>) -> FetchPredicate {
        left.operand.compared(.lessThanOrEqual, right.operand.node)
    }
    /// True when the left operand is larger; false if one is nil.
    public static func > (left: Self, right: some PredicateOperand<Value>) -> FetchPredicate {
        left.operand.compared(.greaterThan, right.operand.node)
    }
    /// True when the left operand is larger or equal; false if one is nil.
    public static func >= (left: Self, right: some PredicateOperand<Value>) -> FetchPredicate {
        left.operand.compared(.greaterThanOrEqual, right.operand.node)
    }
}

extension PredicateOperand where Value: AttributeValue & Comparable {
    /// True when the operand is in the range, bounds included (`BETWEEN`).
    public func isIn(_ range: ClosedRange<Value>) -> FetchPredicate { operand.between(range) }

    /// True when the operand is in the range, without its upper bound.
    public func isIn(_ range: Range<Value>) -> FetchPredicate { self >= range.lowerBound && self < range.upperBound }
}

extension PredicateOperand {
    /// True when the operand is in the range, bounds included (`BETWEEN`); false for nil.
    public func isIn<Bound: AttributeValue & Comparable>(_ range: ClosedRange<Bound>) -> FetchPredicate
    where Value == Bound? { operand.between(range) }

    /// True when the operand is in the range, without its upper bound; false for nil.
    public func isIn<Bound: AttributeValue & Comparable>(_ range: Range<Bound>) -> FetchPredicate where Value == Bound? {
        self >= range.lowerBound && self < range.upperBound
    }
}

extension PredicateSide {
    fileprivate func between<Bound: AttributeValue>(_ range: ClosedRange<Bound>) -> FetchPredicate {
        let bounds = [range.lowerBound, range.upperBound].map { FetchExpression.normalized($0.propertyValue) }
        return compared(.between, .constant(.array(bounds)))
    }
}

/// `String` and `String?`: the operands of string operators.
public protocol TextAttributeValue: AttributeValue {}
extension String: TextAttributeValue {}
extension Optional: TextAttributeValue where Wrapped == String {}

extension PredicateOperand where Value: TextAttributeValue {
    /// True when the text contains the part; false for an empty part.
    public func contains(_ part: String, _ options: FetchPredicate.Options = []) -> FetchPredicate {
        operand.compared(.contains, part.constant, options)
    }

    /// True when the text begins with the other one; false for nil and for an empty prefix.
    public func beginsWith(_ prefix: String, _ options: FetchPredicate.Options = []) -> FetchPredicate {
        operand.compared(.beginsWith, prefix.constant, options)
    }

    /// True when the text ends with the other one; false for nil and for an empty suffix.
    public func endsWith(_ suffix: String, _ options: FetchPredicate.Options = []) -> FetchPredicate {
        operand.compared(.endsWith, suffix.constant, options)
    }

    /// True when the whole text matches the pattern: `*` for any run, `?` for one character.
    public func like(_ pattern: String, _ options: FetchPredicate.Options = []) -> FetchPredicate {
        operand.compared(.like, pattern.constant, options)
    }

    /// True when the ICU regular expression matches the whole text.
    public func matches(_ pattern: String, _ options: FetchPredicate.Options = []) -> FetchPredicate {
        operand.compared(.matches, pattern.constant, options)
    }

    /// True when the texts are equal under the options.
    public func equals(_ text: String, _ options: FetchPredicate.Options) -> FetchPredicate {
        operand.compared(.equal, text.constant, options)
    }
}
