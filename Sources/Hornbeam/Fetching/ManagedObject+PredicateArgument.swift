public import HornbeamModel

/// An object stands for its ID where a predicate asks for a value: `SELF == %@`, `author IN %@`.
extension ManagedObject: PredicateArgument {
    public final var predicateArgument: PredicateArgumentValue { .value(.objectID(objectID)) }
}

extension ToOne where Object: ManagedObject {
    /// The object at the other end is this one: `Event.place == oslo`.
    public static func == (left: ToOne, right: Object) -> FetchPredicate { left == right.objectID }

    /// Another object is at the other end, or none: `Event.place != oslo`.
    public static func != (left: ToOne, right: Object) -> FetchPredicate { left != right.objectID }
}

extension ToManyOperand {
    /// The object is one of them: `Event.tags.contains(tag)`.
    public func contains(_ object: ManagedObject) -> FetchPredicate { contains(object.objectID) }
}
