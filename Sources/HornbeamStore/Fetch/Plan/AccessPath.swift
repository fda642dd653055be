internal import HornbeamEngine
internal import HornbeamModel

/// How a fetch finds its rows.
indirect enum AccessPath: Sendable {
    /// No row can satisfy the predicate.
    case nothing
    /// All rows of the tables, leaf by leaf.
    case scan
    /// Objects by key, ascending. `via` is the condition from which the keys were computed; nil when the predicate names the objects.
    case keys([UInt64], via: FetchPredicate.Node?)
    /// The members of some owners. `via` is the condition on the to-one or on a property of its destination.
    case members(LinkIndex, owners: [UInt64], via: FetchPredicate.Node?)
    /// Ranges of an index.
    case index(IndexAccess)
    /// The objects that all paths contain.
    case intersection([AccessChoice])
    /// The objects that at least one path contains.
    case union([AccessChoice])
}

/// Ranges of an index, and the order in which they are walked.
struct IndexAccess: Sendable {
    var index: ValueIndex
    /// The ranges, ascending and disjoint.
    var ranges: [KeyRange]
    /// True when the ranges cover the whole index.
    var isWhole: Bool
    /// The order of the walk, if it is the requested order; nil otherwise.
    var order: Order?

    struct Order: Hashable, Sendable {
        var isBackward: Bool
        /// The number of leading elements that the requested order uses. Entries that are equal in them are sorted by object key. Nil when the
        /// index already has that order.
        var tied: Int?
    }
}

/// An access path with its cost and the conditions that it satisfies.
struct AccessChoice: Sendable {
    var path: AccessPath
    /// The conjuncts that the path satisfies completely.
    var used: Set<Int>
    /// The number of rows or objects on the path; an estimate for intersections and unions.
    var entries: Int
    /// The number of entries that are walked; it equals `entries` except for intersections and unions.
    var walked: Int
    /// True when the objects come in the requested order.
    var isOrdered = false

    init(_ path: AccessPath, used: Set<Int>, entries: Int, walked: Int? = nil, isOrdered: Bool = false) {
        self.path = path
        self.used = used
        self.entries = entries
        self.walked = walked ?? entries
        self.isOrdered = isOrdered
    }
}
