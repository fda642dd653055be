public import HornbeamModel

/// An object can be an argument of a predicate, as its ID: `SELF == %@`, `author IN %@`.
extension ManagedObject: PredicateArgument {
    public final var predicateArgument: PredicateArgumentValue { .value(.objectID(objectID)) }
}

extension ToOne where Object: ManagedObject {
    /// True if the destination is this object: `Event.place == oslo`.
    public static func == (left: ToOne, right: Object) -> FetchPredicate { left == right.objectID }

    /// True if the destination is another object or nil: `Event.place != oslo`.
    public static func != (left: ToOne, right: Object) -> FetchPredicate { left != right.objectID }
}

extension ToManyOperand {
    /// True if the object is a member: `Event.tags.contains(tag)`.
    public func contains(_ object: ManagedObject) -> FetchPredicate { contains(object.objectID) }
}
