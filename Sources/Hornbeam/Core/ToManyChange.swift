internal import HornbeamModel

/// The differences between the members of a to-many relationship in the context and in the store.
///
/// `added` contains no stored members, and `removed` contains only stored members. So the number of members is the
/// stored number plus `growth`, without loading members.
struct ToManyChange {
    /// New members. The number is the position in the order of insertion.
    private(set) var added: [ManagedObjectID: Int] = [:]
    private(set) var removed: Set<ManagedObjectID> = []
    /// All members of an ordered relationship in order; nil until the first change of the order.
    var order: [ManagedObjectID]?
    private var arrivals = 0

    var isEmpty: Bool { added.isEmpty && removed.isEmpty && order == nil }
    /// The number of added minus the number of removed members.
    var growth: Int { added.count - removed.count }
    /// The new members in the order of insertion.
    var addedInOrder: [ManagedObjectID] { added.sorted { $0.value < $1.value }.map(\.key) }

    /// Adds a member. If the store has it already (`isStored`), its removal is undone.
    mutating func add(_ member: ManagedObjectID, isStored: Bool) {
        if removed.remove(member) == nil, !isStored, added[member] == nil {
            arrivals += 1
            added[member] = arrivals
        }
    }

    /// Removes a member.
    mutating func remove(_ member: ManagedObjectID, isStored: Bool) {
        if added.removeValue(forKey: member) == nil, isStored { removed.insert(member) }
        // The last member is removed without a search, so removing many members from the end takes linear time.
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

    /// Adapts the change to other stored members, after the context has switched to a newer snapshot.
    ///
    /// A pending order drops members that no longer exist, and the new members of other saves follow at its end.
    /// - Parameter stored: Returns the stored members in order. Called only if there is a pending order.
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
