import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// A store on disk that is filled with one version of a model and opened with others.
struct MigratedStore {
    let url: URL

    init() throws { url = try Stack.freshDescription(.onDisk).url }

    func open(_ model: ManagedObjectModel) throws -> PersistentContainer { try PersistentContainer.open(at: url, model: model) }

    /// Opens the store with a plan, which migrates it.
    func open(
        _ plan: MigrationPlan, monitor: MigrationMonitor? = nil, changing change: (inout PersistentStoreDescription) -> Void = { _ in }
    ) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "plan", plan: plan)
        var description = PersistentStoreDescription(url: url)
        change(&description)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores(migration: monitor)
        return container
    }

    /// Migrates the store with a plan, reads its content, checks and closes it.
    @discardableResult
    func with<R>(_ plan: MigrationPlan, _ body: (ManagedObjectContext) throws -> R) throws -> R {
        let container = try open(plan)
        defer { try? container.close() }
        #expect(try container.openStore().check().problems == [])
        return try body(container.newContext())
    }

    /// Opens the store, lets the body change objects, saves, checks and closes.
    @discardableResult
    func with<R>(_ model: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> R) throws -> R {
        let container = try open(model)
        defer { try? container.close() }
        let context = container.newContext()
        let result = try body(context)
        if context.hasChanges { try context.save() }
        #expect(try container.openStore().check().problems == [])
        return result
    }

    /// The plan of opening with a model; nil when no migration is needed.
    func plan(_ model: ManagedObjectModel) throws -> StoreMigrationPlan? {
        let container = try PersistentContainer(name: "plan", model: model)
        container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
        return try container.migrationPlan()[url]
    }
}

extension ManagedObjectContext {
    @discardableResult
    func insert(_ entity: String, _ values: [String: PropertyValue] = [:]) throws -> ManagedObject {
        let object = try insert(entityNamed: entity)
        for (key, value) in values { try object.setValue(value, forKey: key) }
        return object
    }

    func all(_ entity: String, sortedBy key: String = "self") throws -> [ManagedObject] {
        let sorts: [FetchSort] = key == "self" ? [] : [.ascending(key)]
        return try Array(fetch(FetchRequest<ManagedObject>(entityName: entity, sortedBy: sorts)))
    }

    /// The values of one property, ordered by another one.
    func values(_ entity: String, _ key: String, sortedBy order: String? = nil) throws -> [PropertyValue] {
        try all(entity, sortedBy: order ?? key).map { try $0.value(forKey: key) }
    }
}
