// The buffer pool's records of its frames.

import Synchronization

/// The pool's record of a frame: one cache line. Fields that readers access are atomic. The others are guarded by the writer's turn or by the
/// pool's lock.
struct FrameInfo: ~Copyable {
    static let size = 64

    /// The page's address in the page files; 0 while the frame is free or its node is in memory only.
    let diskAddress = Atomic<UInt64>(0)
    /// The serial number of the layouts with which the leaf was verified; `.max` for nodes that this process made. A page from disk is verified
    /// when it is first read as part of a table.
    let verifiedFor = Atomic<UInt64>(0)
    // The cached header of a table leaf (CachedLeafHeader). `shape` is 0 when there is none.
    let firstKey = Atomic<UInt64>(0)
    let shape = Atomic<UInt64>(0)
    /// The transaction that made the node; 0 for pages from disk. Written before other threads see the frame.
    var birth: UInt64 = 0
    /// The transaction that replaced the node; guarded by the writer's turn.
    var death = UInt64.max
    /// The stamp of the reference to the page, once it has a disk address.
    var stamp: UInt64 = 0
    /// Incremented when the content is unpublished, and again before the frame gets other content.
    let generation = Atomic<UInt32>(1)
    let bitmaps = Atomic<UInt16>(0)
    /// The reference bit of clock eviction: set by readers, cleared by the clock.
    let isRecent = Atomic<Bool>(false)
    /// Whether the clock may evict the page. Guarded by the pool's lock.
    var isEvictable = false
}
