internal import Foundation
public import HornbeamModel
internal import HornbeamStore
internal import HornbeamThreads
internal import Synchronization

/// Connects contexts with stores: one model, any number of stores, and any number of contexts (STK-1).
///
/// Contexts read the union of the stores, and a save over several of them is atomic. Can be used from any thread.
public final class PersistentStoreCoordinator: Sendable {
    /// The model of the stores.
    public let managedObjectModel: ManagedObjectModel
    /// The versions through which stores are migrated; nil for a migration in one step (MIG-14).
    public let versions: VersionedModel?
    /// The stages from each version to the next; empty if they are inferred.
    let migrationSteps: [MigrationStep]
    let binding: ClassBinding
    let broadcast = ChangeBroadcast()
    let shapes = EntityShapes()
    let requestShapes = RequestShapes()
    let slowFetches = SlowFetches()

    private let state = Guarded(State())
    private let lastToken = Atomic<UInt64>(0)
    /// The address of the stack. With it, contexts check without a lock that their stack is the current one.
    private let stackAddress = Atomic<UInt>(0)

    private struct State {
        /// The open stores by slot; nil for removed stores.
        var entries: [StoreEntry?] = []
        /// The identifiers of all stores so far, by slot.
        var identifiers: [UUID] = []
        var stack = StoreStack([])
        /// The threads that are closing stores.
        var closers: [ObjectIdentifier] = []
    }

    /// A coordinator without stores.
    ///
    /// - Parameters:
    ///   - managedObjectModel: The model of the stores.
    ///   - classes: The classes of the model's entities. An entity without a class has objects of class `ManagedObject`.
    /// - Throws: `unboundClass`, which lists every difference between the classes and the model.
    public convenience init(managedObjectModel: ManagedObjectModel, classes: [ManagedObject.Type] = []) throws {
        try self.init(managedObjectModel, nil, [], classes)
    }

    /// A coordinator for the current version of a model. It migrates stores of older versions through each version between (MIG-14).
    public convenience init(versions: VersionedModel, classes: [ManagedObject.Type] = []) throws {
        try self.init(versions.current, versions, [], classes)
    }

    init(
        _ managedObjectModel: ManagedObjectModel, _ versions: VersionedModel?, _ steps: [MigrationStep], _ classes: [ManagedObject.Type]
    ) throws {
        self.managedObjectModel = managedObjectModel
        self.versions = versions
        migrationSteps = steps
        binding = try ClassBinding(classes, model: managedObjectModel)
    }

    /// The current stores.
    var stack: StoreStack { state.withLock { $0.stack } }

    /// True if the stores are the same, and no newer commit exists. Takes no lock. Always false with several stores.
    func isNewest(_ read: ReadState.SnapshotIdentity) -> Bool {
        guard stackAddress.load(ordering: .acquiring) == read.stackAddress else { return false }
        // The address is valid: the caller's snapshot retains the stack.
        guard let stack = unsafe UnsafeRawPointer(bitPattern: read.stackAddress) else { return false }
        return unsafe Unmanaged<StoreStack>.fromOpaque(stack)._withUnsafeGuaranteedRef { $0.isOnlyStore(at: read.transaction) }
    }

    private func set(_ parts: [StoreStack.Part?], in state: inout State) {
        let stack = StoreStack(parts)
        state.stack = stack
        stackAddress.store(UInt(bitPattern: ObjectIdentifier(stack)), ordering: .releasing)
    }

    /// The stores, in the order in which they were added (PSC-2).
    public var persistentStores: [PersistentStore] {
        state.withLock { $0.entries.compactMap { $0?.store } }
    }

    /// The descriptions of the stores (PSC-10).
    public var persistentStoreDescriptions: [PersistentStoreDescription] {
        state.withLock { $0.entries.compactMap { $0?.description } }
    }

    // MARK: Adding and removing

