public import Foundation
public import HornbeamModel
internal import HornbeamStore

extension PersistentContainer {
    /// The migrations that opening the stores would execute, by URL of the store. Stores that need no migration are not included (MIG-4).
    ///
    /// Writes nothing.
    /// - Throws: `inferredMappingFailed`, with every problem of all stores.
    public func migrationPlan() throws -> [URL: StoreMigrationPlan] {
        var plans: [URL: StoreMigrationPlan] = [:]
        var problems: [HornbeamError] = []
        for description in persistentStoreDescriptions where description.type == .onDisk {
            guard FileManager.default.fileExists(atPath: description.url.path) else { continue }
            do {
                plans[description.url] = try Store.migrationPlan(
                    of: description.location, to: managedObjectModel, options: persistentStoreCoordinator.options(for: description))
            } catch let error as HornbeamError { problems.append(error) }
        }
        if let error = HornbeamError.combining(problems) { throw error }
        return plans
    }

    /// A read-only container for a store, with the model that the store contains.
    ///
    /// - Throws: The errors of opening the store.
    public static func openReadOnly(at url: URL) throws -> PersistentContainer {
        var description = PersistentStoreDescription(url: url)
        description.isReadOnly = true
        let model = try Store.storedModel(of: description.location, options: description.options)
        let container = try PersistentContainer(name: url.deletingPathExtension().lastPathComponent, model: model)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }
}

extension PersistentStoreCoordinator {
    /// Frees the space of trees that migrations removed. Does nothing if there are none (PSC-20).
    ///
    /// - Throws: `closed` if the coordinator does not have the store; `readOnly`; `full`.
    public func finishDeferredLightweightMigration(of store: PersistentStore) throws {
        try open(store).finishDeferredMigration()
    }

    /// True while trees that migrations removed still occupy space (PSC-20).
    ///
    /// - Throws: `closed` if the coordinator does not have the store.
    public func hasDeferredLightweightMigration(of store: PersistentStore) throws -> Bool {
        try open(store).hasDeferredMigration
    }
}
