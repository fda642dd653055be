internal import Foundation
internal import HornbeamModel
internal import HornbeamStore

// Moving, replacing and destroying stores.

extension PersistentStoreCoordinator {
    /// Moves a store to another URL or type, and uses it there (PSC-14).
    ///
    /// The new store is a copy of the old one with its history: IDs and the objects of contexts stay valid. The old store stays
    /// at the old URL, closed unless another container uses it. Destroy it when it is no longer needed. Saves wait until the move is done; a save
    /// that reaches the old store throws `closed`, and can be tried again.
    /// - Returns: The store at its new URL.
    /// - Throws: `notAStore` if a file or folder exists at the new URL; `closed` if the coordinator does not have the store; `full`;
    ///   `inputOutput`. Then the store stays at the old URL.
    @discardableResult
    public func migratePersistentStore(
        _ store: PersistentStore, to description: PersistentStoreDescription
    ) throws -> PersistentStore {
        let old = try open(store)
        guard store.type != .custom, description.type != .custom else {
            throw HornbeamError(
                .unsupportedRequest, "The rows of a custom store are not in files of Hornbeam, so it cannot be moved. Copy the objects.")
        }
        return try old.withoutSaves {
            let copy = try old.copy(to: description.location)
            return try withExtendedLifetime(copy) {
                let lease = try Store.lease(description.location, model: managedObjectModel, options: description.options)
                return try replaceStore(lease, description, inPlaceOf: store)
            }
        }
    }

    /// Replaces a store by a copy of another one, to restore a backup (PSC-15).
    ///
    /// The source may be open, in this or another process; its copy has the state at the time of the call. The target must not be open, and need
    /// not exist. The copy is complete before it replaces the target. The copy has the same identifier as the source.
    /// - Throws: `storeInUse` if the target is open; `notAStore` if the source does not exist, or if the target is a file or a folder with other
    ///   files than those of a store; `unsupportedRequest` for stores in memory; `full`; `inputOutput`.
    public func replacePersistentStore(
        _ target: PersistentStoreDescription, with source: PersistentStoreDescription
    ) throws {
        guard target.type == .onDisk, source.type == .onDisk else {
            throw HornbeamError(
                .unsupportedRequest, "Only a store on disk can be replaced by another store on disk. Use migratePersistentStore for stores in memory.")
        }
        var reading = source
        reading.isReadOnly = true
        reading.createsIfMissing = false
        let lease = try Store.lease(source.location, model: managedObjectModel, options: reading.options)
        let draft = target.url.path + ".replacement-" + UUID().uuidString
        do {
            _ = try lease.store.copy(to: .directory(draft))
            try lease.end()
            try Store.withUnusedFolder(target.location) { path in try swap(draft, path) }
        } catch {
            try? lease.end()
            try? FileManager.default.removeItem(atPath: draft)
            throw error
        }
    }

    /// Deletes a store with all its files. Does nothing if the store does not exist (PSC-16).
    ///
    /// - Throws: `storeInUse` if it is open, in this or another process; `notAStore`, without removing anything, for a file, and for a folder with
    ///   other files than those of a store; `inputOutput` if files cannot be removed; the errors of a custom store, such as `unsupportedRequest`.
    public func destroyPersistentStore(_ description: PersistentStoreDescription) throws {
        switch description.type {
        case .inMemory: try Store.forgetMemory(description.location)
        case .custom: try description.customStore.map(Store.destroy)
        case .onDisk:
            try Store.withUnusedFolder(description.location) { path in
                guard FileManager.default.fileExists(atPath: path) else { return }
                try files(description.url) { try FileManager.default.removeItem(atPath: path) }
            }
        }
    }

    private func swap(_ draft: String, _ path: String) throws {
        let url = URL(filePath: path)
        let old = path + ".replaced-" + UUID().uuidString
        let isThere = FileManager.default.fileExists(atPath: path)
        try files(url) {
            if isThere { try FileManager.default.moveItem(atPath: path, toPath: old) }
            try FileManager.default.moveItem(atPath: draft, toPath: path)
            if isThere { try FileManager.default.removeItem(atPath: old) }
        }
    }

    private func files(_ url: URL, _ body: () throws -> Void) throws {
        do { try body() } catch {
            throw HornbeamError(
                .inputOutput,
                "The files of the store \(url.lastPathComponent) cannot be replaced or removed. Check the permissions of its folder.",
                cause: "\(error)")
        }
    }
}
