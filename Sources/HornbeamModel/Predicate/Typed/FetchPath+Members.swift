internal import Synchronization

// The members of a path. A Swift key path becomes steps of a key path of the model; `PredicateSubject` supplies
// their names. A path over an optional to-one relationship has optional values.

/// The collection type of a to-many property.
public protocol FetchPathCollection<Member> {
    /// The class of the members.
    associatedtype Member: PredicateSubject
}

extension FetchPath where Value: PredicateSubject {
    /// The path to the object that a condition, a sort criterion or a column applies to.
    public static var root: FetchPath { FetchPath(.evaluatedObject) }

    /// The path to a property of the object.
    public subscript<Member>(dynamicMember keyPath: KeyPath<Value, Member>) -> FetchPath<Member> { step(keyPath, of: Value.self) }

    /// The path to a property whose name is also the name of a member of `FetchPath`: `$0[\.expression]`.
    public subscript<Member>(_ keyPath: KeyPath<Value, Member>) -> FetchPath<Member> { step(keyPath, of: Value.self) }
}

extension FetchPath {
    /// A member of the destination of a to-one relationship; nil without a destination.
    public subscript<Object: PredicateSubject, Member>(
        dynamicMember keyPath: KeyPath<Object, Member>
    ) -> FetchPath<Member?> where Value == Object? { step(keyPath, of: Object.self) }

    /// The path to an optional property of the destination of a to-one relationship; nil without a destination.
    public subscript<Object: PredicateSubject, Member>(
        dynamicMember keyPath: KeyPath<Object, Member?>
    ) -> FetchPath<Member?> where Value == Object? { step(keyPath, of: Object.self) }

    /// A to-many relationship of the destination of a to-one relationship; empty without a destination.
    public subscript<Object: PredicateSubject, Member: FetchPathCollection>(
        dynamicMember keyPath: KeyPath<Object, Member>
    ) -> FetchPath<Member> where Value == Object? { step(keyPath, of: Object.self) }

    /// The path extended by the names that a key path reads. For a key path that is not a single property of the model, the added name
    /// describes the fault, and the validation of the request throws an error with this name.
    package func step<Member>(_ keyPath: AnyKeyPath, of type: (some PredicateSubject).Type) -> FetchPath<Member> {
        let names = (try? type.predicateKeys(along: keyPath)) ?? ["a member of \(type) that does not read exactly one property"]
        return FetchPath<Member>(operand.appending(names.map { .name($0) }), modifier: operand.modifier)
    }
}

// MARK: Relationships to many objects

extension FetchPath where Value: FetchPathCollection {
    /// Any of the objects: `$0.tags.any.name == "swift"`.
    public var any: FetchPath<Value.Member> { FetchPath<Value.Member>(operand.node, modifier: .any) }

    /// Every one of the objects: `$0.tags.all.name == "swift"`. True without objects.
    public var all: FetchPath<Value.Member> { FetchPath<Value.Member>(operand.node, modifier: .all) }

    /// The number of objects.
    public var count: FetchPath<Int> { FetchPath<Int>(operand.appending([.collection(.count)])) }

    /// True without objects.
    public var isEmpty: FetchPredicate { count == 0 }

    /// True when one of the objects satisfies the condition.
    public func contains(where condition: (FetchPath<Value.Member>) -> FetchPredicate) -> FetchPredicate {
        count(where: condition) > 0
    }

    /// True when every one of the objects satisfies the condition; true without objects.
    public func allSatisfy(_ condition: (FetchPath<Value.Member>) -> FetchPredicate) -> FetchPredicate {
        count { !condition($0) } == 0
    }

    /// The number of objects that satisfy the condition.
    public func count(where condition: (FetchPath<Value.Member>) -> FetchPredicate) -> FetchPath<Int> {
        // A separate root distinguishes the element from the outer object, which the condition may use too.
        let member = MemberVariables.next()
        let predicate = condition(FetchPath<Value.Member>(.variable(member)))
        let variable = predicate.node.unusedVariable
        let inner = predicate.node.mapExpressions { $0 == .variable(member) ? .variable(variable) : $0 }
        return FetchPath<Int>(.keyPath(.subquery(operand.node, variable, inner), [.collection(.count)]))
    }

    /// The sum over the objects; 0 without objects.
    public func sum<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number>>) -> FetchPath<Number> { total(.sum, path) }

    /// The average over the objects; nil without objects.
    public func average<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number>>) -> FetchPath<Double?> { total(.avg, path) }

    /// The least value; nil without values.
    public func min<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number>>) -> FetchPath<Number?> { total(.min, path) }

    /// The greatest value; nil without values.
    public func max<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number>>) -> FetchPath<Number?> { total(.max, path) }

    /// The least value; nil without values.
    public func min<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number?>>) -> FetchPath<Number?> { total(.min, path) }

    /// The greatest value; nil without values.
    public func max<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number?>>) -> FetchPath<Number?> { total(.max, path) }

    private func total<Number, Total>(
        _ operation: FetchExpression.CollectionOperator, _ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number>>
    ) -> FetchPath<Total> {
        let member = FetchPath<Value.Member>.root[keyPath: path].operand.node
        guard case .keyPath(.evaluatedObject, let steps) = member else { return FetchPath<Total>(member) }
        return FetchPath<Total>(operand.appending([.collection(operation)] + steps))
    }
}

/// Variable names for conditions, unique in the process.
private enum MemberVariables {
    private static let last = Atomic<UInt64>(0)
    static func next() -> String { "member \(last.wrappingAdd(1, ordering: .relaxed).newValue)" }
}

// MARK: Objects

extension PredicateSide {
    /// True when the destination is the object; for nil, true without a destination.
    package func compared(to id: ManagedObjectID?) -> FetchPredicate {
        compared(.equal, .constant(id.map(PropertyValue.objectID) ?? .null))
    }

    /// True when the destination is one of the objects.
    package func isIn(_ ids: [ManagedObjectID]) -> FetchPredicate { compared(.in, .constant(.array(ids.map { .objectID($0) }))) }

    /// True when the collection contains the object.
    package func contains(_ id: ManagedObjectID) -> FetchPredicate { compared(.contains, .constant(.objectID(id))) }
}
