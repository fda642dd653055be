internal import Foundation
internal import HornbeamModel
package import HornbeamStore

// Access to a container's store for the tool and tests.

extension PersistentContainer {
    /// The first store.
    ///
    /// - Throws: `closed` if there is none.
    package func openStore() throws -> Store { try persistentStoreCoordinator.stack.firstStore() }

    /// A container with stores that are already open, for example on a simulated disk.
    ///
    /// - Throws: The errors of `init(name:model:classes:)`.
    package static func over(_ stores: Store..., classes: [ManagedObject.Type] = []) throws -> PersistentContainer {
        guard let first = stores.first else { misuse("A container is made over at least one store.") }
        let container = try PersistentContainer(name: "adopted", model: first.model, classes: classes)
        for store in stores {
            try container.persistentStoreCoordinator.addOpenStore(
                store, as: PersistentStoreDescription(url: URL(filePath: store.location.description)))
        }
        return container
    }
}
