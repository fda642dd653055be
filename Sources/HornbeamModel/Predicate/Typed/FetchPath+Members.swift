internal import Synchronization

// The members of a path: a key path of Swift becomes steps of a key path of the model, by the names that
// `PredicateSubject` knows. A path over an optional to-one relationship leads to optional values.

/// A collection of objects that a to-many property has as its type.
public protocol FetchPathCollection<Member> {
    /// The class of the members.
    associatedtype Member: PredicateSubject
}

extension FetchPath where Value: PredicateSubject {
    /// The path to the object that a condition, an order or a column is about.
    public static var root: FetchPath { FetchPath(.evaluatedObject) }

    /// The path to a property of the object.
    public subscript<Member>(dynamicMember keyPath: KeyPath<Value, Member>) -> FetchPath<Member> { step(keyPath, of: Value.self) }

    /// The member of an object whose name `FetchPath` has a member of, too: `$0[\.expression]`.
    public subscript<Member>(_ keyPath: KeyPath<Value, Member>) -> FetchPath<Member> { step(keyPath, of: Value.self) }
}

extension FetchPath {
    /// A member behind a relationship to one object: nil where there is no object.
    public subscript<Object: PredicateSubject, Member>(
        dynamicMember keyPath: KeyPath<Object, Member>
    ) -> FetchPath<Member?> where Value == Object? { step(keyPath, of: Object.self) }

    /// The path to an optional property behind a relationship to one object: nil where there is no object.
    public subscript<Object: PredicateSubject, Member>(
        dynamicMember keyPath: KeyPath<Object, Member?>
    ) -> FetchPath<Member?> where Value == Object? { step(keyPath, of: Object.self) }

    /// A relationship to many objects behind one to one object: empty where there is no object.
    public subscript<Object: PredicateSubject, Member: FetchPathCollection>(
        dynamicMember keyPath: KeyPath<Object, Member>
    ) -> FetchPath<Member> where Value == Object? { step(keyPath, of: Object.self) }

    /// The path with the names behind it that a key path reads. A key path that reads no single property of the model gets a name that no
    /// property has: the request is then refused with that name in the error.
    package func step<Member>(_ keyPath: AnyKeyPath, of type: (some PredicateSubject).Type) -> FetchPath<Member> {
        let names = (try? type.predicateKeys(along: keyPath)) ?? ["a member of \(type) that does not read exactly one property"]
        return FetchPath<Member>(operand.appending(names.map { .name($0) }), modifier: operand.modifier)
    }
}

// MARK: Relationships to many objects

extension FetchPath where Value: FetchPathCollection {
    /// Any of the objects: `$0.tags.any.name == "swift"`.
    public var any: FetchPath<Value.Member> { FetchPath<Value.Member>(operand.node, modifier: .any) }

    /// Every one of the objects: `$0.tags.all.name == "swift"`. Holds where there are none.
    public var all: FetchPath<Value.Member> { FetchPath<Value.Member>(operand.node, modifier: .all) }

    /// The number of objects.
    public var count: FetchPath<Int> { FetchPath<Int>(operand.appending([.collection(.count)])) }

    /// True where there are none.
    public var isEmpty: FetchPredicate { count == 0 }

    /// One of the objects satisfies the condition.
    public func contains(where condition: (FetchPath<Value.Member>) -> FetchPredicate) -> FetchPredicate {
        count(where: condition) > 0
    }

    /// Every one of the objects satisfies the condition; holds where there are none.
    public func allSatisfy(_ condition: (FetchPath<Value.Member>) -> FetchPredicate) -> FetchPredicate {
        count { !condition($0) } == 0
    }

    /// The number of objects that satisfy the condition.
    public func count(where condition: (FetchPath<Value.Member>) -> FetchPredicate) -> FetchPath<Int> {
        // A root of its own tells the member from the object outside, which the condition may name too.
        let member = MemberVariables.next()
        let predicate = condition(FetchPath<Value.Member>(.variable(member)))
        let variable = predicate.node.unusedVariable
        let inner = predicate.node.mapExpressions { $0 == .variable(member) ? .variable(variable) : $0 }
        return FetchPath<Int>(.keyPath(.subquery(operand.node, variable, inner), [.collection(.count)]))
    }

    /// The sum over the objects; 0 where there are none.
    public func sum<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number>>) -> FetchPath<Number> { total(.sum, path) }

    /// The average over the objects; nil where there are none.
    public func average<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number>>) -> FetchPath<Double?> { total(.avg, path) }

    /// The least value; nil where there is none.
    public func min<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number>>) -> FetchPath<Number?> { total(.min, path) }

    /// The greatest value; nil where there is none.
    public func max<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number>>) -> FetchPath<Number?> { total(.max, path) }

    /// The least value; nil where there is none.
    public func min<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number?>>) -> FetchPath<Number?> { total(.min, path) }

    /// The greatest value; nil where there is none.
    public func max<Number>(_ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number?>>) -> FetchPath<Number?> { total(.max, path) }

    private func total<Number, Total>(
        _ operation: FetchExpression.CollectionOperator, _ path: KeyPath<FetchPath<Value.Member>, FetchPath<Number>>
    ) -> FetchPath<Total> {
        let member = FetchPath<Value.Member>.root[keyPath: path].operand.node
        guard case .keyPath(.evaluatedObject, let steps) = member else { return FetchPath<Total>(member) }
        return FetchPath<Total>(operand.appending([.collection(operation)] + steps))
    }
}

/// Names of variables while a condition is being written, never used twice in a process.
private enum MemberVariables {
    private static let last = Atomic<UInt64>(0)
    static func next() -> String { "member \(last.wrappingAdd(1, ordering: .relaxed).newValue)" }
}

// MARK: Objects

extension PredicateSide {
    /// Equality with an object, or with nil.
    package func compared(to id: ManagedObjectID?) -> FetchPredicate {
        compared(.equal, .constant(id.map(PropertyValue.objectID) ?? .null))
    }

    /// One of the objects.
    package func isIn(_ ids: [ManagedObjectID]) -> FetchPredicate { compared(.in, .constant(.array(ids.map { .objectID($0) }))) }

    /// The collection contains the object.
    package func contains(_ id: ManagedObjectID) -> FetchPredicate { compared(.contains, .constant(.objectID(id))) }
}
