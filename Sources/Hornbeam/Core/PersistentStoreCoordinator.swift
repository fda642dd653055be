internal import Foundation
public import HornbeamModel
internal import HornbeamStore
internal import HornbeamThreads
internal import Synchronization

/// Connects contexts with stores: one model, any number of stores, any number of contexts (STK-1).
///
/// Contexts read the union of the stores, and a save over several of them is atomic. Can be used from any thread.
public final class PersistentStoreCoordinator: Sendable {
    /// The model of the stores.
    public let managedObjectModel: ManagedObjectModel
    /// The versions through which stores are migrated; nil for a migration in one step (MIG-14).
    public let versions: VersionedModel?
    /// The stages from each version to the next; empty when they are inferred from the versions.
    private let migrationSteps: [MigrationStep]
    let binding: ClassBinding
    let broadcast = ChangeBroadcast()
    let shapes = EntityShapes()
    let slowFetches = SlowFetches()

    private let state = Guarded(State())
    private let lastToken = Atomic<UInt64>(0)
    /// The address of the stack, so that contexts can check without a lock that their stack is current.
    private let stackAddress = Atomic<UInt>(0)

    private struct State {
        /// By slot; nil for removed stores.
        var entries: [StoreEntry?] = []
        /// The identities of all stores so far, by slot.
        var identifiers: [UUID] = []
        var stack = StoreStack([])
    }

    /// A coordinator without stores.
    ///
    /// - Parameters:
    ///   - managedObjectModel: The model of the stores.
    ///   - classes: The classes of the model's entities. Entities without one have objects of class `ManagedObject`.
    /// - Throws: `unboundClass`, with every difference between classes and model among its details.
    public convenience init(managedObjectModel: ManagedObjectModel, classes: [ManagedObject.Type] = []) throws {
        try self.init(managedObjectModel, nil, [], classes)
    }

    /// A coordinator for the current version, which migrates stores of older ones from version to version (MIG-14).
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

