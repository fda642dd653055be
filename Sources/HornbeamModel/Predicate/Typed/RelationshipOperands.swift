/// Relationships in comparisons in Swift.
extension ToOne {
    /// An attribute of the destination: `Event.place[Place.city]`.
    public subscript<Value>(_ attribute: Attribute<Value>) -> FetchPath<Value> { FetchPath(.keyPath(name, attribute.name)) }

    /// A longer path from the destination: `Event.place[Place.country[Country.code]]`.
    public subscript<Value>(_ path: FetchPath<Value>) -> FetchPath<Value> {
        FetchPath(path.operand.node.prefixed(by: name), modifier: path.operand.modifier)
    }

    /// True when the destination has this ID; for nil, true when there is no destination.
    public static func == (left: ToOne, right: ManagedObjectID?) -> FetchPredicate {
        PredicateSide(.keyPath(left.name)).compared(.equal, .object(right))
    }
    /// True when the destination does not have this ID; for nil, true when there is a destination.
    public static func != (left: ToOne, right: ManagedObjectID?) -> FetchPredicate {
        PredicateSide(.keyPath(left.name)).compared(.notEqual, .object(right))
    }

    /// True when the destination is one of the objects.
    public func isIn(_ objects: some Sequence<ManagedObjectID>) -> FetchPredicate {
        PredicateSide(.keyPath(name)).compared(.in, .constant(.array(objects.map { .objectID($0) })))
    }
}

extension Attribute where Value == [String: PropertyValue] {
    /// An element of a composite attribute: `Event.place[Place.latitude] > 37`.
    public subscript<Part>(_ element: Attribute<Part>) -> FetchPath<Part> { FetchPath(.keyPath(name, element.name)) }
}

extension Attribute where Value == [String: PropertyValue]? {
    /// An element of a composite attribute: `Event.place[Place.latitude] > 37`.
    public subscript<Part>(_ element: Attribute<Part>) -> FetchPath<Part> { FetchPath(.keyPath(name, element.name)) }
}

/// A to-many relationship in comparisons.
public protocol ToManyOperand: PropertyToken {}
extension ToMany: ToManyOperand {}
extension OrderedToMany: ToManyOperand {}

extension ToManyOperand {
    /// Any of the objects: `Event.tags.any(Tag.name) == "swift"`.
    public func any<Value>(_ attribute: some PredicateOperand<Value>) -> FetchPath<Value> {
        FetchPath(attribute.operand.node.prefixed(by: name), modifier: .any)
    }

    /// Every one of the objects; true without objects.
    public func all<Value>(_ attribute: some PredicateOperand<Value>) -> FetchPath<Value> {
        FetchPath(attribute.operand.node.prefixed(by: name), modifier: .all)
    }

    /// The number of objects.
    public var count: FetchPath<Int> { FetchPath(.keyPath(.evaluatedObject, [.name(name), .collection(.count)])) }

    /// The sum over the objects; 0 without objects.
    public func sum<Value>(_ attribute: Attribute<Value>) -> FetchPath<Value> { aggregate(.sum, attribute.name) }

    /// The average over the objects; nil without objects.
    public func average<Value>(_ attribute: Attribute<Value>) -> FetchPath<Double?> { aggregate(.avg, attribute.name) }

    /// The least value; nil without values.
    public func minimum<Value>(_ attribute: Attribute<Value>) -> FetchPath<Value?> { aggregate(.min, attribute.name) }

    /// The greatest value; nil without values.
    public func maximum<Value>(_ attribute: Attribute<Value>) -> FetchPath<Value?> { aggregate(.max, attribute.name) }

    private func aggregate<Value>(_ operation: FetchExpression.CollectionOperator, _ attribute: String) -> FetchPath<Value> {
        FetchPath(.keyPath(.evaluatedObject, [.name(name), .collection(operation), .name(attribute)]))
    }

    /// True when the relationship contains the object.
    public func contains(_ object: ManagedObjectID) -> FetchPredicate {
        PredicateSide(.keyPath(name)).compared(.contains, .object(object))
    }

    /// True when one of the objects satisfies the predicate.
    public func contains(where predicate: FetchPredicate) -> FetchPredicate {
        count(where: predicate).operand.compared(.greaterThan, .constant(.int(0)))
    }

    /// True when every one of the objects satisfies the predicate; true without objects.
    public func allSatisfy(_ predicate: FetchPredicate) -> FetchPredicate {
        count(where: !predicate).operand.compared(.equal, .constant(.int(0)))
    }

    /// The number of objects that satisfy the predicate.
    public func count(where predicate: FetchPredicate) -> FetchPath<Int> {
        let variable = predicate.node.unusedVariable
        let inner = predicate.node.rebased(on: .variable(variable))
        return FetchPath(.keyPath(.subquery(.keyPath(name), variable, inner), [.collection(.count)]))
    }
}

extension FetchExpression.Node {
    fileprivate static func object(_ id: ManagedObjectID?) -> Self { .constant(id.map(PropertyValue.objectID) ?? .null) }

    /// The expression for an object whose relationship leads to the objects that this expression reads.
    fileprivate func prefixed(by name: String) -> Self { rebased(on: .keyPath(name)) }

    /// A copy that starts at another expression instead of the object.
    package func rebased(on root: Self) -> Self {
        mapExpressions { node in
            switch node {
            case .evaluatedObject: root
            case .keyPath(.evaluatedObject, let steps): PredicateSide(root).appending(steps)
            default: node
            }
        }
    }
}

extension FetchPredicate.Node {
    /// A copy that starts at another expression instead of the object.
    package func rebased(on root: FetchExpression.Node) -> Self {
        switch self {
        case .constant, .block: return self
        case .comparison(var comparison):
            comparison.left = comparison.left.rebased(on: root)
            comparison.right = comparison.right.rebased(on: root)
            return .comparison(comparison)
        case .and(let nodes): return .and(nodes.map { $0.rebased(on: root) })
        case .or(let nodes): return .or(nodes.map { $0.rebased(on: root) })
        case .not(let node): return .not(node.rebased(on: root))
        }
    }

    /// A variable that no SUBQUERY in the predicate uses: `x`, `x1`, `x2` …
    package var unusedVariable: String {
        var used = freeVariables
        forEachExpression { if case .subquery(_, let name, _) = $0 { used.insert(name) } }
        var number = 0
        while used.contains(number == 0 ? "x" : "x\(number)") { number += 1 }
        return number == 0 ? "x" : "x\(number)"
    }
}

extension FetchSort {
    /// Ascending by an attribute, also over to-one relationships: `.ascending(Event.place[Place.city])`.
    public static func ascending(_ path: some PredicateOperand, comparison: Comparison = .standard) -> Self {
        Self(path.expression.requestKey, comparison: comparison)
    }

    /// Descending by an attribute, also over to-one relationships.
    public static func descending(_ path: some PredicateOperand, comparison: Comparison = .standard) -> Self {
        Self(path.expression.requestKey, ascending: false, comparison: comparison)
    }
}
