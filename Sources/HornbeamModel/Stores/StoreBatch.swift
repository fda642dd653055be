/// A batch update or delete for a querying store, in the form that a store translates. Hornbeam has checked its values.
public struct StoreBatch: Sendable {
    /// The change of each result of the query.
    public enum Action: Sendable {
        /// Sets attributes. Values are those before the update.
        case update([Assignment])
        /// Deletes the objects. No delete rule concerns other objects.
        case delete
    }

    /// The new value of an attribute.
    public struct Assignment: Sendable {
        /// The attribute, of the query's entity or one of its superentities.
        public let property: PropertyDescription
        /// The new value.
        public let value: Value

        package init(_ property: PropertyDescription, _ value: Value) {
            self.property = property
            self.value = value
        }
    }

    /// The new value of an attribute.
    public enum Value: Hashable, Sendable {
        /// One value for all objects, of the attribute's type.
        case constant(PropertyValue)
        /// The sum of an integer attribute of the object and a number; nil if the attribute is nil.
        case sum(attribute: String, Int64)
    }

    /// The query of the kind `objects` whose results are changed.
    public let query: StoreQuery
    /// The change.
    public let action: Action
    /// The author of the batch (MOC-28).
    public let author: String?
    /// The name of the context that executes the batch (MOC-28).
    public let contextName: String?

    package init(_ query: StoreQuery, _ action: Action, author: String?, contextName: String?) {
        self.query = query
        self.action = action
        self.author = author
        self.contextName = contextName
    }
}

/// The objects that a store has changed by a batch.
public struct StoreBatchAnswer: Sendable {
    /// The objects that an update has changed: all results of the query. The version of each row was incremented.
    public var updated: [CustomStoreKey]
    /// The versions of the rows of `updated` after the update, in the same order; empty if they are unknown, or if the values of the rows can differ from
    /// those of the assignments, for example because of a trigger.
    public var versions: [UInt64]
    /// The objects that a delete has removed: all results of the query.
    public var deleted: [CustomStoreKey]

    /// The results of an update or a delete.
    public init(updated: [CustomStoreKey] = [], versions: [UInt64] = [], deleted: [CustomStoreKey] = []) {
        self.updated = updated
        self.versions = versions
        self.deleted = deleted
    }
}
