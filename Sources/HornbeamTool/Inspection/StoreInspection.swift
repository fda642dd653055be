import Hornbeam
import HornbeamStore

/// Opens existing stores with their stored model, read-only by default. For writing, processes that share the store may have it open.
enum StoreInspection {
    /// Opens the store, runs the body, and closes the store.
    static func withStore<R>(_ path: String, forWriting: Bool = false, _ body: (Store) throws -> R) throws -> R {
        let store = try open(path, forWriting: forWriting)
        defer { try? store.close() }
        return try body(store)
    }

    private static func open(_ path: String, forWriting: Bool) throws -> Store {
        var options = Store.Options()
        options.createIfMissing = false
        options.readOnly = !forWriting
        options.isShared = forWriting
        options.keepsStoredHistory = true
        return try Store.open(.directory(path), model: nil, options: options)
    }

    /// Runs the body with a container for the store, whose objects have the class `ManagedObject`.
    @MainActor static func withContainer<R>(_ path: String, _ body: (PersistentContainer) throws -> R) throws -> R {
        try withStore(path) { try body(PersistentContainer.over($0)) }
    }

    /// Runs an asynchronous body with a container for the store.
    @MainActor static func withContainer<R>(_ path: String, _ body: @MainActor (PersistentContainer) async throws -> R) async throws -> R {
        let store = try open(path, forWriting: false)
        defer { try? store.close() }
        return try await body(PersistentContainer.over(store))
    }
}
