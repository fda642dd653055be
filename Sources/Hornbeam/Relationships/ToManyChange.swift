internal import HornbeamModel

/// How the members of a to-many relationship differ from those in the store.
///
/// `added` holds no stored member and `removed` nothing but stored members, so that the count is the
/// stored count plus one less the other, with nothing loaded.
struct ToManyChange {
    /// Members to come, each with its place in the order of arrival.
    private(set) var added: [ManagedObjectID: Int] = [:]
    private(set) var removed: Set<ManagedObjectID> = []
    /// The whole order of an ordered relationship, once it was touched.
    var order: [ManagedObjectID]?
    private var arrivals = 0

    var isEmpty: Bool { added.isEmpty && removed.isEmpty && order == nil }
    /// Added less removed members.
    var growth: Int { added.count - removed.count }
    /// The new members in the order of their arrival.
    var addedInOrder: [ManagedObjectID] { added.sorted { $0.value < $1.value }.map(\.key) }

    /// Adds a member; `isStored` says that the store has it already, so that its removal is taken back.
    mutating func add(_ member: ManagedObjectID, isStored: Bool) {
        if removed.remove(member) == nil, !isStored, added[member] == nil {
            arrivals += 1
            added[member] = arrivals
        }
    }

    /// Removes a member.
    mutating func remove(_ member: ManagedObjectID, isStored: Bool) {
        if added.removeValue(forKey: member) == nil, isStored { removed.insert(member) }
        // Removing many members from the end takes time linear in their number.
        if order?.last == member {
            order?.removeLast()
        } else if let place = order?.firstIndex(of: member) {
            order?.remove(at: place)
        }
    }

    /// A new object got its permanent ID.
    mutating func replace(_ old: ManagedObjectID, with new: ManagedObjectID) {
        if let arrival = added.removeValue(forKey: old) { added[new] = arrival }
        if let place = order?.firstIndex(of: old) { order?[place] = new }
    }

    /// Makes the change say the same about other stored members, after the context moved on.
    ///
    /// A pending order keeps its members that still are some, and others' new members follow them.
    /// - Parameter stored: The stored members in their order; read where there is a pending order.
    mutating func rebase(isStored: (ManagedObjectID) -> Bool, stored: () -> [ManagedObjectID]) {
        added = added.filter { !isStored($0.key) }
        removed = removed.filter(isStored)
        guard let pending = order else { return }
        let others = stored().filter { !removed.contains($0) }
        let members = Set(others).union(added.keys)
        var named: Set<ManagedObjectID> = []
        order = (pending.filter(members.contains) + others).filter { named.insert($0).inserted }
    }
}
