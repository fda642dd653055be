public import HornbeamModel

/// An object as an argument of a predicate is its ID: `SELF == %@`, `author IN %@`.
extension ManagedObject: PredicateArgument {
    public final var predicateArgument: PredicateArgumentValue { .value(.objectID(objectID)) }
}

extension ToOne where Object: ManagedObject {
    /// True when the destination is this object: `Event.place == oslo`.
    public static func == (left: ToOne, right: Object) -> FetchPredicate { left == right.objectID }

    /// True when the destination is another object or nil: `Event.place != oslo`.
    public static func != (left: ToOne, right: Object) -> FetchPredicate { left != right.objectID }
}

extension ToManyOperand {
    /// True when the object is one of them: `Event.tags.contains(tag)`.
    public func contains(_ object: ManagedObject) -> FetchPredicate { contains(object.objectID) }
}
