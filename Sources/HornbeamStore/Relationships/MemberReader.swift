internal import HornbeamEngine

/// Reads the members of a to-many from its trees, in a snapshot or in a transaction.
package final class MemberReader {
    let trees: MemberTrees
    let schema: Schema
    let members: IndexView
    /// Nil for relationships without an order.
    let order: IndexView?
    /// Searches the index in whose order the members are read.
    private let search: IndexReader

    init(_ trees: MemberTrees, schema: Schema, view: (TreeID) throws(EngineError) -> IndexView) throws(EngineError) {
        self.trees = trees
        self.schema = schema
        members = try view(trees.members)
        if let tree = trees.order { order = try view(tree) } else { order = nil }
        search = IndexReader(order ?? members)
    }

    func count(owner: UInt64) throws(EngineError) -> Int {
        try members.count(in: MemberTrees.range(ofOwner: owner))
    }

    func contains(_ member: UInt64, owner: UInt64) throws(EngineError) -> Bool {
        try members.get(MemberTrees.memberKey(owner: owner, member: member)) != nil
    }

    /// The members in stored order: by position if the relationship is ordered, else by key.
    func references(owner: UInt64, skipping: Int = 0, limit: Int = .max) throws(EngineError) -> [ObjectReference] {
        if !trees.isPolymorphic {
            let entity = trees.onlyMember
            return try keys(owner: owner, skipping: skipping, limit: limit).map { ObjectReference(entityIndex: entity, key: $0) }
        }
        var references: [ObjectReference] = []
        references.reserveCapacity(min(limit, 32))
        try forEach(owner: owner, skipping: skipping) { reference in
            if references.count < limit { references.append(reference) }
            return references.count < limit
        }
        return references
    }

    /// The entity of all members; nil if they may have several.
    package var onlyEntity: Int32? { trees.isPolymorphic ? nil : trees.onlyMember }

    /// The keys of the members, which have one entity, in stored order.
    func keys(owner: UInt64, skipping: Int = 0, limit: Int = .max) throws(EngineError) -> [UInt64] {
        let keys = skipping == 0
            ? try search.suffixes(startingWith: owner, most: limit)
            : try (order ?? members).suffixes(in: MemberTrees.range(ofOwner: owner), skipping: skipping, most: limit)
        guard trees.onlyMember >= 0 || keys.isEmpty else { throw Self.damaged }
        return keys
    }

    func forEach(
        owner: UInt64, skipping: Int = 0, _ body: (ObjectReference) -> Bool
    ) throws(EngineError) {
        guard trees.isPolymorphic else { return try forEachOfOneEntity(owner: owner, skipping: skipping, body) }
        unsafe try (order ?? members).forEach(in: MemberTrees.range(ofOwner: owner), skipping: skipping) {
            (key, value) throws(EngineError) -> Bool in
            guard key.count >= 16, let entity = unsafe trees.entityIndex(value, schema: schema), entity >= 0 else {
                throw Self.damaged
            }
            return unsafe body(ObjectReference(entityIndex: entity, key: KeyBytes.suffix(key)))
        }
    }

    /// Reads no values: all members have the same entity, and the last eight bytes of each index key are the object key of the member.
    private func forEachOfOneEntity(
        owner: UInt64, skipping: Int, _ body: (ObjectReference) -> Bool
    ) throws(EngineError) {
        let entity = trees.onlyMember
        func take(_ key: UInt64) throws(EngineError) -> Bool {
            guard entity >= 0 else { throw Self.damaged }
            return body(ObjectReference(entityIndex: entity, key: key))
        }
        let range = MemberTrees.range(ofOwner: owner)
        if let order {
            try order.forEachSuffix(in: range, skipping: skipping, take)
        } else {
            try members.forEachSuffix(in: range, skipping: skipping, take)
        }
    }

    /// Calls `body` with the owner and the member of each entry in a range of the members index.
    func forEachEntry(in range: KeyRange, _ body: (_ owner: UInt64, ObjectReference) -> Void) throws(EngineError) {
        unsafe try members.forEach(in: range) { (key, value) throws(EngineError) -> Bool in
            guard key.count >= 16, let entity = unsafe trees.entityIndex(value, schema: schema), entity >= 0 else { throw Self.damaged }
            unsafe body(KeyBytes.number(key, at: 0), ObjectReference(entityIndex: entity, key: KeyBytes.suffix(key)))
            return true
        }
    }

    private static let damaged = EngineError(
        .damaged, "An entry of a relationship cannot be read. Run check, and restore from a backup.")

    /// Members with their positions, in order. Ordered relationships only.
    func positions(owner: UInt64) throws(EngineError) -> [(position: UInt64, member: ObjectReference)] {
        var result: [(position: UInt64, member: ObjectReference)] = []
        unsafe try order?.forEach(in: MemberTrees.range(ofOwner: owner)) { (key, value) throws(EngineError) -> Bool in
            guard key.count >= 24, let entity = unsafe trees.entityIndex(value, schema: schema), entity >= 0 else {
                throw Self.damaged
            }
            let member = unsafe ObjectReference(entityIndex: entity, key: KeyBytes.suffix(key))
            unsafe result.append((KeyBytes.number(key, at: 8), member))
            return true
        }
        return result
    }
}
