public import Foundation
public import HornbeamModel
internal import HornbeamStore

// Finding stores and IDs, and what the app notes in a store.

extension PersistentStoreCoordinator {
    /// The store at a place; nil when it was not added (PSC-10).
    public func persistentStore(for url: URL) -> PersistentStore? {
        guard url.isFileURL else { return persistentStores.first { $0.url == url } }
        let path = url.standardizedFileURL.path
        return persistentStores.first { $0.url.isFileURL && $0.url.standardizedFileURL.path == path }
    }

    /// The store that holds an object; nil while the ID is temporary, and when the store is not here (PSC-11).
    public func persistentStore(for id: ManagedObjectID) -> PersistentStore? {
        guard let identifier = id.storeIdentifier else { return nil }
        return persistentStores.first { $0.identifier == identifier }
    }

    /// The ID that a URI stands for; nil when it is none, or of a store that is not here (PSC-12).
    ///
    /// Does not look whether there is such an object.
    public func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
        guard let id = ManagedObjectID(uriRepresentation: uri), !id.isTemporaryID,
            let entity = managedObjectModel.entitiesByName[managedObjectModel.formerEntityNames[id.entityName] ?? id.entityName]
        else { return nil }
        let stack = stack
        guard let slot = stack.slot(of: id.storeIdentifier), let store = stack[slot]?.store else { return nil }
        return ManagedObjectID(origin: store.origin(of: entity), reference: id.reference)
    }

    /// As above, from the URI's text (PSC-12).
    public func managedObjectID(for text: String) -> ManagedObjectID? {
        URL(string: text).flatMap(managedObjectID(forURIRepresentation:))
    }

    /// The notes kept in a store, with its identity under `HornbeamStoreUUID` (PSC-8).
    ///
    /// - Throws: `closed` when the store is not of this coordinator.
    public func metadata(for store: PersistentStore) throws -> [String: PropertyValue] {
        var metadata = try open(store).metadata
        metadata["HornbeamStoreUUID"] = .uuid(store.identifier)
        return metadata
    }

    /// Replaces the notes kept in a store; durable when it returns (PSC-8).
    ///
    /// - Throws: `closed` when the store is not of this coordinator; `readOnly`; the store's error.
    public func setMetadata(_ metadata: [String: PropertyValue], for store: PersistentStore) throws {
        var own = metadata
        own["HornbeamStoreUUID"] = nil
        try open(store).setMetadata(own)
    }

    /// The open store behind the value.
    func open(_ store: PersistentStore) throws -> Store {
        let stack = stack
        guard let slot = stack.slot(of: store.identifier), let open = stack[slot]?.store else {
            throw HornbeamError(.closed, "The store \(store.url.lastPathComponent) is not of this coordinator.")
        }
        return open
    }
}
