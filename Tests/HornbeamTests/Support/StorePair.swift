import Foundation
import Hornbeam
import Testing

/// A container of two stores, for tests.
struct StorePair {
    let container: PersistentContainer
    let descriptions: [PersistentStoreDescription]
    let stores: [PersistentStore]

    init(_ kinds: (StoreKind, StoreKind), _ second: String?) throws {
        container = try PersistentContainer(name: "Test", model: Self.model(), classes: Company.classes)
        descriptions = [try Self.description(kinds.0, nil), try Self.description(kinds.1, second)]
        container.persistentStoreDescriptions = descriptions
        try container.loadPersistentStores()
        stores = container.persistentStoreCoordinator.persistentStores
    }

    /// The company's model, with its entities in two configurations.
    static func model() throws -> ManagedObjectModel {
        var definition = try Company.model().definition
        definition.configurations = ["People": ["Department", "Employee"], "Work": ["Project", "Step"]]
        return try ManagedObjectModel(definition)
    }

    static func description(_ kind: StoreKind, _ configuration: String?) throws -> PersistentStoreDescription {
        var description = try Stack.freshDescription(kind)
        description.configurationName = configuration
        return description
    }

    /// The number of the object's store.
    func place(of object: ManagedObject) -> Int? {
        stores.firstIndex { $0.identifier == object.objectID.storeIdentifier }
    }

    /// Another container of the same store, so that a store in memory stays open when it is removed here.
    func keepOpen(_ number: Int) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Keeper", model: container.managedObjectModel, classes: Company.classes)
        container.persistentStoreDescriptions = [descriptions[number]]
        try container.loadPersistentStores()
        return container
    }
}

/// The changes that a context has published since this was created.
final class Heard: @unchecked Sendable {  // only used on the test's own thread
    private(set) var changes: [ObjectChanges] = []
    private var token: (any NSObjectProtocol)?

    init(_ name: Notification.Name, of context: ManagedObjectContext) {
        token = NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { [weak self] in
            if let changes = $0.objectChanges { self?.changes.append(changes) }
        }
    }

    deinit { if let token { NotificationCenter.default.removeObserver(token) } }
}
