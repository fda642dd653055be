internal import HornbeamEngine
internal import HornbeamModel

/// Counts the members of a to-many for rows in ascending order of their keys: all members, or those that match a filter.
///
/// `fill` counts for many rows at once, with one walk of the members index or one scan of the members' rows.
final class MemberCounter {
    private let link: LinkIndex
    /// Indexed by entity index of the members; nil to count all members.
    private let filters: [Filter?]?
    /// The rows of the last `fill`, with the number of members of each.
    private var owners: [UInt64] = []
    private var counts: [Int64] = []
    /// The position in `owners` of the row that is expected next.
    private var next = 0
    /// The number of rows for which members were counted.
    private var ownersSeen = 0
    /// The number of matching members of every owner, once all members were read.
    private var tally: [UInt64: Int64]?

    init(_ link: LinkIndex, filters: [Filter?]?) {
        self.link = link
        self.filters = filters
    }

    func count(owner: UInt64, _ context: FilterContext) throws(EngineError) -> Int64 {
        if next < owners.count, owners[next] == owner {
            next += 1
            return counts[next - 1]
        }
        // Several totals can use the count of one row, one after the other or leaf by leaf.
        if next > 0, owners[next - 1] == owner { return counts[next - 1] }
        if owners.first == owner {
            next = 1
            return counts[0]
        }
        return try countAlone(owner, context)
    }

    /// Counts the members for ascending owners.
    ///
    /// - Parameter expected: The number of owners that the caller will count in total, if it is known.
    func fill(_ owners: [UInt64], expecting expected: Int, _ context: FilterContext) throws(EngineError) {
        self.owners = owners
        next = 0
        ownersSeen += owners.count
        if let filters {
            counts = try matching(filters, max(expected, ownersSeen), context)
        } else {
            counts = try entries(context)
        }
    }

    // MARK: Counting

    private func countAlone(_ owner: UInt64, _ context: FilterContext) throws(EngineError) -> Int64 {
        if let tally { return tally[owner] ?? 0 }
        let reader = try context.reader(link)
        guard let filters else { return Int64(try reader.count(owner: owner)) }
        var count: Int64 = 0
        for member in try reader.references(owner: owner) where try context.passes(member, filters) { count += 1 }
        return count
    }

    private func matching(_ filters: [Filter?], _ expected: Int, _ context: FilterContext) throws(EngineError) -> [Int64] {
        if tally == nil, let inverse = context.mirroredToOne(link), context.canReadAllRelatedRows(filters, for: expected) {
            tally = try context.tally(filters, by: inverse)
        }
        var counts: [Int64] = []
        counts.reserveCapacity(owners.count)
        for owner in owners { counts.append(try countAlone(owner, context)) }
        return counts
    }

    /// The numbers of entries in the members index, by one walk if few other owners are between the rows.
    private func entries(_ context: FilterContext) throws(EngineError) -> [Int64] {
        var counts = [Int64](repeating: 0, count: owners.count)
        guard let first = owners.first, let last = owners.last else { return counts }
        let members = try context.reader(link).members
        let range = KeyRange(from: MemberTrees.range(ofOwner: first).lower, to: MemberTrees.range(ofOwner: last).upper)
        guard owners.count > 8, try members.count(in: range) <= owners.count * 32 else {
            for place in owners.indices { counts[place] = try countAlone(owners[place], context) }
            return counts
        }
        var place = 0
        unsafe try members.forEach(in: range) { (key, _) throws(EngineError) -> Bool in
            guard key.count >= 16 else { return true }
            let owner = unsafe KeyBytes.number(key, at: 0)
            while owners[place] < owner, place + 1 < owners.count { place += 1 }
            if owners[place] == owner { counts[place] += 1 }
            return true
        }
        return counts
    }
}
