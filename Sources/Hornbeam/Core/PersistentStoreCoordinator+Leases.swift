internal import HornbeamModel
internal import HornbeamStore

// Opening the stores of descriptions, before they are added.

extension PersistentStoreCoordinator {
    /// Returns a lease of a description's store, which is opened if this process has not opened it.
    func lease(_ description: PersistentStoreDescription, _ monitor: MigrationMonitor? = nil) throws -> StoreLease {
        var options = options(for: description)
        options.migration?.progress = monitor?.report(for: description.url)
        if let custom = description.customStore {
            return try Store.lease(custom, model: managedObjectModel, history: description.history, migration: options.migration)
        }
        return try Store.lease(description.location, model: managedObjectModel, options: options)
    }

    func options(for description: PersistentStoreDescription) -> Store.Options {
        var options = description.options
        if let versions { options.migration?.take(versions) }
        options.migration?.stages = migrationSteps
        return options
    }
}
