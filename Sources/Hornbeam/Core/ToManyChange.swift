internal import HornbeamModel

/// The differences between the members of a to-many relationship and those in the store.
///
/// `added` contains no stored member and `removed` only stored members, so the count is the
/// stored count plus the growth, without loading members.
struct ToManyChange {
    /// New members, each with its position in the order of insertion.
    private(set) var added: [ManagedObjectID: Int] = [:]
    private(set) var removed: Set<ManagedObjectID> = []
    /// The whole order of an ordered relationship, after its first change.
    var order: [ManagedObjectID]?
    private var arrivals = 0

    var isEmpty: Bool { added.isEmpty && removed.isEmpty && order == nil }
    /// The number of added minus the number of removed members.
    var growth: Int { added.count - removed.count }
    /// The new members in the order of insertion.
    var addedInOrder: [ManagedObjectID] { added.sorted { $0.value < $1.value }.map(\.key) }

    /// Adds a member. With `isStored`, the store has it already, so its removal is undone.
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

    /// Replaces the temporary ID of a new object by its permanent one.
    mutating func replace(_ old: ManagedObjectID, with new: ManagedObjectID) {
        if let arrival = added.removeValue(forKey: old) { added[new] = arrival }
        if let place = order?.firstIndex(of: old) { order?[place] = new }
    }

    /// Adapts the change to other stored members, after the context has switched to a newer state.
    ///
    /// A pending order keeps the members that still exist, and appends others' new members.
    /// - Parameter stored: The stored members in order; called when there is a pending order.
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