    /// Opens a store and adds it. Does nothing if a store with the same description is open already (PSC-1).
    ///
    /// Contexts read its objects from their next fetch on. Several containers of one process can share a store.
    /// - Throws: The error of opening the store: it is not a store, has a newer format, is in use by another process, is damaged, or has
    ///   another model. `unknownName` for the configuration. `unsupportedRequest` if a store with the same identifier was already added.
    @discardableResult
    public func addPersistentStore(_ description: PersistentStoreDescription) throws -> PersistentStore {
        try addPersistentStore(description, migration: nil)
    }

    /// Opens a store and adds it; `migration` reports the progress of its migration, and can cancel it.
    @discardableResult
    public func addPersistentStore(
        _ description: PersistentStoreDescription, migration: MigrationMonitor?
    ) throws -> PersistentStore {
        if let entry = state.withLock({ $0.entries.first { $0?.description == description } }) ?? nil { return entry.store }
        let entities = try description.configurationName.map { name in
            Set(try managedObjectModel.entities(forConfigurationName: name).map(\.index))
        }
        return try add(try lease(description, migration), description, entities)
    }

    private func add(
        _ lease: StoreLease, _ description: PersistentStoreDescription, _ entities: Set<Int>?
    ) throws -> PersistentStore {
        let store = lease.store
        let broadcast = broadcast
        let added: (entry: StoreEntry, stack: StoreStack)? = state.withLock { state in
            let known = state.identifiers.firstIndex(of: store.identifier)
            if let known, state.entries[known] != nil { return nil }
            let index = known ?? state.entries.count
            let entry = StoreEntry(lease, description, slot: StoreSlot(index), broadcast)
            if known == nil {
                state.identifiers.append(store.identifier)
                state.entries.append(nil)
            }
            state.entries[index] = entry
            var parts = state.stack.parts
            while parts.count <= index { parts.append(nil) }
            parts[index] = StoreStack.Part(store, isReadOnly: description.isReadOnly, entities: entities)
            set(parts, in: &state)
            return (entry, state.stack)
        }
        guard let added else {
            try lease.end()
            throw HornbeamError(
                .unsupportedRequest,
                "The coordinator already has a store with the identifier of \(description.url.lastPathComponent): the same store, or "
                    + "a copy. Use a separate container for a copy.")
        }
        do { try added.stack.completeInterruptedSaves() } catch {
            try? remove(added.entry.store)
            throw error
        }
        post(Self.storesDidChangeNotification, StoresChange(added: [added.entry.store]))
        return added.entry.store
    }

