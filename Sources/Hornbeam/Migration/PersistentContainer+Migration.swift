public import Foundation
public import HornbeamModel
internal import HornbeamStore

extension PersistentContainer {
    /// What opening the stores would do to them, by the place of the store; nothing for those that need no migration (MIG-4).
    ///
    /// Writes nothing.
    /// - Throws: `inferredMappingFailed` with every obstacle; of several stores all together.
    public func migrationPlan() throws -> [URL: StoreMigrationPlan] {
        var plans: [URL: StoreMigrationPlan] = [:]
        var problems: [HornbeamError] = []
        for description in persistentStoreDescriptions where description.type == .onDisk {
            guard FileManager.default.fileExists(atPath: description.url.path) else { continue }
            var options = description.options
            if let versions = persistentStoreCoordinator.versions { options.migration?.take(versions) }
            do {
                plans[description.url] = try Store.migrationPlan(of: description.location, to: managedObjectModel, options: options)
            } catch let error as HornbeamError { problems.append(error) }
        }
        if let error = HornbeamError.combining(problems) { throw error }
        return plans
    }

    /// A container that reads a store with the model stored in it, whatever version that is.
    ///
    /// - Throws: What is wrong with the store.
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
    /// Gives back the room of what migrations removed; does nothing when there is none (PSC-20).
    ///
    /// - Throws: `closed` when the store is not of this coordinator; `readOnly`, `full`.
    public func finishDeferredLightweightMigration(of store: PersistentStore) throws {
        try open(store).finishDeferredMigration()
    }

    /// True while the store keeps the room of what migrations removed (PSC-20).
    ///
    /// - Throws: `closed` when the store is not of this coordinator.
    public func hasDeferredLightweightMigration(of store: PersistentStore) throws -> Bool {
        try open(store).hasDeferredMigration
    }
}
