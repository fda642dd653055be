package import Foundation
internal import HornbeamEngine
package import HornbeamModel
internal import HornbeamThreads

/// An open store: maps the objects of the model to the tables and indexes of the engine.
///
/// Requests arrive as values; rows and references are returned as values. All methods can be called on any thread; one save is executed at
/// a time. Methods throw `HornbeamError`; `save` throws `SaveConflicts` too.
package final class Store: Sendable {
    package let location: Location
    /// The identity of the store, fixed at its creation. It is part of the IDs of its objects.
    package let identifier: UUID
    package let model: ManagedObjectModel
    let engine: Engine
    let reader: RowReader
    let options: Options
    /// The transaction of the first snapshot that was taken when the store was opened. Earlier versions may have an older model.
    let openedTransaction: UInt64
    /// The state of two-phase commits in this store.
    let joint = TwoPhaseState()
    let publisher = ChangePublisher()
    let turnBuffers = TurnBuffers()
    let batchThread = BatchThread()
    /// The history at the opening.
    private let openedHistory: HistoryLog?
    let others = OtherProcesses()
    let keys: Guarded<KeyReserve>
    let cachedMetadata: Guarded<CachedMetadata>
    /// The stored catalogue at the opening. Another process may change it later.
    let storedCatalogue: [UInt8]?
    /// The newest snapshot that is in use. Contexts share it.
    private let newest = Guarded<WeakSnapshot>(WeakSnapshot())
    /// A reference to the folder of a memory store, so that it is not freed.
    private let memory: MemoryLocation?
    /// The snapshot of a store that was opened at a fixed version; nil for other stores.
    let fixedSnapshot: StoreSnapshot?

    init(
        location: Location, identifier: UUID, engine: Engine, reader: RowReader, options: Options,
        metadata: [String: PropertyValue], storedCatalogue: [UInt8]?, openedTransaction: UInt64, history: HistoryLog?,
        memory: MemoryLocation?, fixedSnapshot: StoreSnapshot? = nil
    ) {
        self.fixedSnapshot = fixedSnapshot
        self.location = location
        self.identifier = identifier
        self.engine = engine
        self.reader = reader
        openedHistory = history
        self.memory = memory
        self.storedCatalogue = storedCatalogue
        self.openedTransaction = openedTransaction
        model = reader.schema.model
        self.options = options
        keys = Guarded(KeyReserve())
        cachedMetadata = Guarded(CachedMetadata(values: metadata))
    }

    var schema: Schema { reader.schema }
    package var isReadOnly: Bool { options.readOnly }
    /// True if several processes can write the store.
    package var isShared: Bool { engine.isShared }
    var durability: SaveDurability { options.durability }
    /// The custom store of which this store caches rows.
    var backing: StoreBacking? { options.backing }

    /// The newest transaction that recovery found. When a store is opened again after `durabilityLost`, a save is durable if its transaction
    /// is not newer than this one.
    package var recoveredTransaction: UInt64 { engine.recovered.rawValue }

    /// Nil for a store without history.
    var history: HistoryLog? {
        if openedHistory != nil || !isShared { return openedHistory }
        return others.begunHistory.withLock(\.self)
    }

    // MARK: Identities

    /// The part that the IDs of an entity's objects share.
    package func origin(of entity: EntityDescription) -> ManagedObjectID.StoreIdentity { reader.origins.origin(entity) }

    /// The entity of an ID's origin; nil for the origin of another store.
    package func entity(of origin: ManagedObjectID.StoreIdentity) -> EntityDescription? {
        reader.origins.entityIndex(origin).map { model.entities[Int($0)] }
    }

    package func objectID(_ reference: ObjectReference) -> ManagedObjectID { reader.origins.objectID(reference) }

    /// Nil for temporary IDs and IDs of other stores. The row may not exist any more.
    package func reference(_ id: ManagedObjectID) -> ObjectReference? { reader.origins.reference(id) }

    // MARK: Snapshots

    /// The number of the newest readable commit, in O(1).
    package var latestTransaction: UInt64 {
        if let last = others.lastReadable?.snapshot { return last.transaction }
        return engine.latest.rawValue
    }

    /// A snapshot of the newest committed version. Calls between the same two commits share one snapshot.
    package func snapshot() throws -> StoreSnapshot {
        if let fixedSnapshot { return fixedSnapshot }
        if let last = others.lastReadable {
            guard let snapshot = last.snapshot else { throw last.error }
            return snapshot
        }
        let latest = latestTransaction
        if let snapshot = newest.withLock({ $0.snapshot }), snapshot.transaction == latest, engine.isCurrent(snapshot.engineSnapshot) {
            return snapshot
        }
        let snapshot = try EngineError.translated { () throws(EngineError) in
            try StoreSnapshot(try engine.snapshot(), reader: reader)
        }
        try verifySchema(of: snapshot.engineSnapshot)
        newest.withLock { $0.snapshot = snapshot }
        return snapshot
    }

    /// The newest snapshot, if it is in use.
    var newestInUse: StoreSnapshot? { newest.withLock { $0.snapshot } }

    // MARK: Keys

    /// The first of `count` consecutive keys for new objects, without a sync. After a crash, keys that no durable save used may be returned again.
    ///
    /// In a shared store each block of keys is durable before its first key is returned. Otherwise, if a later sync fails, another process could get keys
    /// that objects of this process have. `LostKeys` prevents the same within one process.
    package func reserveKeys(_ count: Int) throws -> UInt64 {
        precondition(count > 0, "At least one key is reserved.")
        return try keys.withLock { keys in
            if let key = keys.take(count) { return key }
            let block = max(count, keys.nextBlock)
            try refill(&keys, block)
            guard let key = keys.take(count) else { preconditionFailure("A new block contains the requested keys.") }
            return key
        }
    }

    private func refill(_ keys: inout KeyReserve, _ block: Int) throws {
        try requireWritable()
        try EngineError.translated { () throws(EngineError) in
            let transaction = try engine.begin()
            var first = try transaction.reserveKeys(block)
            let lostEnd = LostKeys.end(in: identifier)
            if first < lostEnd {
                _ = try transaction.reserve(Int(lostEnd - first))
                first = lostEnd
            }
            _ = try transaction.commit(isShared ? .full : .lazy(maxDelay: .seconds(1)))
            keys.refill(from: first, count: block)
        }
    }

    /// A key for one new object before its save; nil for a custom store that gives keys at the save.
    package func newKeyInAdvance(for entity: EntityDescription) throws -> UInt64? {
        if backing == nil { return try reserveKeys(1) }
        return isQuerying ? try newKeys(for: [entity]).first : nil
    }

    /// Keys for new objects of the entities, in the same order.
    package func newKeys(for entities: [EntityDescription]) throws -> [UInt64] {
        guard !entities.isEmpty else { return [] }
        guard let backing else {
            let first = try reserveKeys(entities.count)
            return entities.indices.map { first + UInt64($0) }
        }
        let keys = try backing.call { try $0.newKeys(for: entities.map(\.name)) }
        guard keys.count == entities.count, Set(keys).count == keys.count, keys.allSatisfy({ 1 ..< 1 << 48 ~= $0 }) else {
            throw HornbeamError(
                .storeOperationFailed,
                "The custom store returned \(keys.count) keys for \(entities.count) new objects, or invalid or repeated keys. It must return one "
                    + "key for each object, and keys must be positive and less than 2⁴⁸.")
        }
        return keys
    }

    // MARK: Metadata

    /// The metadata that the program stored with the store (PSC-8).
    package var metadata: [String: PropertyValue] { backing?.custom.metadata ?? cachedMetadata.withLock { $0.values } }

    /// The metadata, also if another process has changed that of a custom store.
    package func currentMetadata() throws -> [String: PropertyValue] {
        if let backing { return try backing.call { try $0.currentMetadata() } }
        return metadata
    }

    /// Replaces the metadata, durably.
    package func setMetadata(_ metadata: [String: PropertyValue]) throws {
        try requireWritable()
        if let backing { return try backing.call { try $0.setMetadata(metadata) } }
        let bytes = [UInt8](try JSONEncoder().encode(metadata))
        try EngineError.translated { () throws(EngineError) in
            let transaction = try engine.begin()
            try transaction.setValue(options.stage == nil ? StoredValue.metadata : StoredValue.stageMetadata, bytes)
            _ = try transaction.commit(.full)
        }
        try cacheMetadata(of: EngineError.translated { () throws(EngineError) in try engine.snapshot() })
    }

    // MARK: Observing and closing

    /// Calls `body` for each commit, in commit order, on a committing thread: after readers see the commit and before the commit returns.
    /// Other commits wait for `body`, so it must be quick and must not save into this store. The observation ends when it is cancelled
    /// or released.
    package func observe(_ body: @escaping @Sendable (StoreChange) -> Void) -> StoreObservation {
        StoreObservation(publisher, body)
    }

    package func checkpoint() throws {
        try requireOutsideBatchHandler()
        try EngineError.translated { () throws(EngineError) in try engine.checkpoint() }
    }

    /// Writes a checkpoint and closes the store. Later calls throw `closed`.
    package func close() throws {
        try requireOutsideBatchHandler()
        // The migration continues with the engine after its stage.
        if options.stage != nil { return }
        if let backing { try backing.call { try $0.close() } }
        try EngineError.translated { () throws(EngineError) in
            // Batches reserve keys in their own transactions.
            let newest = (try? engine.snapshot())?.nextObjectKey ?? 0
            do throws(EngineError) { try engine.close() } catch {
                LostKeys.extend(to: max(newest, keys.withLock { $0.end }), in: identifier)
                throw error
            }
        }
    }
}

/// A weak reference to a snapshot.
private struct WeakSnapshot {
    weak var snapshot: StoreSnapshot?
}
