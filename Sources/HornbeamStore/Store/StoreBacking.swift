internal import Foundation
package import HornbeamModel
internal import HornbeamThreads
internal import Synchronization

/// The connection of a store to the custom store that owns its rows. This process caches the rows that it has read in a store in memory.
package final class StoreBacking: Sendable {
    let custom: any CustomStore
    /// Serialises the calls of the custom store.
    private let turn = StoreTurn()
    private let loadedMembers = Guarded(LoadedMembers())

    /// The relationships whose members are cached.
    private struct LoadedMembers {
        /// The transactions of the cache after the loads. Older snapshots do not have the members.
        var transactions: [Relationship: UInt64] = [:]
        /// The number of times that all relationships were forgotten.
        var forgottenCount = 0
    }

    private struct Relationship: Hashable {
        let owner: UInt64
        let name: String
    }

    /// `custom`, if it answers queries itself; otherwise nil.
    let querying: (any QueryingStore)?
    /// Of a querying store: the versions of the cached rows.
    let versions = Guarded(CachedVersions())
    /// Of a querying store: the number of saves of this process, and of announced saves of others. Changed under `turn`.
    private let saveCount = Atomic<Int>(0)
    /// The threads that read several times from one state.
    let oneState = PerThread<OneState>()

    package init(_ custom: any CustomStore) {
        self.custom = custom
        querying = custom as? any QueryingStore
    }

    func call<Result>(_ body: (any CustomStore) throws -> Result) throws -> Result {
        if querying != nil { return try body(custom) }
        return try turn.withTurn { try body(custom) }
    }

    /// The transaction of the cache after the members of an owner were loaded; nil if they must be loaded.
    func loadTransaction(of relationship: String, owner: UInt64) -> UInt64? {
        loadedMembers.withLock { $0.transactions[Relationship(owner: owner, name: relationship)] }
    }

    /// Runs a load of the members of owners. They count as cached afterwards, not before: another thread would read some of them. If all relationships are
    /// forgotten meanwhile, they are loaded again.
    ///
    /// - Parameter newest: Returns the newest transaction of the cache.
    func loading(_ relationship: String, of owners: [UInt64], newest: () -> UInt64, _ body: () throws -> Void) throws {
        let before = loadedMembers.withLock { $0.forgottenCount }
        try body()
        let transaction = newest()
        loadedMembers.withLock { loaded in
            guard loaded.forgottenCount == before else { return }
            for owner in owners { loaded.transactions[Relationship(owner: owner, name: relationship)] = transaction }
        }
    }

    /// Makes the next read of each relationship load its members again.
    func forgetMembers() {
        loadedMembers.withLock { loaded in
            loaded.transactions.removeAll(keepingCapacity: true)
            loaded.forgottenCount += 1
        }
    }

    // MARK: Querying stores

    /// The number of reads that may overlap with saves, before a read makes saves wait.
    static let overlappingReadsMax = 4

    /// Reads from the custom store, and passes the result to `take`, which changes the cache. Of a querying store, no save of this process
    /// comes between the two, so the cache does not return to rows that a save has replaced.
    ///
    /// - Parameter isCancellable: True to end the wait for a save when the task of the caller is cancelled.
    func reading<Found, Result>(
        isCancellable: Bool = false, _ ask: (any CustomStore) throws -> Found, _ take: (Found) throws -> Result
    ) throws -> Result {
        guard querying != nil else { return try take(call(ask)) }
        if let state = oneState.current { return try reading(in: state, isCancellable: isCancellable, ask, take) }
        for _ in 0 ..< Self.overlappingReadsMax {
            let before = saveCount.load(ordering: .acquiring)
            let found = try ask(custom)
            let result = try turn.withTurn(isCancellable: isCancellable) { saveCount.load(ordering: .relaxed) == before ? try take(found) : nil }
            if let result { return result }
        }
        return try turn.withTurn(isCancellable: isCancellable) { try take(ask(custom)) }
    }

    /// Like `reading`, for the newest rows of objects that other processes have saved. Reads that overlap with it are repeated.
    func readingNewest<Found>(_ ask: (any CustomStore) throws -> Found, _ take: (Found) throws -> Void) throws {
        try reading(ask) { found in
            try take(found)
            saveCount.add(1, ordering: .releasing)
        }
    }

    /// Like `readingNewest`, for the rows of known objects. A read that overlaps with saves of other objects is not repeated: a process that saves without a
    /// pause would repeat each read.
    func readingNewest<Found>(of keys: Set<UInt64>, _ ask: (any CustomStore) throws -> Found, _ take: (Found) throws -> Void) throws {
        for _ in 0 ..< Self.overlappingReadsMax {
            let before = savesEnded
            let found = try ask(custom)
            let isTaken = try withTurn {
                guard recentSaves.withLock({ $0.areOfOthers(keys, from: before, to: savesEnded) }) else { return false }
                // The rows can be older than the saves, and have unique values that the saves have given to other objects.
                do { try take(found) } catch where savesEnded != before { return false }
                saveCount.add(1, ordering: .releasing)
                return true
            }
            if isTaken { return }
        }
        try readingNewest(ask, take)
    }

    /// Runs a save. No rows are read into the cache meanwhile.
    ///
    /// - Parameter isCancellable: True to end the wait for another save when the task of the caller is cancelled.
    /// - Throws: `unsupportedRequest` in the reads of a fetch for which saves wait.
    func saving<Result>(isCancellable: Bool = false, _ body: () throws -> Result) throws -> Result {
        if let state = oneState.current, state.saveCount == nil {
            throw HornbeamError(.unsupportedRequest, "A fetch with prefetching runs code of the app that saves. Save after the fetch has returned.")
        }
        return try turn.withTurn(isCancellable: isCancellable) {
            defer { saveCount.add(1, ordering: .releasing) }
            return try body()
        }
    }

    /// The objects of the last saves of this process.
    private let recentSaves = Guarded(RecentSaves())

    /// Notes a save that has replaced no cached rows but those of its objects. Called in `saving`.
    func noteSave(_ changes: ChangeSet) { recentSaves.withLock { $0.note(changes, number: savesEnded) } }

    /// The number of saves that the querying store has written. Changed under `turn`.
    private let written = Atomic<Int>(0)
    var writtenSaves: Int { written.load(ordering: .relaxed) }
    func countWrittenSave() { written.add(1, ordering: .relaxed) }

    /// The number of saves that have ended.
    var savesEnded: Int { saveCount.load(ordering: .acquiring) }

    /// Runs a body while no save runs.
    func withTurn<Result>(isCancellable: Bool = false, _ body: () throws -> Result) throws -> Result {
        try turn.withTurn(isCancellable: isCancellable, body)
    }
}

