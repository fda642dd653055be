internal import HornbeamModel
internal import HornbeamStore

// Merges on request: of a save from a notification, of transactions from history, or of all saves of selected contexts.

/// Identifies a context that saves. `Sendable`.
public struct ContextIdentity: Hashable, Sendable {
    let token: UInt64
}

extension ManagedObjectContext {
    /// The identity of this context, for contexts that merge its saves.
    public var identity: ContextIdentity { ContextIdentity(token: token) }

    /// Merges the saves of another context from now on, at the next fetch, count, save or merge (MOC-32). For a context that does not
    /// merge the saves of all contexts (`automaticallyMergesChangesFromParent`).
    public func observeSaves(of context: ContextIdentity) { merging.observed.insert(context.token) }

    /// Stops merging the saves of a context (MOC-32).
    public func stopObservingSaves(of context: ContextIdentity) { merging.observed.remove(context.token) }

    /// Merges a save, or transactions of history (NOT-7, NOT-8). Changed objects are read again under their pending
    /// changes, deleted objects are marked as deleted, and notifications include the new objects.
    ///
    /// Switches to the newest snapshot, which contains that save and possibly later ones. Other objects keep
    /// their values. A pending change of a property that the save changed too stays, and this context's save has the conflict.
    /// - Throws: The store's error.
    public func mergeChanges(from changes: ObjectChanges) throws {
        processPendingChanges()
        let alreadyNotified = try move()
        var merged = ObjectChanges(inserted: changes.inserted, transaction: changes.transaction)
        for id in changes.updated.union(changes.refreshed) {
            guard let object = registeredObject(for: id), !object.isInserted else { continue }
            reread(object, mergeChanges: true)
            merged.refreshed.insert(id)
        }
        for id in changes.deleted {
            guard let object = registeredObject(for: id), !object.isInserted else { continue }
            mergeDeletion(of: object)
            merged.deleted.insert(id)
        }
        // Observers have already been notified of the changes that `move` merged.
        merged.inserted.subtract(alreadyNotified.inserted)
        merged.refreshed.subtract(alreadyNotified.refreshed)
        merged.deleted.subtract(alreadyNotified.deleted)
        guard !merged.isEmpty else { return }
        post(.didMergeChangesObjectIDs, DidMergeChanges(changes: merged), merged)
        postObjectsDidChange(merged)
    }

    /// Merges one save into several contexts of this isolation (NOT-8).
    ///
    /// - Throws: The errors of `mergeChanges(from:)`. The contexts before the failing one have merged the save.
    public static func mergeChanges(from changes: ObjectChanges, into contexts: [ManagedObjectContext]) throws {
        for context in contexts { try context.mergeChanges(from: changes) }
    }
}
