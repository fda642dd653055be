public import Foundation

extension PersistentContainer {
    /// A container with an open store at a path on disk, for the model that classes declare.
    ///
    /// - Throws: The errors of `ManagedObjectModel(for:)`, `init` and `loadPersistentStores()`.
    public static func open(at url: URL, for classes: ManagedObject.Type...) throws -> PersistentContainer {
        try open(at: url, model: ManagedObjectModel(for: classes), classes: classes)
    }

    /// A container with the open store of a description, for the model that classes declare.
    ///
    /// - Throws: The errors of `ManagedObjectModel(for:)`, `init` and `loadPersistentStores()`.
    public static func open(_ description: PersistentStoreDescription, for classes: ManagedObject.Type...) throws -> PersistentContainer {
        try open(description, model: ManagedObjectModel(for: classes), classes: classes, migration: nil)
    }

    /// A container with an open store in memory, for the model that classes declare. For tests and caches.
    ///
    /// - Throws: The errors of `ManagedObjectModel(for:)` and `init`.
    public static func inMemory(for classes: ManagedObject.Type...) throws -> PersistentContainer {
        try inMemory(model: ManagedObjectModel(for: classes), classes: classes)
    }
}
