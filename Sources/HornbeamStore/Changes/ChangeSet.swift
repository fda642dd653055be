internal import Foundation
package import HornbeamModel

/// The changes of one save. A store writes all of them or none.
package struct ChangeSet: Sendable {
    /// A new object. To-ones are `.objectID` with a permanent ID.
    package struct Insert: Sendable {
        package var entity: EntityDescription
        /// A key from `Store.reserveKeys`.
        package var key: UInt64
        /// Indexed by property index; `.null` for no value. Properties that are derived or have no column are ignored.
        package var row: [PropertyValue]
        /// The version of a row that the cache of a querying store has, perhaps without index entries. The insert adds the entries, and publishes nothing. Nil
        /// for a new row.
        var cachedVersion: UInt32?

        package init(entity: EntityDescription, key: UInt64, row: [PropertyValue]) {
            assert(row.count == entity.properties.count, "A new object has a value for each property.")
            self.entity = entity
            self.key = key
            self.row = row
        }

        /// Properties that `values` lacks are null.
        package init(entity: EntityDescription, key: UInt64, values: [(PropertyDescription, PropertyValue)]) {
            self.init(entity: entity, key: key, row: Array(repeating: .null, count: entity.properties.count))
            for (property, value) in values { row[property.index] = value }
        }

        /// The values to store, null or not.
        var values: [(PropertyDescription, PropertyValue)] {
            entity.properties.filter { !$0.isToMany && !$0.isTransient && !$0.isDerived }.map { ($0, row[$0.index]) }
        }
    }

    /// Changed attributes and to-ones of a stored object. `values` may be empty; the version is incremented anyway.
    package struct Update: Sendable {
        package var entity: EntityDescription
        package var key: UInt64
        package var expectedVersion: UInt32
        package var values: [(PropertyDescription, PropertyValue)]

        package init(
            entity: EntityDescription, key: UInt64, expectedVersion: UInt32,
            values: [(PropertyDescription, PropertyValue)]
        ) {
            self.entity = entity
            self.key = key
            self.expectedVersion = expectedVersion
            self.values = values
        }
    }

    /// An object to remove, with its index entries and its links. The caller clears to-ones that refer to it (delete rules).
    package struct Delete: Sendable {
        package var entity: EntityDescription
        package var key: UInt64
        package var expectedVersion: UInt32

        package init(entity: EntityDescription, key: UInt64, expectedVersion: UInt32) {
            self.entity = entity
            self.key = key
            self.expectedVersion = expectedVersion
        }
    }

    /// Changed members of a to-many whose inverse is not a to-one, or a new order of an ordered to-many.
    ///
    /// A to-many with a to-one inverse changes through the to-one's values; an ordered one appends its new members.
    /// For a many-to-many pair it is sufficient to name one side.
    package struct Link: Sendable {
        package var relationship: PropertyDescription
        package var owner: ObjectReference
        package var added: [ObjectReference]
        package var removed: [ObjectReference]
        /// For ordered relationships: all members in their new order.
        package var order: [ObjectReference]?

        package init(
            relationship: PropertyDescription, owner: ObjectReference, added: [ObjectReference] = [],
            removed: [ObjectReference] = [], order: [ObjectReference]? = nil
        ) {
            assert(relationship.isToMany, "Members belong to a to-many relationship.")
            self.relationship = relationship
            self.owner = owner
            self.added = added
            self.removed = removed
            self.order = order
        }
    }

    /// An unchanged object that must be unchanged in the store too (MOC-26).
    package struct Check: Sendable {
        package var entity: EntityDescription
        package var key: UInt64
        package var expectedVersion: UInt32

        package init(entity: EntityDescription, key: UInt64, expectedVersion: UInt32) {
            self.entity = entity
            self.key = key
            self.expectedVersion = expectedVersion
        }
    }

    /// The rarely used parts: a save of new objects without a named author has none of them.
    private struct RareParts: Sendable {
        var updates: [Update] = []
        var deletes: [Delete] = []
        var links: [Link] = []
        var checks: [Check] = []
        var author: String?
        var contextName: String?
    }

    package var inserts: [Insert] = []
    /// An identifier of the caller, returned in `StoreChange.originator`.
    package var originator: UInt64 = 0
    /// Zero or one element. It keeps the struct small, because a change set is copied several times on its way to the store.
    private var rareParts: [RareParts] = []

    package init() {}

    package var updates: [Update] {
        get { rareParts.isEmpty ? [] : rareParts[0].updates }
        _modify {
            makeRareParts()
            yield &rareParts[0].updates
        }
    }

    package var deletes: [Delete] {
        get { rareParts.isEmpty ? [] : rareParts[0].deletes }
        _modify {
            makeRareParts()
            yield &rareParts[0].deletes
        }
    }

    package var links: [Link] {
        get { rareParts.isEmpty ? [] : rareParts[0].links }
        _modify {
            makeRareParts()
            yield &rareParts[0].links
        }
    }

    package var checks: [Check] {
        get { rareParts.isEmpty ? [] : rareParts[0].checks }
        _modify {
            makeRareParts()
            yield &rareParts[0].checks
        }
    }

    package var author: String? {
        get { rareParts.isEmpty ? nil : rareParts[0].author }
        set {
            if newValue == nil, rareParts.isEmpty { return }
            makeRareParts()
            rareParts[0].author = newValue
        }
    }

    package var contextName: String? {
        get { rareParts.isEmpty ? nil : rareParts[0].contextName }
        set {
            if newValue == nil, rareParts.isEmpty { return }
            makeRareParts()
            rareParts[0].contextName = newValue
        }
    }

    private mutating func makeRareParts() {
        if rareParts.isEmpty { rareParts.append(RareParts()) }
        assert(rareParts.count == 1, "The rare parts are one value.")
    }

    /// True when there are only new objects, and neither author nor context has a name.
    var onlyInserts: Bool { rareParts.isEmpty }

    /// True when the estimated cost of executing the change set is at most `limit`: the number of objects and members, and the KiB of the values.
    func weighs(atMost limit: Int) -> Bool { inserts.count + updates.count <= limit && weight <= limit }

    private var weight: Int {
        var bytes = 0
        for insert in inserts { for index in insert.row.indices { bytes += insert.row[index].payloadBytes } }
        if onlyInserts { return inserts.count + bytes / 1024 }
        for update in updates { for (_, value) in update.values { bytes += value.payloadBytes } }
        let members = links.reduce(0) { $0 + 1 + $1.added.count + $1.removed.count + ($1.order?.count ?? 0) }
        return inserts.count + updates.count + deletes.count + checks.count + members + bytes / 1024
    }

    package var isEmpty: Bool {
        inserts.isEmpty && updates.isEmpty && deletes.isEmpty && links.isEmpty && checks.isEmpty
    }
}

extension PropertyValue {
    /// The bytes of a text or of data, also inside a composite; 0 for values of fixed size.
    fileprivate var payloadBytes: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let data): data.count
        case .uri(let url): url.absoluteString.utf8.count
        case .dictionary(let parts): parts.values.reduce(0) { $0 + $1.payloadBytes }
        default: 0
        }
    }
}

/// The result of a save. Inserted rows have version 1, updated rows one more than expected.
package struct CommitResult: Sendable {
    package var transaction: UInt64
}
