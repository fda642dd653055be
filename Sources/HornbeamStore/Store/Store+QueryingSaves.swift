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
        objects = changes.writtenObjects
    }
}

extension CustomStoreChanges {
    /// The objects whose rows the changes write.
    fileprivate var writtenObjects: [CustomStoreKey] { (inserted + updated).map(\.object) + deleted + members.map(\.owner) }
}

extension Store {
    /// True if a save of the querying store was written. The cache then receives its rows.
    ///
    /// - Throws: The error of the store while it cannot be reached.
    func wasWritten(_ doubt: QueryingDoubt) throws -> Bool {
        guard let backing, let querying = backing.querying else { return false }
        if let token = doubt.token, try !querying.wasSaved(token) { return false }
        backing.forgetMembers()
        try backing.readingNewest({ try $0.rows(for: .objects(doubt.objects)) }) { try cache($0, of: doubt.objects) }
        return true
    }

    /// Caches the rows of objects that were read, and removes those of the others.
    private func cache(_ rows: [CustomStoreRow], of objects: [CustomStoreKey]) throws {
        let present = Set(rows.map(\.object.key))
        try updateCache(rows, without: try objects.filter { !present.contains($0.key) }.map(reference))
    }

    /// The error of changes that the store has written and the cache has not taken.
    func cacheFailed(_ error: any Error, _ event: String, _ remedy: String) -> HornbeamError {
        HornbeamError(
            .storeOperationFailed, "The store has \(event), but its rows could not be cached. \(remedy)",
            cause: "\((error as? HornbeamError)?.message ?? "\(type(of: error))")")
    }

    /// The error of a batch whose commit has failed. If the querying store has executed the batch, its rows are cached now, when that is possible.
    ///
    /// - Parameter written: The changes that the querying store has written; nil without one.
    func batchFailed(_ error: any Error, _ written: CustomStoreChanges?) -> any Error {
        guard let written, let querying = backing?.querying else { return error }
        let objects = written.writtenObjects
        do { try cache(querying.rows(for: .objects(objects)), of: objects) } catch { backing?.forget(objects) }
        return cacheFailed(error, "executed the batch", "Do not repeat it: the next fetch reads the rows.")
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
        try requireDestinations(
            conflict, own: own,
            "The save refers to an object of %@ that was deleted meanwhile. Nothing was written. Merge, change the relationship, and save again.")
        if let first = conflict.referring.first {
            throw HornbeamError(
                .mergeConflict,
                "The save deletes an object to which an object of \(first.entityName) has been made to refer meanwhile. Nothing was written. Roll back, and "
                    + "delete it again.",
                entity: first.entityName, objectIDs: try conflict.referring.map { objectID(try reference($0)) })
        }
    }

    /// The error of changes that violate a rule of the querying store.
    func refusal(_ violation: CustomStoreViolation) throws -> HornbeamError {
        var error = violation.error
        error.objectIDs = try violation.objects.map { objectID(try reference($0)) }
        return error
    }

    /// Throws if the store has refused changes because they refer to objects which do not exist.
    ///
    /// - Parameters:
    ///   - own: The keys of the objects that are changed or deleted.
    ///   - message: The message of the error, with `%@` for the entity.
    func requireDestinations(_ conflict: CustomStoreConflict, own: Set<UInt64>, _ message: String) throws {
        let missing = conflict.deleted.filter { !own.contains($0.key) }
        guard let first = missing.first else { return }
        throw HornbeamError(
            .objectNotFound, message.replacing("%@", with: first.entityName), entity: first.entityName,
            objectIDs: try missing.map { objectID(try reference($0)) })
    }
}
