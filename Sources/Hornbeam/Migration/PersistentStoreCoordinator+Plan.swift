internal import Foundation
internal import HornbeamModel
internal import HornbeamStore

extension PersistentStoreCoordinator {
    /// A coordinator for the last version of a plan (MIG-11).
    public convenience init(plan: MigrationPlan, classes: [ManagedObject.Type]? = nil) throws {
        try self.init(plan.versions.current, plan.versions, plan.steps, classes ?? plan.classes)
    }
}

extension ManagedObjectContext {
    /// A context for a store that is already open, for a migration.
    convenience init(over store: Store, classes: [ManagedObject.Type]) throws {
        let coordinator = try PersistentStoreCoordinator(managedObjectModel: store.model, classes: classes)
        try coordinator.addOpenStore(store, as: PersistentStoreDescription(url: URL(filePath: store.location.description)))
        self.init(coordinator: coordinator)
    }
}