    /// True when there is no newer commit and the stores are the same. Takes no lock. Always false with several stores.
    func isNewest(_ read: ReadState.Mark) -> Bool {
        guard stackAddress.load(ordering: .acquiring) == read.stackAddress else { return false }
        // The reader's snapshot retains the stack at this address.
        guard let stack = UnsafeRawPointer(bitPattern: read.stackAddress) else { return false }
        return Unmanaged<StoreStack>.fromOpaque(stack)._withUnsafeGuaranteedRef { $0.isOnlyStore(at: read.transaction) }
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

    /// Opens a store and adds it; does nothing if a store with the same description was already added (PSC-1).
    ///
    /// Contexts read its objects from their next fetch on. Containers of this process can share a store.
    /// - Throws: The error of opening: not a store, a newer format, in use by another process, damaged, another
    ///   model; `unknownName` for the configuration; `unsupportedRequest` when a store with the same identity was already added.
    @discardableResult
    public func addPersistentStore(_ description: PersistentStoreDescription) throws -> PersistentStore {
        try addPersistentStore(description, migration: nil)
    }

    /// As above; `migration` reports the migration of the store, and can cancel it.
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

    /// The store of a description; opened unless this process already has it open.
    func lease(_ description: PersistentStoreDescription, _ monitor: MigrationMonitor? = nil) throws -> StoreLease {
        if let custom = description.customStore { return try Store.lease(custom, model: managedObjectModel) }
        var options = options(for: description)
        options.migration?.progress = monitor?.report(for: description.url)
        return try Store.lease(description.location, model: managedObjectModel, options: options)
    }

    func options(for description: PersistentStoreDescription) -> Store.Options {
        var options = description.options
        if let versions { options.migration?.take(versions) }
        options.migration?.stages = migrationSteps
        return options
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
                "The coordinator has a store with the identity of \(description.url.lastPathComponent) already: the same one, or "
                    + "one that was copied from it. Use a container of its own for a copy.")
        }
        do { try added.stack.settle() } catch {
            try? remove(added.entry.store)
            throw error
        }
        post(Self.storesDidChangeNotification, StoresChange(added: [added.entry.store]))
        return added.entry.store
    }

    /// Replaces the store in a slot by another one with the same identity.
    func put(
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
            throw HornbeamError(.closed, "The store \(store.url.lastPathComponent) is not of this coordinator.")
        }
        try old.entry.end()
        post(
            Self.storesDidChangeNotification, StoresChange(moved: [.init(from: store, to: old.new.store)]))
        return old.new.store
    }

    /// Adds an open store.
    func adopt(_ store: Store, as description: PersistentStoreDescription) throws {
        _ = try add(StoreLease(ofOwn: store), description, nil)
    }

    /// Removes a store; it is closed unless another container of this process uses it (PSC-3).
    ///
    /// Contexts release its objects at their next fetch, count, save or merge; unsaved changes of these objects are lost.
    /// Objects in use keep their last known values.
    /// - Throws: `closed` when the store was not added; the error of closing. Saved data is not affected.
    public func remove(_ store: PersistentStore) throws {
        try requireNoBatchHere()
        if persistentStores.contains(store) { post(Self.willRemoveStoreNotification, StoresChange(removed: [store])) }
        let entry: StoreEntry? = state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0?.store == store }) else { return nil }
            defer {
                state.entries[index] = nil
                var parts = state.stack.parts
                parts[index] = nil
                set(parts, in: &state)
            }
            return state.entries[index]
        }
        guard let entry else {
            throw HornbeamError(.closed, "The store \(store.url.lastPathComponent) is not of this coordinator.")
        }
        try entry.end()
        post(Self.storesDidChangeNotification, StoresChange(removed: [store]))
    }

    /// Removes all stores. Contexts must not be used until stores are added again (PSC-3).
    ///
    /// - Throws: The first error of closing; saved data is not affected.
    public func close() throws {
        try requireNoBatchHere()
        let entries = state.withLock { state in
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
        if let failure = failures.first { throw failure }
    }

    /// - Throws: `unsupportedRequest` in the handler of a batch insert.
    private func requireNoBatchHere() throws {
        for slot in stack.slots { try stack[slot]?.store.requireNoBatchHere() }
    }

    /// Opens stores again whose disk failed during a save (`durabilityLost`); does nothing when none failed.
    ///
    /// Contexts keep their objects and their unsaved changes. At their next fetch, merge or save they determine the outcome of
    /// the failed save: if it is durable, its changes count as saved; if not, the next `save()`
    /// writes them. Nothing is lost and nothing is written twice. A failed batch request is not repeated: check
    /// whether it was executed.
    /// - Throws: The error of opening a store, such as a disk that still fails: try again later. `storeInUse` while
    ///   another container of this process uses the store too.
    public func reopenFailedStores() throws {
        let failed = state.withLock { state in
            state.entries.indices.filter { state.entries[$0]?.lease.store.hasFailed ?? false }
        }
        guard !failed.isEmpty else { return }
        for index in failed { try reopen(at: index) }
        broadcast.announceUnknown()
        try stack.settle()
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

extension PersistentStoreDescription {
    var location: Store.Location {
        switch type {
        case .onDisk: .directory(url.path)
        case .inMemory, .custom: .memory(name: String(url.path(percentEncoded: false).dropFirst()))
        }
    }

    var options: Store.Options {
        var options = Store.Options()
        options.createIfMissing = createsIfMissing
        options.readOnly = isReadOnly
        options.allowsNetworkFileSystem = allowsNetworkFileSystem
        options.poolBytes = poolBytes
        options.history = history.map {
            HistoryRetention(
                recordCount: $0.recordCount, unreadRecordCount: $0.unreadRecordCount, ageSeconds: $0.age / .seconds(1))
        }
        options.snapshotAgeMax = snapshotAgeMax
        options.startingPoint = startingPoint
        options.retainedGenerations = retainedGenerations
        options.retainedGenerationsAge = retainedGenerationsAge
        if shouldMigrateStoreAutomatically {
            var migration = MigrationOptions()
            migration.infersMapping = shouldInferMappingModelAutomatically
            migration.checksValues = validatesMigratedObjects
            migration.backupDirectory = backupDirectory?.path
            options.migration = migration
        }
        if case .lazy(let delay) = durability { options.durability = .lazy(maxDelay: delay) }
        return options
    }
}
