public import HornbeamModel

extension ManagedSet: FetchPathCollection {
    /// The class of the members.
    public typealias Member = Element
}
extension ManagedArray: FetchPathCollection {
    /// The class of the members.
    public typealias Member = Element
}

extension Set: FetchPathCollection where Element: ManagedObject {
    /// The class of the members.
    public typealias Member = Element
}
extension Array: FetchPathCollection where Element: ManagedObject {
    /// The class of the members.
    public typealias Member = Element
}

/// Objects in typed conditions: `$0.author == shelley`, `$0.author == nil`. The comparison is by object ID.
extension FetchPath {
    /// True where the relationship leads to the object, or to no object for nil.
    public static func == <Object: ManagedObject>(path: FetchPath, object: Object?) -> FetchPredicate where Value == Object? {
        path.operand.compared(to: object?.objectID)
    }

    /// True where the relationship does not lead to the object, or leads to some object for nil.
    public static func != <Object: ManagedObject>(path: FetchPath, object: Object?) -> FetchPredicate where Value == Object? {
        !path.operand.compared(to: object?.objectID)
    }

    /// One of the objects.
    public func isIn<Object: ManagedObject>(_ objects: some Sequence<Object>) -> FetchPredicate where Value == Object? {
        operand.isIn(objects.map(\.objectID))
    }
}

extension FetchPath where Value: ManagedObject {
    /// True for the object.
    public static func == (path: FetchPath, object: Value) -> FetchPredicate { path.operand.compared(to: object.objectID) }
    /// True for all objects but this one.
    public static func != (path: FetchPath, object: Value) -> FetchPredicate { !path.operand.compared(to: object.objectID) }

    /// One of the objects.
    public func isIn(_ objects: some Sequence<Value>) -> FetchPredicate { operand.isIn(objects.map(\.objectID)) }
}

extension FetchPath where Value: FetchPathCollection, Value.Member: ManagedObject {
    /// The object is one of them.
    public func contains(_ object: Value.Member) -> FetchPredicate { operand.contains(object.objectID) }
}
