public import Foundation

/// A custom store: objects whose rows are stored outside Hornbeam's files, such as in a web service or in a file of another
/// format (CST-1 to CST-3).
///
/// Add it with `PersistentStoreDescription.custom(_:)`. Contexts treat its objects like all others: predicates, sort orders, merging,
/// unique values and snapshots work, because the rows that were read are cached in a memory store.
///
/// A coordinator calls one method at a time, on any thread. An error of a method is thrown by the fetch or save that called it. A
/// `save` that throws must not have written anything. `StoreConformance` of the product `HornbeamConformance` tests these requirements.
public protocol CustomStore: AnyObject, Sendable {
    /// The identity of the store, which is part of its objects' IDs. It must be the same each time the same rows are opened.
    var identifier: UUID { get }

    /// True when all rows are read once, when the store is added; false when rows are requested as needed.
    ///
    /// In a store that is not atomic, other programs may change rows at any time. The next fetch that reads a row sees its change.
    var isAtomic: Bool { get }

    /// The program's own values that are stored with the store (PSC-8).
    var metadata: [String: PropertyValue] { get }

    /// The program's own values as they are stored now, also if another process has changed them since the store was added.
    func currentMetadata() throws -> [String: PropertyValue]

    /// Called once, when the store is added. Throw `modelMismatch` when the rows do not fit the model.
    func open(_ model: ManagedObjectModel) throws

    /// The rows that the coordinator requires. The result may contain additional rows.
    func rows(for need: CustomStoreNeed) throws -> [CustomStoreRow]

    /// Keys for new objects, one for each entity name and in the same order: at least 1, below 2⁴⁸, and never reused.
    func newKeys(for entityNames: [String]) throws -> [UInt64]

    /// Writes changes atomically, and durably if the store is durable.
    ///
    /// In a save over several stores, this call comes directly before the commit of the others. If one of them fails, the rows written here stay,
    /// and the next save passes the same changes again, with new keys for new objects.
    func save(_ changes: CustomStoreChanges) throws

    /// Replaces the program's own values.
    func setMetadata(_ metadata: [String: PropertyValue]) throws

    /// Called once, when the last coordinator of this process releases the store.
    func close() throws

    /// Deletes all rows and the program's own values. Called while the store is not open. The next opening begins with an empty store.
    ///
    /// - Throws: `storeInUse` if another process has the store open.
    func destroy() throws
}

extension CustomStore {
    public var metadata: [String: PropertyValue] { [:] }

    public func currentMetadata() throws -> [String: PropertyValue] { metadata }

    public func setMetadata(_ metadata: [String: PropertyValue]) throws {
        throw HornbeamError(.unsupportedRequest, "The store does not support metadata. Implement setMetadata(_:) and metadata in its class.")
    }

    public func close() throws {}

    public func destroy() throws {
        throw HornbeamError(
            .unsupportedRequest, "The custom store cannot be destroyed. Implement destroy() in its class, or delete its rows where they are.")
    }
}

/// An object of a custom store: its entity and its key.
public struct CustomStoreKey: Hashable, Sendable, Codable {
    /// The object's own entity, never a superentity.
    public var entityName: String
    /// Unique over all entities of the store.
    public var key: UInt64

    /// The object of an entity with a key of the store.
    public init(_ entityName: String, _ key: UInt64) {
        self.entityName = entityName
        self.key = key
    }
}

/// A request of a coordinator to a custom store.
public enum CustomStoreNeed: Sendable {
    /// All rows; the only request to an atomic store.
    case everything
    /// The objects that satisfy a request, and the objects that the predicate and the order read through relationships. The store may ignore
    /// limit, order or predicate and return more rows; Hornbeam applies them.
    case fetch(FetchDescription)
    /// These objects. The result has no row for a deleted object.
    case objects([CustomStoreKey])
    /// The members of a to-many relationship, and the owner's own row with all of them in `members`.
    case members(of: CustomStoreKey, relationship: String)
}

/// One object of a custom store.
public struct CustomStoreRow: Hashable, Sendable, Codable {
    /// The object that the row belongs to.
    public var object: CustomStoreKey
    /// Attributes by name; a missing attribute is null. Derived attributes are ignored.
    public var values: [String: PropertyValue]
    /// To-one relationships by name; a missing relationship has no destination.
    public var destinations: [String: CustomStoreKey]
    /// To-many relationships by name, with all their members, in order if the relationship is ordered.
    ///
    /// Required for ordered relationships, and on one side of each pair without a to-one. Missing relationships stay unchanged.
    public var members: [String: [CustomStoreKey]]
    /// The version of the row: 1 for a new object, and one more after each save that updates it. Only a `QueryingStore` needs versions.
    public var version: UInt64?

    /// A row with the given values and relationships.
    public init(
        _ object: CustomStoreKey, values: [String: PropertyValue] = [:], destinations: [String: CustomStoreKey] = [:],
        members: [String: [CustomStoreKey]] = [:], version: UInt64? = nil
    ) {
        self.version = version
        self.object = object
        self.values = values
        self.destinations = destinations
        self.members = members
    }
}

/// The changes of a save in a custom store.
public struct CustomStoreChanges: Hashable, Sendable {
    /// Changed members of a to-many relationship whose inverse is not a to-one, and the order of an ordered relationship.
    public struct Members: Hashable, Sendable {
        /// The object whose relationship changed.
        public var owner: CustomStoreKey
        /// The name of the relationship.
        public var relationship: String
        /// The new members.
        public var added: [CustomStoreKey] = []
        /// The members that were removed.
        public var removed: [CustomStoreKey] = []
        /// All members in their order; nil for an unordered relationship and for an unchanged order.
        public var order: [CustomStoreKey]?

        /// Changes of one relationship of one object.
        public init(
            owner: CustomStoreKey, relationship: String, added: [CustomStoreKey] = [], removed: [CustomStoreKey] = [],
            order: [CustomStoreKey]? = nil
        ) {
            self.owner = owner
            self.relationship = relationship
            self.added = added
            self.removed = removed
            self.order = order
        }
    }

    /// New objects, without members; of a save, in the order of their entities' first objects.
    ///
    /// A save has them in a compact form, from which each read of this property makes the rows, in O(number of objects). Read it once.
    public var inserted: [CustomStoreRow] {
        get { insertedRows.rows }
        _modify {
            var rows = insertedRows.rows
            // The only reference is lent, so that an appended row copies no others.
            insertedRows = .rows([])
            defer { insertedRows = .rows(rows) }
            yield &rows
        }
    }
    /// The new objects as rows or in the compact form.
    package var insertedRows = InsertedRows.rows([])
    /// Changed objects with their changed properties: an attribute that became null is `.null` in `values`, and a to-one that
    /// became null is listed in `cleared`.
    public var updated: [CustomStoreRow] = []
    /// The to-one relationships of updated objects that became null.
    public var cleared: [CustomStoreKey: [String]] = [:]
    /// The deleted objects.
    public var deleted: [CustomStoreKey] = []
    /// The changed to-many relationships.
    public var members: [Members] = []
    /// The versions of the updated, deleted and checked objects' rows on which the changes are based, of rows with versions.
    public var versions: [CustomStoreKey: UInt64] = [:]
    /// Unchanged objects whose rows must have the versions in `versions` too (MOC-26).
    public var checked: [CustomStoreKey] = []
    /// The author of the save (MOC-28).
    public var author: String?
    /// The name of the context that saves (MOC-28).
    public var contextName: String?
    /// The entry for the history of a `HistoryKeepingStore` that keeps history; nil for other stores.
    public var history: StoreHistoryEntry?

    /// No changes.
    public init() {}
}
