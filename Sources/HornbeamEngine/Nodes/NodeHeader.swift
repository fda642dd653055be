// The first 32 bytes of every tree page, and the kinds of node.
//
//   0  u8  kind                8  u16 heap start (lowest used byte of the heap)
//   1  u8  level (0 = leaf)   10  u16 heap garbage (dead bytes in the heap)
//   2  u16 count              12  u16 limit (one past the heap; the page's length)
//   4  u16 capacity           14  u16 zero
//   6  u16 prefix length      16  u64 first key (tables)
//                             24  u32 layout version (tables)
//                             28  u8  key width (tables), 3 bytes zero
//
// Invariants: the arrays begin at byte 32 and grow up, the heap grows down from `limit`, and they never overlap. A page on disk is packed
// (capacity = count, no gap, no garbage). A node of a running transaction has free space in the arrays and before the heap.

enum NodeKind: UInt8 {
    case indexLeaf = 1
    case tableLeaf = 2
    case inner = 3
}

extension Page {
    static let headerSize = 32

    var kind: UInt8 {
        get { load(0) }
        nonmutating set { store(newValue, at: 0) }
    }
    var level: Int {
        get { Int(load(1, as: UInt8.self)) }
        nonmutating set { store(UInt8(newValue), at: 1) }
    }
    @usableFromInline var count: Int {
        get { Int(load(2, as: UInt16.self)) }
        nonmutating set { store(UInt16(newValue), at: 2) }
    }
    @usableFromInline var capacity: Int {
        get { Int(load(4, as: UInt16.self)) }
        nonmutating set { store(UInt16(newValue), at: 4) }
    }
    var prefixLength: Int {
        get { Int(load(6, as: UInt16.self)) }
        nonmutating set { store(UInt16(newValue), at: 6) }
    }
    var heapStart: Int {
        get { Int(load(8, as: UInt16.self)) }
        nonmutating set { store(UInt16(newValue), at: 8) }
    }
    var heapGarbage: Int {
        get { Int(load(10, as: UInt16.self)) }
        nonmutating set { store(UInt16(newValue), at: 10) }
    }
    var limit: Int {
        get { Int(load(12, as: UInt16.self)) }
        nonmutating set { store(UInt16(newValue), at: 12) }
    }

    /// Writes the header of an empty node that uses `limit` bytes of the page.
    func format(_ kind: NodeKind, level: Int, capacity: Int, limit: Int) {
        assert(capacity >= 0 && level >= 0, "A node has a capacity and a level.")
        assert(limit >= Page.headerSize && limit <= Int(UInt16.max), "A node's length fits its header.")
        zero(0, count: Page.headerSize)
        self.kind = kind.rawValue
        self.level = level
        self.capacity = capacity
        self.limit = limit
        heapStart = limit
    }

    /// Allocates `count` bytes of the heap and returns their offset. The caller has checked that they are free.
    func pushHeap(_ count: Int) -> Int {
        assert(count >= 0 && heapStart - count >= Page.headerSize, "The heap has room for the bytes.")
        let start = heapStart - count
        heapStart = start
        return start
    }
}
