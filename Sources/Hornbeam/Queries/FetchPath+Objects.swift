public import HornbeamModel

extension ManagedSet: FetchPathCollection {
    public typealias Member = Element
}
extension ManagedArray: FetchPathCollection {
    public typealias Member = Element
}

extension Set: FetchPathCollection where Element: ManagedObject {
    public typealias Member = Element
}
extension Array: FetchPathCollection where Element: ManagedObject {
    public typealias Member = Element
}

/// Objects in typed conditions: `$0.author == shelley`, `$0.author == nil`. The comparison is by object ID.
extension FetchPath {
    public static func == <Object: ManagedObject>(path: FetchPath, object: Object?) -> FetchPredicate where Value == Object? {
        path.operand.compared(to: object?.objectID)
    }

    public static func != <Object: ManagedObject>(path: FetchPath, object: Object?) -> FetchPredicate where Value == Object? {
        !path.operand.compared(to: object?.objectID)
    }

    /// One of the objects.
    public func isIn<Object: ManagedObject>(_ objects: some Sequence<Object>) -> FetchPredicate where Value == Object? {
        operand.isIn(objects.map(\.objectID))
    }
}

extension FetchPath where Value: ManagedObject {
    public static func == (path: FetchPath, object: Value) -> FetchPredicate { path.operand.compared(to: object.objectID) }
    public static func != (path: FetchPath, object: Value) -> FetchPredicate { !path.operand.compared(to: object.objectID) }

    /// One of the objects.
    public func isIn(_ objects: some Sequence<Value>) -> FetchPredicate { operand.isIn(objects.map(\.objectID)) }
}

extension FetchPath where Value: FetchPathCollection, Value.Member: ManagedObject {
    /// The object is one of them.
    public func contains(_ object: Value.Member) -> FetchPredicate { operand.contains(object.objectID) }
}
