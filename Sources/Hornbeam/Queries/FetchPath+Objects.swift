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

/// Objects in typed conditions: `$0.author == shelley`, `$0.author == nil`. Objects are compared by their IDs.
extension FetchPath {
    /// True if the destination is the object. With nil, true if there is no destination.
    public static func == <Object: ManagedObject>(path: FetchPath, object: Object?) -> FetchPredicate where Value == Object? {
        path.operand.compared(to: object?.objectID)
    }

    /// True if the destination is not the object. With nil, true if there is a destination.
    public static func != <Object: ManagedObject>(path: FetchPath, object: Object?) -> FetchPredicate where Value == Object? {
        !path.operand.compared(to: object?.objectID)
    }

    /// True if the destination is one of the objects.
    public func isIn<Object: ManagedObject>(_ objects: some Sequence<Object>) -> FetchPredicate where Value == Object? {
        operand.isIn(objects.map(\.objectID))
    }
}

extension FetchPath where Value: ManagedObject {
    /// True for the object itself.
    public static func == (path: FetchPath, object: Value) -> FetchPredicate { path.operand.compared(to: object.objectID) }
    /// True for all other objects.
    public static func != (path: FetchPath, object: Value) -> FetchPredicate { !path.operand.compared(to: object.objectID) }

    /// True for one of the objects.
    public func isIn(_ objects: some Sequence<Value>) -> FetchPredicate { operand.isIn(objects.map(\.objectID)) }
}

extension FetchPath where Value: FetchPathCollection, Value.Member: ManagedObject {
    /// True if the object is a member.
    public func contains(_ object: Value.Member) -> FetchPredicate { operand.contains(object.objectID) }
}
