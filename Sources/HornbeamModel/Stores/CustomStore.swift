public import Foundation

/// A store of one's own: objects whose rows lie elsewhere than in Hornbeam's files, behind a web service or in a file of another
/// format (CST-1 to CST-3).
///
/// Add it with `PersistentStoreDescription.custom(_:)`. Contexts treat its objects like all others: predicates, orders, merging,
/// unique values and snapshots work, since the rows that were read are kept in memory in a store of Hornbeam's.
///
/// A coordinator calls one method at a time, on any thread. Whatever throws makes the fetch or the save throw the same; after a save
/// that threw, nothing may have been written. `StoreConformance` shows whether a store keeps all this.
public protocol CustomStore: AnyObject, Sendable {
    /// In the IDs of the store's objects: the same whenever the same rows are opened.
    var identifier: UUID { get }

    /// True when all rows are read once, as the store is added; false when they are asked for as they are needed.
    ///
    /// Of a store that is asked each time, others may change the rows at any time; they show at the next fetch that finds them.
    var isAtomic: Bool { get }

    /// What the app notes with the store (PSC-8).
    var metadata: [String: PropertyValue] { get }

    /// Called once, as the store is added. Throw `modelMismatch` when the rows are not of this model.
    func open(_ model: ManagedObjectModel) throws

    /// The rows that are needed; it may give others too.
    func rows(for need: CustomStoreNeed) throws -> [CustomStoreRow]

    /// Keys for new objects of these entities, in their order: from 1 below 2⁴⁸, and none ever given twice.
    func newKeys(for entityNames: [String]) throws -> [UInt64]

    /// Writes changes: all or nothing, and durably as far as the store keeps anything.
    ///
    /// In a save over several stores this comes right before the others commit. When one of them cannot, what was written here stays,
    /// and the same changes come once more with the next save, new objects under new keys.
    func save(_ changes: CustomStoreChanges) throws

    /// Replaces the notes of the app.
    func setMetadata(_ metadata: [String: PropertyValue]) throws

    /// Called once, as the last coordinator of this process gives the store up.
    func close() throws
}

extension CustomStore {
    public var metadata: [String: PropertyValue] { [:] }

    public func setMetadata(_ metadata: [String: PropertyValue]) throws {
        throw HornbeamError(.unsupportedRequest, "The store keeps no metadata. Implement setMetadata(_:) and metadata in its class.")
    }

    public func close() throws {}
}

/// An object of a custom store: its entity and its key.
public struct CustomStoreKey: Hashable, Sendable, Codable {
    /// The object's own entity, never one above it.
    public var entityName: String
    /// Unique over all entities of the store.
    public var key: UInt64

    /// The object of an entity with a key of the store.
    public init(_ entityName: String, _ key: UInt64) {
        self.entityName = entityName
        self.key = key
    }
}

/// What a coordinator asks a custom store for.
public enum CustomStoreNeed: Sendable {
    /// All rows; the only thing that an atomic store is asked.
    case everything
    /// The objects that satisfy a request, of which the store may leave limit, order or predicate to Hornbeam by giving more; and
    /// the objects at which the predicate and the order look through relationships.
    case fetch(FetchDescription)
    /// These objects; those that are gone are left out.
    case objects([CustomStoreKey])
    /// The objects at the end of a to-many relationship, and the owner's own row with them in `members`.
    case members(of: CustomStoreKey, relationship: String)
}

/// One object of a custom store.
public struct CustomStoreRow: Hashable, Sendable, Codable {
    /// The object that the row belongs to.
    public var object: CustomStoreKey
    /// Attributes by name; what is absent is null. Derived ones are not looked at.
    public var values: [String: PropertyValue]
    /// To-one relationships by name; what is absent leads nowhere.
    public var destinations: [String: CustomStoreKey]
    /// To-many relationships by name, with all their members, in their order when ordered.
    ///
    /// Needed where the other end is no to-one, on one side of a pair, and for the order. What is absent stays as it was.
    public var members: [String: [CustomStoreKey]]

    /// A row with the given values and relationships.
    public init(
        _ object: CustomStoreKey, values: [String: PropertyValue] = [:], destinations: [String: CustomStoreKey] = [:],
        members: [String: [CustomStoreKey]] = [:]
    ) {
        self.object = object
        self.values = values
        self.destinations = destinations
        self.members = members
    }
}

/// What a save changes in a custom store.
public struct CustomStoreChanges: Hashable, Sendable {
    /// Changed members of a to-many relationship whose other end is no to-one, and the order of an ordered one.
    public struct Members: Hashable, Sendable {
        /// The object whose relationship changed.
        public var owner: CustomStoreKey
        /// The name of the relationship.
        public var relationship: String
        /// The new members.
        public var added: [CustomStoreKey] = []
        /// The members that were removed.
        public var removed: [CustomStoreKey] = []
        /// All members in their order; nil for an unordered relationship and when the order stays.
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

    /// New objects, without members.
    public var inserted: [CustomStoreRow] = []
    /// Changed objects with their changed properties: an attribute that became null is `.null` in `values`, and a to-one that leads
    /// nowhere any more is named in `cleared`.
    public var updated: [CustomStoreRow] = []
    /// The to-one relationships of updated objects that lead nowhere any more.
    public var cleared: [CustomStoreKey: [String]] = [:]
    /// The deleted objects.
    public var deleted: [CustomStoreKey] = []
    /// The changed to-many relationships.
    public var members: [Members] = []
    /// Who saves (MOC-28).
    public var author: String?
    /// The name of the context that saves (MOC-28).
    public var contextName: String?

    /// No changes.
    public init() {}
}
