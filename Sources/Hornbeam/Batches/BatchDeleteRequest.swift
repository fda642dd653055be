public import HornbeamModel

/// Deletes all objects that satisfy a predicate, without making them (BAT-3).
///
/// ```swift
/// let result = try context.execute(BatchDeleteRequest(Event.self, predicate: Event.created < yesterday))
/// ```
/// Delete rules hold: cascades follow, nullified relationships are cleared, and a deny rule refuses the whole request. Hooks do not
/// run. Contexts, fetched results and history hear of it as of a save.
public struct BatchDeleteRequest: Hashable, Sendable {
    /// What to delete: predicate, order, limit and offset count.
    public var fetch: FetchDescription
    /// What the result contains: only that the request was executed, the number of deleted objects, or their IDs too.
    public var resultType = BatchResultType.status

    /// Deletes what a fetch would find.
    public init(fetch: FetchDescription) { self.fetch = fetch }

    /// Deletes the objects of an entity that satisfy a predicate; all of them if it is nil.
    public init(entityName: String, predicate: FetchPredicate? = nil) {
        self.init(fetch: FetchDescription(entityName: entityName, predicate: predicate))
    }

    /// Deletes the objects of a class that satisfy a predicate.
    ///
    /// - Parameters:
    ///   - type: The class of the objects, whose `entityName` is the entity.
    ///   - predicate: The condition of the objects to delete; nil for all.
    public init(_ type: ManagedObject.Type, predicate: FetchPredicate? = nil) {
        self.init(entityName: type.entityName, predicate: predicate)
    }

    /// Deletes objects by their IDs, which are all of one entity; those that are gone already are left out.
    public init(entityName: String, objectIDs: [ManagedObjectID]) {
        let ids = PropertyValue.array(objectIDs.map(PropertyValue.objectID))
        let isOneOf = FetchPredicate.Comparison(.evaluatedObject, .in, .constant(ids))
        self.init(entityName: entityName, predicate: FetchPredicate(node: .comparison(isOneOf)))
    }
}
