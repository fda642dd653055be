internal import HornbeamEngine
internal import HornbeamModel

/// How a fetch reaches the rows that it looks at.
indirect enum AccessPath: Sendable {
    /// No row can satisfy the predicate.
    case nothing
    /// All rows of the tables, leaf by leaf.
    case scan
    /// Objects named by their keys, which ascend. `via` is how they were found, when the predicate does not name them.
    case keys([UInt64], via: FetchPredicate.Node?)
    /// The members of some owners, of which the predicate names the to-one or what the to-one leads to.
    case members(LinkIndex, owners: [UInt64], via: FetchPredicate.Node?)
    /// Ranges of an index.
    case index(IndexAccess)
    /// The objects that all of these lead to.
    case intersection([AccessChoice])
    /// The objects that any of these leads to.
    case union([AccessChoice])
}

/// Ranges of an index, and what is known about their entries.
struct IndexAccess: Sendable {
    var index: ValueIndex
    /// Ascending and apart from one another.
    var ranges: [KeyRange]
    /// True when the ranges are all of the index.
    var isWhole: Bool
    /// Set when walking the index gives the order that the fetch asks for.
    var order: Order?

    struct Order: Sendable {
        var isBackward: Bool
        /// How many leading elements make entries equal in the order asked for; such entries are put in the order of their
        /// objects' keys. Nil when they come so.
        var tied: Int?
    }
}

/// An access path with what it costs and what it leaves to be done.
struct AccessChoice: Sendable {
    var path: AccessPath
    /// The conjuncts that need no further look.
    var used: Set<Int>
    /// How many rows or objects it leads to; for sets of several paths an estimate.
    var entries: Int
    /// How many entries are walked on the way; the same as `entries` but for sets of several paths.
    var walked: Int
    /// True when it leads to objects in the order that the fetch asks for.
    var isOrdered = false

    init(_ path: AccessPath, used: Set<Int>, entries: Int, walked: Int? = nil, isOrdered: Bool = false) {
        self.path = path
        self.used = used
        self.entries = entries
        self.walked = walked ?? entries
        self.isOrdered = isOrdered
    }
}
