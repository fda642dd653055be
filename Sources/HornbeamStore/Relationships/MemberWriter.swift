internal import HornbeamEngine
internal import HornbeamModel

/// Changes the members of to-many relationships inside a transaction.
///
/// Positions in an ordered relationship are integers with gaps. A new member gets a position one gap after the last. A moved member gets
/// a position between its neighbours, so that a move writes one member. When no position is free, all members of the owner are renumbered.
struct MemberWriter {
    static let firstPosition: UInt64 = 1 << 62
    static let positionGap: UInt64 = 1 << 24

    let transaction: WriteTransaction
    let schema: Schema

    func reader(_ trees: MemberTrees) throws(EngineError) -> MemberReader {
        try MemberReader(trees, schema: schema) { (id) throws(EngineError) in try transaction.index(id) }
    }

    /// Adds a member at the end; does nothing when it is a member already.
    func add(_ member: ObjectReference, to owner: UInt64, _ trees: MemberTrees) throws(EngineError) {
        let key = MemberTrees.memberKey(owner: owner, member: member.key)
        guard let order = trees.order else {
            return try transaction.put(key, trees.memberValue(member, position: nil, schema: schema), in: trees.members)
        }
        guard try transaction.index(trees.members).get(key) == nil else { return }
        var position = try nextPosition(owner: owner, order)
        if position == nil {
            try renumber([], reader(trees).positions(owner: owner), owner: owner, trees)
            position = try nextPosition(owner: owner, order)
        }
        guard let position else {
            throw EngineError(.damaged, "A member of a relationship has no valid position. Run check, and restore from a backup.")
        }
        try put(member, owner: owner, position: position, trees)
    }

    /// Removes a member; does nothing when it is not a member.
    func remove(_ member: UInt64, from owner: UInt64, _ trees: MemberTrees) throws(EngineError) {
        let key = MemberTrees.memberKey(owner: owner, member: member)
        if let order = trees.order, let value = try transaction.index(trees.members).get(key),
            let position = MemberTrees.position(value)
        {
            _ = try transaction.delete(
                MemberTrees.orderKey(owner: owner, position: position, member: member), from: order)
        }
        _ = try transaction.delete(key, from: trees.members)
    }

    private func put(
        _ member: ObjectReference, owner: UInt64, position: UInt64, _ trees: MemberTrees
    ) throws(EngineError) {
        let value = trees.memberValue(member, position: trees.order == nil ? nil : position, schema: schema)
        try transaction.put(MemberTrees.memberKey(owner: owner, member: member.key), value, in: trees.members)
        guard let order = trees.order else { return }
        try transaction.put(
            MemberTrees.orderKey(owner: owner, position: position, member: member.key),
            trees.entityValue(member, schema: schema), in: order)
    }

    /// Nil if the last position is too large for another one after it, which only happens in a damaged or malicious store.
    private func nextPosition(owner: UInt64, _ order: TreeID) throws(EngineError) -> UInt64? {
        var last: UInt64?
        unsafe try transaction.index(order).forEach(in: MemberTrees.range(ofOwner: owner), reversed: true) {
            (key, _) throws(EngineError) -> Bool in
            last = unsafe key.count >= 16 ? KeyBytes.number(key, at: 8) : nil
            return false
        }
        guard let last else { return Self.firstPosition }
        let (next, isTooLarge) = last.addingReportingOverflow(Self.positionGap)
        return isTooLarge ? nil : next
    }

    // MARK: Both directions

    /// Links two objects in both directions.
    func link(_ link: LinkIndex, owner: ObjectReference, member: ObjectReference) throws(EngineError) {
        try add(member, to: owner.key, link.forward)
        if let backward = link.backward { try add(owner, to: member.key, backward) }
    }

    func unlink(_ link: LinkIndex, owner: UInt64, member: UInt64) throws(EngineError) {
        try remove(member, from: owner, link.forward)
        if let backward = link.backward { try remove(owner, from: member, backward) }
    }

    /// Removes all links of a deleted object. Returns the objects to which it was linked, each with the property of the link.
    func unlinkAll(
        of object: ObjectReference, in table: EntityTable
    ) throws(EngineError) -> [(ObjectReference, Int)] {
        var touched: [(ObjectReference, Int)] = []
        for link in table.linksAsOwner {
            for member in try reader(link.forward).references(owner: object.key) {
                try unlink(link, owner: object.key, member: member.key)
                if let inverse = link.relationship.inverse { touched.append((member, inverse.index)) }
            }
        }
        for link in table.linksAsMember {
            guard let backward = link.backward else { continue }
            for owner in try reader(backward).references(owner: object.key) {
                try unlink(link, owner: owner.key, member: object.key)
                touched.append((owner, link.relationship.index))
            }
        }
        return touched
    }

    // MARK: Order

    /// Changes the order of an ordered relationship's members. Members that `order` does not contain keep their positions.
    func reorder(_ order: [ObjectReference], owner: UInt64, _ trees: MemberTrees) throws(EngineError) {
        let stored = try reader(trees).positions(owner: owner)
        var positions = Dictionary(stored.map { ($0.member.key, $0.position) }, uniquingKeysWith: { a, _ in a })
        let wanted = order.filter { positions[$0.key] != nil }
        let unmoved = LongestAscendingSubsequence.ascending(wanted.map { positions[$0.key] ?? 0 })
        if try !move(wanted, keeping: unmoved, &positions, owner: owner, trees) {
            try renumber(wanted, stored, owner: owner, trees)
        }
    }

    /// Assigns new positions to the members outside `unmoved`. Returns false, without writing, when a gap is too small.
    private func move(
        _ wanted: [ObjectReference], keeping unmoved: Set<Int>, _ positions: inout [UInt64: UInt64],
        owner: UInt64, _ trees: MemberTrees
    ) throws(EngineError) -> Bool {
        guard let moves = GapPlan.moves(wanted.map { positions[$0.key] ?? 0 }, keeping: unmoved, gap: Self.positionGap)
        else { return false }
        for (index, position) in moves {
            try remove(wanted[index].key, from: owner, trees)
            try put(wanted[index], owner: owner, position: position, trees)
        }
        return true
    }

    private func renumber(
        _ wanted: [ObjectReference], _ stored: [(position: UInt64, member: ObjectReference)], owner: UInt64,
        _ trees: MemberTrees
    ) throws(EngineError) {
        let named = Set(wanted.map(\.key))
        let all = wanted + stored.map(\.member).filter { !named.contains($0.key) }
        for member in all { try remove(member.key, from: owner, trees) }
        for (index, member) in all.enumerated() {
            let position = Self.firstPosition + UInt64(index) * Self.positionGap
            try put(member, owner: owner, position: position, trees)
        }
    }
}