    /// Replaces the store in a slot by another store with the same identifier.
    func replaceStore(
        _ lease: StoreLease, _ description: PersistentStoreDescription, inPlaceOf store: PersistentStore
    ) throws -> PersistentStore {
        let broadcast = broadcast
        let old: (entry: StoreEntry, new: StoreEntry)? = state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0?.store == store }), let entry = state.entries[index] else {
                return nil
            }
            let new = StoreEntry(lease, description, slot: StoreSlot(index), broadcast)
            var parts = state.stack.parts
            parts[index] = StoreStack.Part(
                lease.store, isReadOnly: description.isReadOnly, entities: parts[index]?.entities)
            state.entries[index] = new
            set(parts, in: &state)
            return (entry, new)
        }
        guard let old else {
            try lease.end()
            throw HornbeamError(.closed, "The store \(store.url.lastPathComponent) is not in this coordinator.")
        }
        try old.entry.end()
        post(
            Self.storesDidChangeNotification, StoresChange(moved: [.init(from: store, to: old.new.store)]))
        return old.new.store
    }

    /// Adds a store that is already open.
    func addOpenStore(_ store: Store, as description: PersistentStoreDescription) throws {
        _ = try add(StoreLease(ofOwn: store), description, nil)
    }

    /// Removes a store, and closes it unless another container of this process uses it (PSC-3).
    ///
    /// Contexts release its objects at their next fetch, count, save or merge; unsaved changes of these objects are lost.
    /// Objects in use keep their last known values.
    /// - Throws: `closed` if the coordinator does not have the store; the error of closing it. Saved data is not affected.
    public func remove(_ store: PersistentStore) throws {
        try requireOutsideBatchHandler()
        if persistentStores.contains(store) { post(Self.willRemoveStoreNotification, StoresChange(removed: [store])) }
        let entry: StoreEntry? = state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0?.store == store }) else { return nil }
            state.closers.append(Self.currentThread)
            defer {
                state.entries[index] = nil
                var parts = state.stack.parts
                parts[index] = nil
                set(parts, in: &state)
            }
            return state.entries[index]
        }
        guard let entry else {
            throw HornbeamError(.closed, "The store \(store.url.lastPathComponent) is not in this coordinator.")
        }
        do {
            defer { endClosing() }
            try entry.end()
        }
        post(Self.storesDidChangeNotification, StoresChange(removed: [store]))
    }

    /// Removes all stores. Contexts must not be used until stores are added again (PSC-3). If another thread is closing stores, waits until they are
    /// closed.
    ///
    /// - Throws: The first error of closing a store, in the call that closes it. Saved data is not affected.
    public func close() throws {
        try requireOutsideBatchHandler()
        let thread = Self.currentThread
        let entries = state.withLock { state in
            state.closers.append(thread)
            let entries = state.entries.compactMap(\.self)
            state.entries = state.entries.map { _ in nil }
            set(state.stack.parts.map { _ in nil }, in: &state)
            return entries
        }
        broadcast.finish()
        let failures = entries.compactMap { entry -> (any Error)? in
            do { try entry.end() } catch { return error }
            return nil
        }
        endClosing()
        // A custom store may call this while it is closed by this thread.
        state.wait { state in state.closers.allSatisfy { $0 == thread } ? () : nil }
        if let failure = failures.first { throw failure }
    }

    private static var currentThread: ObjectIdentifier { ObjectIdentifier(Thread.current) }

    private func endClosing() {
        let thread = Self.currentThread
        state.withLock { state in
            if let index = state.closers.lastIndex(of: thread) { state.closers.remove(at: index) }
        }
        state.monitor.signalAll(.progress)
    }

    /// - Throws: `unsupportedRequest` if called in the handler of a batch insert.
    private func requireOutsideBatchHandler() throws {
        for slot in stack.slots { try stack[slot]?.store.requireOutsideBatchHandler() }
    }

    /// Opens stores again whose disk failed during a save (`durabilityLost`). Does nothing if no store failed.
    ///
    /// Contexts keep their objects and their unsaved changes. At its next fetch, merge or save, a context determines the outcome of
    /// its failed save. If the save is durable, its changes are saved changes; if not, the next `save()`
    /// writes them. No change is lost or written twice. A failed batch request is not repeated: check
    /// whether it was executed.
    /// - Throws: The error of opening a store. For example, the disk still fails: try again later. `storeInUse` if
    ///   another container of this process uses the store too.
    public func reopenFailedStores() throws {
        let failed = state.withLock { state in
            state.entries.indices.filter { state.entries[$0]?.lease.store.hasFailed ?? false }
        }
        guard !failed.isEmpty else { return }
        for index in failed { try reopen(at: index) }
        broadcast.publishUnknownState()
        try stack.completeInterruptedSaves()
    }

    private func reopen(at index: Int) throws {
        guard let entry = state.withLock({ $0.entries[index] }) else { return }
        let lease = try entry.lease.reopened()
        let reopened = StoreEntry(lease, entry.description, slot: StoreSlot(index), broadcast)
        state.withLock { state in
            state.entries[index] = reopened
            var parts = state.stack.parts
            parts[index] = parts[index].map {
                StoreStack.Part(lease.store, isReadOnly: $0.isReadOnly, entities: $0.entities)
            }
            set(parts, in: &state)
        }
    }

    // MARK: Contexts

    func nextContextToken() -> UInt64 { lastToken.wrappingAdd(1, ordering: .relaxed).newValue }
}
