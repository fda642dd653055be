public import Foundation
public import HornbeamModel
internal import HornbeamStore
internal import HornbeamThreads
internal import Synchronization

/// Stands between contexts and the store: one model, one store, any number of contexts (STK-1).
///
/// May be used from any thread.
public final class PersistentStoreCoordinator: Sendable {
    public let managedObjectModel: ManagedObjectModel
    let binding: ClassBinding
    let broadcast = ChangeBroadcast()
    let slowFetches = SlowFetches()

    private let loaded = Guarded<Loaded?>(nil)
    private let lastToken = Atomic<UInt64>(0)

    private struct Loaded {
        let store: Store
        let description: PersistentStoreDescription
        let observation: StoreObservation
    }

    /// - Parameter classes: The classes of the model's entities. Entities without one have plain `ManagedObject`s.
    /// - Throws: `unboundClass`, with every mismatch between classes and model among its details.
    public init(managedObjectModel: ManagedObjectModel, classes: [ManagedObject.Type] = []) throws {
        self.managedObjectModel = managedObjectModel
        binding = try ClassBinding(classes, model: managedObjectModel)
    }

    /// Opens a store and adds it (PSC-1).
    ///
    /// - Throws: What is wrong with the store: not a store, of a newer format, in use, damaged, made for
    ///   another model; or that there is a store already.
    public func addPersistentStore(_ description: PersistentStoreDescription) throws {
        if let present = loaded.withLock({ $0?.description }) {
            if present == description { return }
            throw HornbeamError(
                .unsupportedRequest,
                "The coordinator has the store \(present.url.lastPathComponent) already, and serves one store. "
                    + "Use a container of its own for each store.")
        }
        adopt(
            try Store.open(description.location, model: managedObjectModel, options: description.options),
            as: description)
    }

    /// Takes over an open store.
    func adopt(_ store: Store, as description: PersistentStoreDescription) {
        let broadcast = broadcast
        let observation = store.observe { [weak store] change in
            guard let store else { return }
            broadcast.announce(change) { store.objectID($0) }
        }
        loaded.withLock { $0 = Loaded(store: store, description: description, observation: observation) }
    }

    /// What was added (PSC-10).
    public var persistentStoreDescriptions: [PersistentStoreDescription] {
        loaded.withLock { $0.map { [$0.description] } ?? [] }
    }

    /// Closes the store. Contexts must not be used afterwards (PSC-3).
    ///
    /// - Throws: The store's error; what was saved is safe in any case.
    public func close() throws {
        let store = loaded.withLock { loaded in
            defer { loaded = nil }
            loaded?.observation.cancel()
            return loaded?.store
        }
        broadcast.finish()
        try store?.close()
    }

    /// The open store.
    func loadedStore() throws -> Store {
        if let store = loaded.withLock({ $0?.store }) { return store }
        throw HornbeamError(
            .closed, "No store is open. Call loadPersistentStores() first, and use no context after close().")
    }

    func origin(of entity: EntityDescription) -> ManagedObjectID.Origin {
        guard let store = loaded.withLock({ $0?.store }) else {
            preconditionFailure(
                "No store is open. Call loadPersistentStores() before making objects, and use no context after close().")
        }
        return store.origin(of: entity)
    }

    // MARK: Contexts

    func nextContextToken() -> UInt64 { lastToken.wrappingAdd(1, ordering: .relaxed).newValue }

    func subscribe(_ inbox: ChangeInbox, token: UInt64) { broadcast.subscribe(inbox, token: token) }

    func unsubscribe(token: UInt64) { broadcast.unsubscribe(token: token) }
}

extension PersistentStoreCoordinator {
    /// The ID that a URI stands for; nil when it is none, or of another store (PSC-12).
    ///
    /// Does not look whether there is such an object.
    public func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
        guard let id = ManagedObjectID(uriRepresentation: uri), !id.isTemporaryID,
            let store = loaded.withLock({ $0?.store }), store.identifier == id.storeIdentifier,
            let entity = managedObjectModel.entitiesByName[id.entityName]
        else { return nil }
        return ManagedObjectID(origin: store.origin(of: entity), reference: id.reference)
    }

    /// The notes kept in the store, with its UUID under `HornbeamStoreUUID` (PSC-8).
    ///
    /// - Throws: `closed` when no store is open.
    public func metadata() throws -> [String: PropertyValue] {
        let store = try loadedStore()
        var metadata = store.metadata
        metadata["HornbeamStoreUUID"] = .uuid(store.identifier)
        return metadata
    }

    /// Replaces the notes kept in the store; durable when it returns (PSC-8).
    ///
    /// - Throws: The store's error.
    public func setMetadata(_ metadata: [String: PropertyValue]) throws {
        var own = metadata
        own["HornbeamStoreUUID"] = nil
        try loadedStore().setMetadata(own)
    }

    /// Deletes a store with all its files; one that is not there is fine (PSC-16).
    ///
    /// - Throws: `storeInUse` when it is open in this coordinator; `inputOutput` when files cannot be removed.
    public func destroyPersistentStore(_ description: PersistentStoreDescription) throws {
        if loaded.withLock({ $0?.description.url == description.url }) {
            throw HornbeamError(
                .storeInUse, "The store \(description.url.lastPathComponent) is open. Close it before destroying it.")
        }
        guard description.type == .onDisk, FileManager.default.fileExists(atPath: description.url.path) else { return }
        do {
            try FileManager.default.removeItem(at: description.url)
        } catch {
            throw HornbeamError(
                .inputOutput, "The store \(description.url.lastPathComponent) cannot be removed.", cause: "\(error)")
        }
    }
}

extension PersistentStoreDescription {
    fileprivate var location: Store.Location {
        switch type {
        case .onDisk: .directory(url.path)
        case .inMemory: .memory(name: url.lastPathComponent)
        }
    }

    fileprivate var options: Store.Options {
        var options = Store.Options()
        options.createIfMissing = createsIfMissing
        options.readOnly = isReadOnly
        options.allowsNetworkFileSystem = allowsNetworkFileSystem
        options.poolBytes = poolBytes
        if case .lazy(let delay) = durability { options.durability = .lazy(maxDelay: delay) }
        return options
    }
}
