internal import Foundation
internal import HornbeamModel

// Saves of a querying store whose outcome is unknown, or that it refuses because of references.

/// A save of a querying store with an unknown outcome.
struct QueryingDoubt {
    /// Nil if the store has written the save, and only the cache has not taken it.
    let token: UUID?
    /// The objects that the save has changed or deleted.
    let objects: [CustomStoreKey]

    init(_ token: UUID?, _ changes: CustomStoreChanges) {
        self.token = token
        objects = (changes.inserted + changes.updated).map(\.object) + changes.deleted + changes.members.map(\.owner)
    }
}

extension Store {
    /// True if a save of the querying store was written. The cache then receives its rows.
    ///
    /// - Throws: The error of the store while it cannot be reached.
    func wasWritten(_ doubt: QueryingDoubt) throws -> Bool {
        guard let backing, let querying = backing.querying else { return false }
        if let token = doubt.token, try !querying.wasSaved(token) { return false }
        backing.forgetMembers()
        try backing.readingNewest({ try $0.rows(for: .objects(doubt.objects)) }) { rows in
            let present = Set(rows.map(\.object.key))
            try updateCache(rows, without: try doubt.objects.filter { !present.contains($0.key) }.map(reference))
        }
        return true
    }

    /// The error of changes that the store has written and the cache has not taken.
    func cacheFailed(_ error: any Error, _ event: String, _ remedy: String) -> HornbeamError {
        HornbeamError(
            .storeOperationFailed, "The store has \(event), but its rows could not be cached. \(remedy)",
            cause: "\((error as? HornbeamError)?.message ?? "\(type(of: error))")")
    }

    /// Reads the rows of new members that are not cached. An object without a row afterwards was deleted, and does not become a member.
    func cacheNewMembers(_ changes: ChangeSet) throws {
        let added = Set(changes.links.flatMap(\.added)).subtracting(changes.inserts.map { ObjectReference($0.entity, $0.key) })
        if added.isEmpty { return }
        let snapshot = try snapshot()
        let missing = try added.filter { try !snapshot.exists(model.entities[Int($0.entityIndex)], $0.key) }
        if !missing.isEmpty { try reload(missing.sorted()) }
    }

    /// Throws if the store has refused a save because of references from or to deleted objects. The cache, and the contexts after they merge, then have the
    /// newest objects.
    func requireReferences(_ changes: ChangeSet, _ conflict: CustomStoreConflict) throws {
        let own = Set((changes.updates.map(\.key) + changes.deletes.map(\.key) + changes.checks.map(\.key)))
        let missing = conflict.deleted.filter { !own.contains($0.key) }
        if let first = missing.first {
            throw HornbeamError(
                .objectNotFound,
                "The save refers to an object of \(first.entityName) that was deleted meanwhile. Nothing was written. Merge, change the relationship, and "
                    + "save again.",
                entity: first.entityName, objectIDs: try missing.map { objectID(try reference($0)) })
        }
        if let first = conflict.referring.first {
            throw HornbeamError(
                .mergeConflict,
                "The save deletes an object to which an object of \(first.entityName) has been made to refer meanwhile. Nothing was written. Roll back, and "
                    + "delete it again.",
                entity: first.entityName, objectIDs: try conflict.referring.map { objectID(try reference($0)) })
        }
    }
}
