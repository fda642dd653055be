import Foundation
import Hornbeam
import HornbeamModel
import HornbeamStore

/// Opens stores for a look: with the model that they hold, without making one and without writing to it.
enum StoreInspection {
    /// Runs the body with the store, which is closed afterwards.
    static func withStore<R>(_ path: String, _ body: (Store) throws -> R) throws -> R {
        var options = Store.Options()
        options.createIfMissing = false
        options.readOnly = true
        let store = try Store.open(.directory(path), model: nil, options: options)
        defer { try? store.close() }
        return try body(store)
    }

    /// A container over the store, with plain objects.
    static func container(_ path: String) throws -> PersistentContainer {
        let model = try withStore(path, \.model)
        let container = try PersistentContainer(name: "inspected", model: model)
        var description = PersistentStoreDescription(url: URL(filePath: path))
        description.isReadOnly = true
        description.createsIfMissing = false
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }
}
