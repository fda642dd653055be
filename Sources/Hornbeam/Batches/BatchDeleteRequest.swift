public import HornbeamModel

/// Deletes all objects that satisfy a predicate, without creating managed objects (BAT-3).
///
/// ```swift
/// let result = try context.execute(BatchDeleteRequest(Event.self, predicate: Event.created < yesterday))
/// ```
/// Delete rules apply: `cascade` deletes other objects, `nullify` clears their relationships, and `deny` refuses the whole request. Hooks are
/// not called. Contexts, fetched results and history receive the changes like those of a save.
public struct BatchDeleteRequest: Hashable, Sendable {
    /// Selects the objects to delete, with its predicate, order, limit and offset.
    public var fetch: FetchDescription
    /// Determines the result: only that the request was executed, the number of deleted objects, or their IDs too.
    public var resultType = BatchResultType.status

    /// Deletes the results of a fetch.
    public init(fetch: FetchDescription) { self.fetch = fetch }

    /// Deletes the objects of an entity that satisfy a predicate. Without a predicate, deletes all of them.
    public init(entityName: String, predicate: FetchPredicate? = nil) {
        self.init(fetch: FetchDescription(entityName: entityName, predicate: predicate))
    }

    /// Deletes the objects of a class that satisfy a predicate.
    ///
    /// - Parameters:
    ///   - type: The class of the objects. Its `entityName` is the entity.
    ///   - predicate: The condition of the objects to delete; nil for all.
    public init(_ type: ManagedObject.Type, predicate: FetchPredicate? = nil) {
        self.init(entityName: type.entityName, predicate: predicate)
    }

    /// Deletes objects by their IDs, which must belong to one entity. Skips objects that are already deleted.
    public init(entityName: String, objectIDs: [ManagedObjectID]) {
        let ids = PropertyValue.array(objectIDs.map(PropertyValue.objectID))
        let isOneOf = FetchPredicate.Comparison(.evaluatedObject, .in, .constant(ids))
        self.init(entityName: entityName, predicate: FetchPredicate(node: .comparison(isOneOf)))
    }
}
