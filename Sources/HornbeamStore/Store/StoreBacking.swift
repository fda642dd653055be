internal import Foundation
package import HornbeamModel
internal import HornbeamThreads

/// The connection of a store to the custom store that owns its rows. This process caches the rows that it has read in a store in memory.
package final class StoreBacking: Sendable {
    let custom: any CustomStore
    /// Serialises the calls of the custom store.
    private let turn = Monitor()
    /// The relationships whose members were already loaded.
    private let known = Guarded<Set<Relationship>>([])

    private struct Relationship: Hashable {
        let owner: UInt64
        let name: String
    }

    package init(_ custom: any CustomStore) { self.custom = custom }

    func call<Result>(_ body: (any CustomStore) throws -> Result) throws -> Result {
        try turn.withLock { try body(custom) }
    }

    /// True at the first call for a relationship of an owner.
    func isFirstLoad(for relationship: String, of owner: UInt64) -> Bool {
        known.withLock { $0.insert(Relationship(owner: owner, name: relationship)).inserted }
    }
}

extension Store {
    /// Opens a custom store: caches its current rows in memory.
    package static func open(_ backing: StoreBacking, model: ManagedObjectModel) throws -> Store {
        try backing.call { try $0.open(model) }
        var options = Options()
        options.backing = backing
        let store = try open(.memory(name: "custom-" + UUID().uuidString), model: model, options: options)
        if backing.custom.isAtomic { try store.updateCache(try backing.call { try $0.rows(for: .everything) }) }
        return store
    }

    /// True when the custom store may have rows that are not cached.
    package var isIncremental: Bool { backing.map { !$0.custom.isAtomic } ?? false }

    // MARK: Reading

    /// Loads the rows that a request needs, and removes those that the custom store no longer has.
    package func load(_ fetch: ValidatedFetch) throws {
        guard let backing, isIncremental else { return }
        let rows = try backing.call { try $0.rows(for: .fetch(fetch.request)) }
        try updateCache(rows)
        guard fetch.request.window.isWhole else { return }
        let given = Set(rows.map(\.object.key))
        let doubtful = try snapshot().fetch(fetch.withoutOrder).references.filter { !given.contains($0.key) }
        if !doubtful.isEmpty { try reload(doubtful) }
    }

    /// Loads one row; false when the custom store has none.
    package func load(_ reference: ObjectReference) throws -> Bool {
        guard isIncremental else { return false }
        try reload([reference])
        return try snapshot().exists(model.entities[Int(reference.entityIndex)], reference.key)
    }

    /// Loads the members of a to-many relationship at the first call for its owner. Returns true if they were loaded.
    package func loadMembers(of relationship: PropertyDescription, owner: ObjectReference) throws -> Bool {
        guard let backing, isIncremental, backing.isFirstLoad(for: relationship.name, of: owner.key) else { return false }
        let key = customKey(owner)
        try updateCache(try backing.call { try $0.rows(for: .members(of: key, relationship: relationship.name)) })
        return true
    }

    private func reload(_ references: [ObjectReference]) throws {
        guard let backing else { return }
        let rows = try backing.call { try $0.rows(for: .objects(references.map(customKey))) }
        let present = Set(rows.map(\.object.key))
        try updateCache(rows, without: references.filter { !present.contains($0.key) })
    }

    func customKey(_ reference: ObjectReference) -> CustomStoreKey {
        CustomStoreKey(model.entities[Int(reference.entityIndex)].name, reference.key)
    }
}
