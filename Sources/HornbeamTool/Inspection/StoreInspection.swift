import Hornbeam
import HornbeamStore

/// Opens stores for a look: with the model that they hold, without making one, and without writing to it unless asked.
enum StoreInspection {
    /// Runs the body with the store, which is closed afterwards.
    static func withStore<R>(_ path: String, forWriting: Bool = false, _ body: (Store) throws -> R) throws -> R {
        var options = Store.Options()
        options.createIfMissing = false
        options.readOnly = !forWriting
        let store = try Store.open(.directory(path), model: nil, options: options)
        defer { try? store.close() }
        return try body(store)
    }

    /// Runs the body with a container over the store, whose objects are of no class of their own.
    @MainActor static func withContainer<R>(_ path: String, _ body: (PersistentContainer) throws -> R) throws -> R {
        try withStore(path) { try body(PersistentContainer.over($0)) }
    }
}
