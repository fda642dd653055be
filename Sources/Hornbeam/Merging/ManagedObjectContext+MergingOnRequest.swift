internal import HornbeamModel
internal import HornbeamStore

// Merging what others saved when it is asked for: from a notification, from history, or from chosen contexts.

/// Tells which context saved; may go anywhere.
public struct ContextIdentity: Hashable, Sendable {
    let token: UInt64
}

extension ManagedObjectContext {
    /// Who this context is, for contexts that want to observe its saves.
    public var identity: ContextIdentity { ContextIdentity(token: token) }

    /// Takes in another context's saves from now on, as `automaticallyMergesChangesFromParent` does with those of
    /// all (MOC-32). They arrive at the next fetch, count, save or merge.
    public func observeSaves(of context: ContextIdentity) { merging.observed.insert(context.token) }

    /// Takes in that context's saves no more (MOC-32).
    public func stopObservingSaves(of context: ContextIdentity) { merging.observed.remove(context.token) }

    /// Takes in a save, or what happened since in history: changed objects are read anew under their pending
    /// changes, deleted ones count as deleted, new ones are announced (NOT-7, NOT-8).
    ///
    /// Moves to the newest state, which has that save and perhaps later ones. Objects that are not named keep what
    /// they read. A pending change to a property that was saved stays, and its conflict appears at the save.
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

    /// Takes one save in into several contexts of this isolation (NOT-8).
    ///
    /// - Throws: As `mergeChanges(from:)`; contexts before the failing one have merged.
    public static func mergeChanges(from changes: ObjectChanges, into contexts: [ManagedObjectContext]) throws {
        for context in contexts { try context.mergeChanges(from: changes) }
    }
}
