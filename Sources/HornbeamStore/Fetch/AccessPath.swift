internal import HornbeamEngine
internal import HornbeamModel

/// How a fetch reaches the rows that it looks at.
enum AccessPath: Sendable {
    /// No row can satisfy the predicate.
    case nothing
    /// All rows of the tables, leaf by leaf.
    case scan
    /// Objects named by their keys.
    case keys([UInt64])
    /// The members of some owners, of which the predicate names the to-one.
    case members(LinkIndex, owners: [UInt64])
    /// Ranges of an index.
    case index(IndexAccess)
}

/// Ranges of an index, and what is known about their entries.
struct IndexAccess: Sendable {
    var index: ValueIndex
    var ranges: [KeyRange]
    /// The conjuncts that every entry satisfies.
    var used: Set<Int>
    /// Set when walking the index gives the order that the fetch asks for.
    var order: Order?

    enum Order: Sendable {
        case forward
        case backward
    }
}

/// An access path with what it costs and what it leaves to be done.
struct AccessChoice: Sendable {
    var path: AccessPath
    /// The conjuncts that need no further look.
    var used: Set<Int>
    /// How many entries or rows it leads to.
    var entries: Int
    /// True when it leads to objects in the order that the fetch asks for.
    var isOrdered: Bool
}
