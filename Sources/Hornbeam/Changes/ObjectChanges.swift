public import HornbeamModel
internal import HornbeamStore

/// The objects that a context changed, saved or merged, as IDs only. `Sendable` (NOT-1 … NOT-5).
public struct ObjectChanges: Hashable, Sendable {
    /// The objects that were inserted.
    public var inserted: Set<ManagedObjectID>
    /// The objects whose properties changed.
    public var updated: Set<ManagedObjectID>
    /// The objects that were deleted.
    public var deleted: Set<ManagedObjectID>
    /// Objects whose values were read again.
    public var refreshed: Set<ManagedObjectID>
    /// Objects whose store was removed.
    public var invalidated: Set<ManagedObjectID>
    /// In sequences: the names of the changed properties of each updated object.
    public var changedKeys: [ManagedObjectID: Set<String>] = [:]
    /// True if the context released all its objects; in sequences also if there were too many changes. Read all data again.
    public var invalidatedAll: Bool
    /// The number of the store's transaction; 0 for unsaved changes.
    public var transaction: UInt64
    /// The author of the save (MOC-28).
    public var author: String?
    /// The name of the context that saved (MOC-28).
    public var contextName: String?
    /// The identifier of the other process that saved into a shared store; nil for a save of this process.
    public var processIdentifier: Int32?
    /// The name of that process.
    public var processName: String?

    /// Changes of the given objects.
    public init(
        inserted: Set<ManagedObjectID> = [], updated: Set<ManagedObjectID> = [],
        deleted: Set<ManagedObjectID> = [], refreshed: Set<ManagedObjectID> = [],
        invalidated: Set<ManagedObjectID> = [], invalidatedAll: Bool = false, transaction: UInt64 = 0, author: String? = nil,
        contextName: String? = nil
    ) {
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
        self.refreshed = refreshed
        self.invalidated = invalidated
        self.invalidatedAll = invalidatedAll
        self.transaction = transaction
        self.author = author
        self.contextName = contextName
    }

    /// True if nothing has changed.
    public var isEmpty: Bool {
        inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && invalidated.isEmpty
            && !invalidatedAll
    }
}

extension ObjectChanges {
    /// A commit of a store, with the changed properties.
    init(_ change: StoreChange, of store: Store) {
        self.init(
            inserted: Set(change.inserted.map { store.objectID($0.local) }),
            updated: Set(change.updated.map { store.objectID($0.reference.local) }),
            deleted: Set(change.deleted.map { store.objectID($0.local) }), transaction: change.transaction, author: change.author,
            contextName: change.contextName)
        processIdentifier = change.process?.identifier
        processName = change.process?.name
        var names: [Int32: [PropertyMask: Set<String>]] = [:]
        for update in change.updated {
            let entity = update.reference.entityIndex
            let known = names[entity]?[update.properties]
            let keys = known ?? Set(update.properties.indexes.map { store.model.entities[Int(entity)].properties[$0].name })
            if known == nil { names[entity, default: [:]][update.properties] = keys }
            changedKeys[store.objectID(update.reference.local)] = keys
        }
    }

    /// The number of objects.
    var count: Int { inserted.count + updated.count + deleted.count + refreshed.count + invalidated.count }

    /// Combines these changes with later ones. An object that was inserted and later deleted is removed.
    mutating func append(_ later: ObjectChanges) {
        invalidatedAll = invalidatedAll || later.invalidatedAll
        invalidated.formUnion(later.invalidated)
        for id in later.inserted {
            if deleted.remove(id) == nil { inserted.insert(id) } else { updated.insert(id) }
        }
        for id in later.updated where !inserted.contains(id) {
            updated.insert(id)
            changedKeys[id, default: []].formUnion(later.changedKeys[id] ?? [])
        }
        for id in later.refreshed where !inserted.contains(id) { refreshed.insert(id) }
        for id in later.deleted {
            updated.remove(id)
            refreshed.remove(id)
            changedKeys[id] = nil
            if inserted.remove(id) == nil { deleted.insert(id) }
        }
        transaction = max(transaction, later.transaction)
        if author != later.author { author = nil }
        if contextName != later.contextName { contextName = nil }
        if processIdentifier != later.processIdentifier { (processIdentifier, processName) = (nil, nil) }
    }
}