extension Store {
    /// Opens a custom store: caches its current rows in memory.
    ///
    /// - Parameters:
    ///   - migration: How the rows of a `MigratingStore` are migrated; nil if they must not be.
    ///   - options: The options of the cache, such as the file system in tests.
    package static func open(
        _ backing: StoreBacking, model: ManagedObjectModel, migration: MigrationOptions? = nil, options: Options = Options()
    ) throws -> Store {
        if let migrating = backing.custom as? any MigratingStore {
            try migrating.open(model, migrating: migration.map { StoreRowMigration(to: model, $0) })
        } else {
            try backing.call { try $0.open(model) }
        }
        var options = options
        options.backing = backing
        // The cache is not the history of the custom store.
        options.history = nil
        do {
            let store = try open(.memory(name: "custom-" + UUID().uuidString), model: model, options: options)
            try store.observeExternalChanges()
            if backing.custom.isAtomic { try store.updateCache(try backing.call { try $0.rows(for: .everything) }) }
            return store
        } catch {
            // The custom store is open already, and no container would close it.
            _ = try? backing.call { try $0.close() }
            throw error
        }
    }

    /// True when the custom store may have rows that are not cached.
    package var isIncremental: Bool { backing.map { !$0.custom.isAtomic } ?? false }

    // MARK: Reading

    /// Loads the rows that a request needs, and removes those that the custom store no longer has.
    ///
    /// - Returns: The keys of cached objects that are no results: a querying store has not returned their rows, but the cache may have old rows of the objects
    ///   that the request reads through relationships, or none.
    @discardableResult
    package func load(_ fetch: ValidatedFetch) throws -> Set<UInt64> {
        guard let backing, isIncremental else { return [] }
        let request = isQuerying ? fetch.request.withoutWindow : fetch.request
        return try backing.readingOneState {
            let given = try loadRows(readBy: request, of: fetch.entity, from: backing)
            guard request.window.isWhole else { return [] }
            let doubtful = try snapshot().fetch(fetch.withoutOrder).references.filter { !given.contains($0) }
            if !doubtful.isEmpty { try reload(doubtful) }
            return isQuerying ? Set(doubtful.map(\.key)) : []
        }
    }

    /// Loads one row; false when the custom store has none.
    package func load(_ reference: ObjectReference) throws -> Bool {
        guard isIncremental else { return false }
        try reload([reference])
        return try snapshot().exists(model.entities[Int(reference.entityIndex)], reference.key)
    }

    /// Loads the members of a to-many relationship of an owner if they are not cached.
    ///
    /// - Parameter transaction: That of the caller's snapshot.
    /// - Returns: True if this snapshot may not have the members, because they were loaded now or by another context.
    package func loadMembers(of relationship: PropertyDescription, owner: ObjectReference, in transaction: UInt64) throws -> Bool {
        guard let backing, isIncremental else { return false }
        if let loaded = backing.loadTransaction(of: relationship.name, owner: owner.key) { return loaded > transaction }
        let key = customKey(owner)
        do {
            try backing.loading(relationship.name, of: [owner.key], newest: { latestTransaction }) {
                try backing.readingOneState {
                    let given = try backing.reading({ try $0.rows(for: .members(of: key, relationship: relationship.name)) }) { try cacheMembers($0) }
                    if isQuerying { try reloadMembers(of: relationship, owners: [owner], except: given) }
                }
            }
        } catch is StoreBacking.NewerCache {
            // The fetch to which this read belongs is repeated. A getter, which cannot throw, must not record an error.
            return false
        }
        return true
    }

    /// Caches the rows of members. Returns their keys.
    func cacheMembers(_ rows: [CustomStoreRow]) throws -> Set<UInt64> {
        try updateCache(rows)
        return Set(rows.map(\.object.key))
    }

    /// Reads the cached members of owners again that are no members in a querying store any more.
    func reloadMembers(of relationship: PropertyDescription, owners: [ObjectReference], except given: Set<UInt64>) throws {
        let snapshot = try snapshot()
        let former = try owners.flatMap { try snapshot.members(of: relationship, owner: $0.key) }.filter { !given.contains($0.key) }
        if !former.isEmpty { try reload(former) }
    }

    func reload(_ references: [ObjectReference]) throws {
        guard let backing else { return }
        let keys = references.map(customKey)
        try backing.reading({ try $0.rows(for: .objects(keys)) }) { rows in
            let present = Set(rows.map(\.object.key))
            try updateCache(rows, without: references.filter { !present.contains($0.key) })
        }
    }

    func customKey(_ reference: ObjectReference) -> CustomStoreKey {
        CustomStoreKey(model.entities[Int(reference.entityIndex)].name, reference.key)
    }
}
