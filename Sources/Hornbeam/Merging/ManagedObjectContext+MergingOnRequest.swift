internal import HornbeamModel
internal import HornbeamStore

// Explicit merging of saves: from a notification, from history, or from selected contexts.

/// Identifies a context that saves. `Sendable`.
public struct ContextIdentity: Hashable, Sendable {
    let token: UInt64
}

extension ManagedObjectContext {
    /// The identity of this context, for contexts that merge its saves.
    public var identity: ContextIdentity { ContextIdentity(token: token) }

    /// Merges another context's saves from now on, like `automaticallyMergesChangesFromParent` merges those of
    /// all contexts (MOC-32). They are merged at the next fetch, count, save or merge.
    public func observeSaves(of context: ContextIdentity) { merging.observed.insert(context.token) }

    /// Stops merging that context's saves (MOC-32).
    public func stopObservingSaves(of context: ContextIdentity) { merging.observed.remove(context.token) }

    /// Merges a save, or transactions of history: changed objects are read again under their pending
    /// changes, deleted ones count as deleted, new ones are included in notifications (NOT-7, NOT-8).
    ///
    /// Switches to the newest state, which contains that save and possibly later ones. Other objects keep
    /// their values. A pending change to a property that was saved stays, and its conflict appears at the save.
    /// - Throws: The store's error.
    public func mergeChanges(from changes: ObjectChanges) throws {
        processPendingChanges()
        let told = try move()
        var merged = ObjectChanges(inserted: changes.inserted, transaction: changes.transaction)
        for id in changes.updated.union(changes.refreshed) {
            guard let object = registeredObject(for: id), !object.isInserted else { continue }
            renew(object, mergeChanges: true)
            merged.refreshed.insert(id)
        }
        for id in changes.deleted {
            guard let object = registeredObject(for: id), !object.isInserted else { continue }
            takeInDeletion(of: object)
            merged.deleted.insert(id)
        }
        // The context has published automatic merges already.
        merged.inserted.subtract(told.inserted)
        merged.refreshed.subtract(told.refreshed)
        merged.deleted.subtract(told.deleted)
        guard !merged.isEmpty else { return }
        post(.didMergeChangesObjectIDs, DidMergeChanges(changes: merged), merged)
        postObjectsDidChange(merged)
    }

    /// Merges one save into several contexts of this isolation (NOT-8).
    ///
    /// - Throws: The errors of `mergeChanges(from:)`; contexts before the failing one have merged.
    public static func mergeChanges(from changes: ObjectChanges, into contexts: [ManagedObjectContext]) throws {
        for context in contexts { try context.mergeChanges(from: changes) }
    }
}
