package import Foundation
internal import HornbeamEngine
package import HornbeamModel
internal import HornbeamThreads

/// An open store: the room where the engine's bytes and the model's objects meet.
///
/// Requests come in as values, rows and references go out as values. Any thread may call anything; one save is carried out at a time.
/// What fails throws `HornbeamError`; `save` throws `SaveConflicts` too.
package final class Store: Sendable {
    package let location: Location
    /// Fixed when the store is created; in the IDs of its objects.
    package let identifier: UUID
    package let model: ManagedObjectModel
    package let isReadOnly: Bool
    let engine: Engine
    let reader: RowReader
    let durability: SaveDurability
    /// The custom store of whose rows this one keeps a copy.
    let backing: StoreBacking?
    /// What the store was opened with.
    let options: Options
    /// The newest transaction that opening the store found. Of a save that failed with `durabilityLost` it tells what
    /// became of it: what is not newer is there.
    package let recoveredTransaction: UInt64
    /// The transaction of the state that the opening ended with. States before it may be of an older version of the model.
    let openedTransaction: UInt64
    /// Where the store stands in saves over several stores.
    let joint = JointState()
    let announcer = Announcer()
    let sharedSaves = SharedSaves()
    let batchThread = BatchThread()
    /// Nil for a store that keeps none.
    let history: HistoryLog?
    let keys: Guarded<KeyReserve>
    private let cachedMetadata: Guarded<[String: PropertyValue]>
    /// The catalogue as it was stored when the store was opened: another process may change it.
    let storedCatalogue: [UInt8]?
    /// Set once another process has changed the model of a store that is open for reading: the last state of the old model.
    let lastState = Guarded<LastState?>(nil)
    /// The newest snapshot that is still in use, so that contexts share one.
    private let newest = Guarded<WeakSnapshot>(WeakSnapshot())
    /// Keeps the folder of a memory store alive.
    private let memory: MemoryLocation?
    /// The one state that the store shows, whatever is committed; nil for the newest.
    let fixedState: StoreSnapshot?

    init(
        location: Location, identifier: UUID, engine: Engine, reader: RowReader, options: Options,
        metadata: [String: PropertyValue], storedCatalogue: [UInt8]?, openedTransaction: UInt64, history: HistoryLog?,
        memory: MemoryLocation?, fixedState: StoreSnapshot? = nil
    ) {
        self.fixedState = fixedState
        self.location = location
        self.identifier = identifier
        self.engine = engine
        self.reader = reader
        self.history = history
        self.memory = memory
        self.storedCatalogue = storedCatalogue
        self.openedTransaction = openedTransaction
        model = reader.schema.model
        isReadOnly = options.readOnly
        durability = options.durability
        backing = options.backing
        self.options = options
        recoveredTransaction = engine.recovered.rawValue
        keys = Guarded(KeyReserve())
        cachedMetadata = Guarded(metadata)
    }

    var schema: Schema { reader.schema }

    // MARK: Identities

    /// What the IDs of an entity's objects share.
    package func origin(of entity: EntityDescription) -> ManagedObjectID.Origin { reader.origins.origin(entity) }

    /// The entity of an ID's origin; nil for another store's.
    package func entity(of origin: ManagedObjectID.Origin) -> EntityDescription? {
        reader.origins.entityIndex(origin).map { model.entities[Int($0)] }
    }

    package func objectID(_ reference: ObjectReference) -> ManagedObjectID { reader.origins.objectID(reference) }

    /// Nil for temporary IDs and those of other stores. The row may be gone.
    package func reference(_ id: ManagedObjectID) -> ObjectReference? { reader.origins.reference(id) }

    // MARK: States

    /// The number of the newest commit that can be read. Cheap.
    package var latestTransaction: UInt64 {
        if isReadOnly, let last = lastState.withLock(\.self) { return last.snapshot.transaction }
        return engine.latest.rawValue
    }

    /// The newest committed state. Callers that ask between the same commits share one.
    package func snapshot() throws -> StoreSnapshot {
        if let fixedState { return fixedState }
        if isReadOnly, let last = lastState.withLock(\.self) { return last.snapshot }
        let latest = latestTransaction
        if let snapshot = newest.withLock({ $0.snapshot }), snapshot.transaction == latest { return snapshot }
        let snapshot = try EngineError.translated { () throws(EngineError) in
            try StoreSnapshot(try engine.snapshot(), reader: reader)
        }
        newest.withLock { $0.snapshot = snapshot }
        return snapshot
    }

    // MARK: Keys

    /// The first of `count` consecutive keys for new objects. No sync: keys that no save uses may be given again after a crash, never before.
    package func reserveKeys(_ count: Int) throws -> UInt64 {
        precondition(count > 0, "At least one key is reserved.")
        return try keys.withLock { keys in
            if let key = keys.take(count) { return key }
            let block = max(count, keys.nextBlock)
            try refill(&keys, block)
            guard let key = keys.take(count) else { preconditionFailure("A fresh block holds the keys asked for.") }
            return key
        }
    }

    private func refill(_ keys: inout KeyReserve, _ block: Int) throws {
        try requireWritable()
        try EngineError.translated { () throws(EngineError) in
            let transaction = try engine.begin()
            let first = try transaction.reserve(block)
            _ = try transaction.commit(.lazy(maxDelay: .seconds(1)))
            keys.refill(from: first, count: block)
        }
    }

    /// The key for one new object; nil when the custom store gives it.
    package func newKeyIfPlain() throws -> UInt64? { backing == nil ? try reserveKeys(1) : nil }

    /// Keys for new objects of entities, in their order.
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
                "The custom store gave \(keys.count) keys for \(entities.count) new objects, or gave some twice or out of bounds. Keys "
                    + "are from 1 below 2⁴⁸, one for each object.")
        }
        return keys
    }

    // MARK: Metadata

    /// The values that the app keeps with the store (PSC-8).
    package var metadata: [String: PropertyValue] { backing?.custom.metadata ?? cachedMetadata.withLock { $0 } }

    /// Takes up the metadata of a newer state.
    func remember(_ metadata: [String: PropertyValue]) { cachedMetadata.withLock { $0 = metadata } }

    /// Replaces the metadata, durably.
    package func setMetadata(_ metadata: [String: PropertyValue]) throws {
        try requireWritable()
        if let backing { return try backing.call { try $0.setMetadata(metadata) } }
        let bytes = [UInt8](try JSONEncoder().encode(metadata))
        try EngineError.translated { () throws(EngineError) in
            let transaction = try engine.begin()
            try transaction.setValue(StoredValue.metadata, bytes)
            _ = try transaction.commit(.full)
        }
        cachedMetadata.withLock { $0 = metadata }
    }

    // MARK: Changes and the end

    /// Calls `body` for each commit, in commit order, once readers see it and before the commit returns, on a committing thread.
    /// Other commits wait meanwhile: `body` must be quick and must not save into this store. Ends when the observation is cancelled
    /// or let go.
    package func observe(_ body: @escaping @Sendable (StoreChange) -> Void) -> StoreObservation {
        StoreObservation(announcer, body)
    }

    package func checkpoint() throws {
        try requireNoBatchHere()
        try EngineError.translated { () throws(EngineError) in try engine.checkpoint() }
    }

    /// Ends the store with a checkpoint. Whoever still uses it gets `closed`.
    package func close() throws {
        try requireNoBatchHere()
        if let backing { try backing.call { try $0.close() } }
        try EngineError.translated { () throws(EngineError) in try engine.close() }
    }
}

/// Keys that were taken from the engine's sequence in one block and not given out yet.
struct KeyReserve {
    private var next: UInt64 = 0
    private var end: UInt64 = 0
    /// How many to take next time: doubles, so that few commits are made for many objects and little is left over for few.
    private(set) var nextBlock = 64

    mutating func take(_ count: Int) -> UInt64? {
        guard end - next >= UInt64(count) else { return nil }
        defer { next += UInt64(count) }
        return next
    }

    mutating func refill(from first: UInt64, count: Int) {
        // What is left of the old block is forgotten; keys need not be dense.
        next = first
        end = first + UInt64(count)
        nextBlock = min(nextBlock * 2, 16_384)
    }
}

/// Remembers a snapshot without keeping it.
private struct WeakSnapshot {
    weak var snapshot: StoreSnapshot?
}
