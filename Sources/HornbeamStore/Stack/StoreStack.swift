package import Foundation
package import HornbeamModel
internal import HornbeamThreads

/// The stores of a coordinator. It determines the store of an existing object and the store for a new object.
///
/// Immutable: adding or removing a store makes a new stack, in which each store keeps its slot. Safe: `parts` retains the store that is not counted.
@safe package final class StoreStack: Sendable {
    package struct Part: Sendable {
        package let store: Store
        package let isReadOnly: Bool
        /// The entities of the store's configuration, by index in the model; nil for all.
        package let entities: Set<Int>?

        package init(_ store: Store, isReadOnly: Bool = false, entities: Set<Int>? = nil) {
            self.store = store
            self.isReadOnly = isReadOnly || store.isReadOnly
            self.entities = entities
        }

        package func holds(_ entity: EntityDescription) -> Bool { entities?.contains(entity.index) ?? true }
    }

    /// Indexed by slot; nil for a removed store.
    package let parts: [Part?]
    /// The store in the first slot, if there was never another one.
    package let only: Store?
    /// `only`, if it is writable; otherwise nil.
    let onlyWritable: Store?
    /// The slot of all new objects, if one store holds all entities and there is no other one now.
    package let slotOfAllInserts: StoreSlot?
    /// The slot of the store, if there is no other one now.
    package let slotOfLoneStore: StoreSlot?
    /// That store, without reference counting, for the check before each read.
    private let loneStore: Unmanaged<Store>?  // `parts` retains it
    /// True when a store must load rows before they are read.
    package let isIncremental: Bool
    /// The store that answers queries itself, if there is no other one now. Beside other stores, Hornbeam finds the results in its rows.
    package let queryingStore: Store?
    /// True if a store that answers queries itself is beside others.
    package let hasQueryingStoreBesideOthers: Bool
    /// The stores that several processes write, in the order of their identifiers, if there are at least two.
    let sharedStores: [Store]
    private let newest = Guarded<WeakStackSnapshot>(WeakStackSnapshot())

    package init(_ parts: [Part?]) {
        self.parts = parts
        only = parts.count == 1 ? parts[0]?.store : nil
        onlyWritable = parts.count == 1 && parts[0]?.isReadOnly == false ? only : nil
        let slots = parts.indices.filter { parts[$0] != nil }
        let slotOfLoneStore = slots.count == 1 ? StoreSlot(slots[0]) : nil
        self.slotOfLoneStore = slotOfLoneStore
        slotOfAllInserts = slots.count == 1 && parts[slots[0]]?.entities == nil ? slotOfLoneStore : nil
        unsafe loneStore = slots.count == 1 ? unsafe parts[slots[0]].map { unsafe .passUnretained($0.store) } : nil
        let shared = parts.compactMap { $0?.store }.filter(\.isShared)
        sharedStores = shared.count > 1 ? shared.sorted { $0.identifier.uuidString < $1.identifier.uuidString } : []
        isIncremental = parts.contains { $0?.store.isIncremental ?? false }
        let querying = slots.lazy.compactMap { parts[$0]?.store }.first(where: \.isQuerying)
        queryingStore = slots.count == 1 ? querying : nil
        hasQueryingStoreBesideOthers = slots.count > 1 && querying != nil
    }

    package var isEmpty: Bool { parts.allSatisfy { $0 == nil } }
    package var stores: [Store] { parts.compactMap { $0?.store } }

    // MARK: Slots

    /// The slots with a store, in the order in which the stores were added.
    package var slots: [StoreSlot] { parts.indices.filter { parts[$0] != nil }.map(StoreSlot.init) }

    package subscript(slot: StoreSlot) -> Part? { slot.index < parts.count ? parts[slot.index] : nil }

    /// The slot of a store by its identity; nil when the stack does not contain it.
    package func slot(of identifier: UUID?) -> StoreSlot? {
        guard let identifier else { return nil }
        if let only { return only.identifier == identifier ? .first : nil }
        return parts.firstIndex { $0?.store.identifier == identifier }.map(StoreSlot.init)
    }

    /// The slots of the stores that accept new objects of an entity.
    package func writableSlots(for entity: EntityDescription) -> [StoreSlot] {
        slots.filter { slot in
            guard let part = self[slot] else { return false }
            return !part.isReadOnly && part.holds(entity)
        }
    }

    /// The slots that a request reads.
    package func slots(for request: FetchDescription) -> [StoreSlot] {
        slots.filter { slot in
            guard let part = self[slot] else { return false }
            if let stores = request.affectedStores, !stores.contains(part.store.identifier) { return false }
            guard let entities = part.entities, let entity = part.store.model.entitiesByName[request.entityName] else {
                return true
            }
            return entity.concreteDescendants.contains { entities.contains($0.index) }
        }
    }

    /// The slots of the stores that a batch request changes.
    ///
    /// - Throws: `readOnly` when one of the stores is read-only.
    package func writableSlots(for request: FetchDescription) throws -> [StoreSlot] {
        try slots(for: request).filter { slot in
            guard let part = self[slot], part.isReadOnly else { return true }
            if request.affectedStores == nil, stores.count > 1 { return false }
            throw HornbeamError(
                .readOnly, "“\(part.store.location)” was added for reading only. Add it for writing to change its objects.")
        }
    }

    /// The store in a slot.
    ///
    /// - Throws: `closed` when the store was removed.
    package func store(in slot: StoreSlot) throws -> Store {
        guard let store = self[slot]?.store else { throw missingStore }
        return store
    }

    /// The store that was added first.
    ///
    /// - Throws: `closed` when there is none.
    package func firstStore() throws -> Store {
        guard let slot = slots.first else { throw missingStore }
        return try store(in: slot)
    }

    /// The error for a store that is not in the stack.
    var missingStore: HornbeamError {
        isEmpty
            ? HornbeamError(.closed, "No store is open. Call loadPersistentStores() first, and use no context after close().")
            : HornbeamError(
                .closed, "The store of an object was removed from its coordinator. Add the store again, or release the object.")
    }

    // MARK: Snapshots

    /// The sum of the stores' newest transactions, which increases with each commit. O(number of stores).
    package var latestTransaction: UInt64 {
        if let only { return only.latestTransaction }
        return stores.reduce(0) { $0 + $1.latestTransaction }
    }

    /// True when there is only one store and its newest transaction is not after `transaction`.
    package func isOnlyStore(at transaction: UInt64) -> Bool {
        guard let loneStore = unsafe loneStore else { return false }
        return unsafe loneStore._withUnsafeGuaranteedRef { transaction >= $0.latestTransaction }
    }

    /// A snapshot of the newest versions of all stores. It contains each two-phase commit completely or not at all.
    ///
    /// - Throws: `closed` when there is no store.
    package func snapshot() throws -> StackSnapshot {
        let latest = latestTransaction
        if let snapshot = newest.withLock({ $0.snapshot }), snapshot.transaction == latest { return snapshot }
        let fresh = try newestTogether { try $0.snapshot() }
        newest.withLock { $0.snapshot = fresh }
        return fresh
    }

    /// A snapshot of each store, taken so that each two-phase commit is in all of them or in none.
    func together(_ state: (Store) throws -> StoreSnapshot) throws -> StackSnapshot {
        if let only { return StackSnapshot([try state(only)], stack: self) }
        if isEmpty { throw missingStore }
        return try TwoPhaseCommit.publication.withLock { _ in
            StackSnapshot(try parts.map { part in try part.map { try state($0.store) } }, stack: self)
        }
    }

    /// Makes incremental stores load the rows that a request needs.
    ///
    /// - Returns: The keys of cached objects that are no results, because a querying store has not returned their rows.
    @discardableResult
    package func load(_ fetch: ValidatedFetch) throws -> Set<UInt64> {
        var others: Set<UInt64> = []
        for slot in slots(for: fetch.request) {
            for key in try store(in: slot).load(fetch) { others.insert(key | slot.bits) }
        }
        return others
    }
}

/// A weak reference to a snapshot.
private struct WeakStackSnapshot {
    weak var snapshot: StackSnapshot?
}
