public import Foundation
public import HornbeamModel
internal import HornbeamStore

// Lookup of stores and IDs, and metadata of a store.

extension PersistentStoreCoordinator {
    /// The store at a URL; nil if it is not open (PSC-10).
    public func persistentStore(for url: URL) -> PersistentStore? {
        guard url.isFileURL else { return persistentStores.first { $0.url == url } }
        let path = url.standardizedFileURL.path
        return persistentStores.first { $0.url.isFileURL && $0.url.standardizedFileURL.path == path }
    }

    /// The store of an object; nil for a temporary ID, and if the store is not open (PSC-11).
    public func persistentStore(for id: ManagedObjectID) -> PersistentStore? {
        guard let identifier = id.storeIdentifier else { return nil }
        return persistentStores.first { $0.identifier == identifier }
    }

    /// The ID of a URI; nil if the URI has another form, or its store is not open, or its entity is abstract (PSC-12).
    ///
    /// Does not check that the object exists. If a renamed entity and another entity have had the name in the URI, looks up which of the two has the
    /// object.
    public func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
        guard let id = ManagedObjectID(uriRepresentation: uri), !id.isTemporaryID, StoreSlot.isLocal(id.reference) else { return nil }
        let stack = stack
        guard let slot = stack.slot(of: id.storeIdentifier), let store = stack[slot]?.store, let entity = entity(of: id, in: store),
            !entity.isAbstract
        else { return nil }
        return ManagedObjectID(origin: store.origin(of: entity), reference: id.reference)
    }

    /// The entity with the name in an ID, or with that name in older versions. If there are both, the one that has the object: all entities of a
    /// store take their keys from one sequence.
    private func entity(of id: ManagedObjectID, in store: Store) -> EntityDescription? {
        let model = managedObjectModel
        guard let named = model.entitiesByName[id.entityName] else {
            return model.formerEntityNames[id.entityName].flatMap { model.entitiesByName[$0] }
        }
        guard let renamed = model.entities.first(where: { $0 !== named && $0.renamingIdentifier == id.entityName }),
            let snapshot = try? store.snapshot()
        else { return named }
        func has(_ entity: EntityDescription) -> Bool { !entity.isAbstract && ((try? snapshot.values(entity, id.reference)) ?? nil) != nil }
        return !has(named) && has(renamed) ? renamed : named
    }

    /// The ID of a URI that is given as text; nil like the form with a URL (PSC-12).
    public func managedObjectID(for text: String) -> ManagedObjectID? {
        URL(string: text).flatMap(managedObjectID(forURIRepresentation:))
    }

    /// The metadata of a store, with its identifier under `HornbeamStoreUUID` (PSC-8).
    ///
    /// - Throws: `closed` if the coordinator does not have the store; the error of a custom store.
    public func metadata(for store: PersistentStore) throws -> [String: PropertyValue] {
        var metadata = try open(store).currentMetadata()
        metadata["HornbeamStoreUUID"] = .uuid(store.identifier)
        return metadata
    }

    /// Replaces the metadata of a store. Durable on return (PSC-8).
    ///
    /// - Throws: `closed` if the coordinator does not have the store; `readOnly`; the store's error.
    public func setMetadata(_ metadata: [String: PropertyValue], for store: PersistentStore) throws {
        var own = metadata
        own["HornbeamStoreUUID"] = nil
        try open(store).setMetadata(own)
    }

    /// The open store that a value describes.
    func open(_ store: PersistentStore) throws -> Store {
        let stack = stack
        guard let slot = stack.slot(of: store.identifier), let open = stack[slot]?.store else {
            throw HornbeamError(.closed, "The store \(store.url.lastPathComponent) is not in this coordinator. Add it first.")
        }
        return open
    }
}
