// Reads a tree: from a reference to its frame, and from leaf to leaf.
//
// All reads happen inside an epoch, which the views enter. The content of a frame does not change before the epoch is left.

import Synchronization

extension FramePool {
    /// The frame of a child. Loads the child from disk unless its hint is valid.
    @inline(__always)
    func child(_ node: SlottedNode, _ i: Int) throws(EngineError) -> UInt32 {
        if let known = childInMemory(node, i) { return known }
        return try loadChild(node, i, unsafe node.addressCell(i).pointee.load(ordering: .acquiring))
    }

    /// The frame of a child; nil if the child is only on disk or its hint is not valid.
    @inline(__always)
    func childInMemory(_ node: SlottedNode, _ i: Int) -> UInt32? {
        let address = unsafe node.addressCell(i).pointee.load(ordering: .acquiring)
        if address >> 63 != 0 { return UInt32(truncatingIfNeeded: address) }
        let hint = unsafe node.hintCell(i).pointee.load(ordering: .relaxed)
        return hint != 0 && holds(hint, address) ? hint : nil
    }

    @inline(never)
    private func loadChild(_ node: SlottedNode, _ i: Int, _ address: UInt64) throws(EngineError) -> UInt32 {
        let link = PageReference(address: address, stamp: node.child(i).stamp, count: node.childCount(i))
        let frame = try child(link, below: node.page.level)
        unsafe node.hintCell(i).pointee.store(frame, ordering: .relaxed)
        return frame
    }

    /// The frame of the page of a link in a node of this level. Must be called inside an epoch.
    func child(_ link: PageReference, below level: Int) throws(EngineError) -> UInt32 {
        if link.isInMemory { return link.frame }
        let frame = try load(address: link.address, stamp: link.stamp)
        guard page(frame).level == level - 1 else {
            throw EngineError(
                .damaged,
                "The page at \(PageReference.describe(link.address)) has level \(page(frame).level) below a page of level \(level)."
            )
        }
        guard entries(frame) == link.count else {
            throw EngineError(
                .damaged, "The page at \(PageReference.describe(link.address)) has another number of entries than the count in its link.")
        }
        return frame
    }

    /// The number of entries in a page and below it.
    func entries(_ frame: UInt32) -> UInt64 {
        let page = page(frame)
        guard page.level > 0 else { return UInt64(page.count) }
        let node = SlottedNode(page)
        return (0..<node.count).reduce(0) { $0 &+ node.childCount($1) }
    }

    /// Loads the headers of the next leaves that are in the pool into the processor's cache, so that a walk does not wait for memory at each leaf.
    func touchChildren(of node: SlottedNode, from first: Int) {
        for i in first..<min(first + TreeWalk.leavesAhead, node.count) {
            let address = unsafe node.addressCell(i).pointee.load(ordering: .acquiring)
            let hint = unsafe node.hintCell(i).pointee.load(ordering: .relaxed)
            let frame = address >> 63 != 0 ? UInt32(truncatingIfNeeded: address) : hint
            guard frame != 0, address >> 63 != 0 || holds(frame, address), cachedHeader(frame) == nil else { continue }
            page(frame).touch(0, 64)
        }
    }

    /// The frame of a root.
    func rootFrame(_ root: PageReference) throws(EngineError) -> UInt32 {
        root.isInMemory ? root.frame : try load(address: root.address, stamp: root.stamp)
    }
}

/// A tree of one version. Safe: a view retains the snapshot, so the version exists as long as the view.
@safe struct TreeRoot: Sendable {
    let pool: FramePool
    let reference: PageReference
    /// The frame in which the root was last found, if the root is on disk.
    let hint: RootHint
    /// The expected kind of the leaves. A malicious file may contain others.
    let leafKind: NodeKind
    /// The version that is read; nil for the trees of a running transaction. The view's owner retains it.
    let version: Unmanaged<StoreVersion>?

    init(pool: FramePool, reference: PageReference, hint: RootHint, leafKind: NodeKind, version: StoreVersion?) {
        self.pool = pool
        self.reference = reference
        self.hint = hint
        self.leafKind = leafKind
        unsafe self.version = version.map { unsafe Unmanaged.passUnretained($0) }
    }

    @inline(__always)
    func frame() throws(EngineError) -> UInt32 {
        if reference.isInMemory { return reference.frame }
        let known = hint.frame.load(ordering: .relaxed)
        if known != 0, pool.holds(known, reference.address) { return known }
        let frame = try pool.load(address: reference.address, stamp: reference.stamp)
        hint.frame.store(frame, ordering: .relaxed)
        return frame
    }

    /// Runs a closure inside an epoch, so that the version's nodes do not change meanwhile. Throws `snapshotExpired` if the version has expired.
    @inline(__always)
    func reading<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        let slot = pool.epochs.enter()
        defer { pool.epochs.leave(slot) }
        if isExpired { throw expiry }
        do throws(EngineError) { return try body() } catch {
            // The page files of an expired version may have been removed, so `damaged` does not mean damage then.
            throw isExpired && error.code == .damaged ? expiry : error
        }
    }

    /// True after the version expired.
    @inline(__always)
    var isExpired: Bool {
        guard let version = unsafe version else { return false }
        return unsafe version._withUnsafeGuaranteedRef { $0.isExpired }
    }

    private var expiry: EngineError {
        EngineError(
            .snapshotExpired,
            "The snapshot expired: its state was replaced longer ago than the age limit of snapshots permits. Take a new one."
        )
    }

    /// The leaf at the end of a descent; `choose` returns the index of the link to follow in each inner node. The tree must not be empty.
    @inline(__always)
    func leaf(_ choose: (SlottedNode) -> Int) throws(EngineError) -> UInt32 {
        var frame = try frame()
        while true {
            let page = pool.page(frame)
            if page.level == 0 { return try checked(frame) }
            let node = SlottedNode(page)
            frame = try pool.child(node, choose(node))
        }
    }

    /// The reference of the leaf at the end of a descent, unless the leaf is known to be in memory. Reads the inner nodes.
    func leafOnDisk(_ choose: (SlottedNode) -> Int) throws(EngineError) -> PageReference? {
        var frame = try frame()
        while pool.page(frame).level > 0 {
            let node = SlottedNode(pool.page(frame))
            let index = choose(node)
            if node.page.level == 1 { return pool.childInMemory(node, index) == nil ? node.child(index) : nil }
            frame = try pool.child(node, index)
        }
        return nil
    }

    /// Asks the system to read the leaf at the end of a descent ahead. Reads the inner nodes.
    func readLeafAhead(_ choose: (SlottedNode) -> Int) throws(EngineError) {
        guard !reference.isEmpty else { return }
        try reading { () throws(EngineError) in
            guard let leaf = try leafOnDisk(choose), pool.frame(holding: leaf.address) == nil else { return }
            pool.files.readAhead(leaf)
        }
    }

    /// Returns the frame. Throws if its leaf is not of the tree's kind.
    @inline(__always)
    func checked(_ frame: UInt32) throws(EngineError) -> UInt32 {
        if pool.page(frame).kind == leafKind.rawValue { return frame }
        throw EngineError(.damaged, "A leaf of a tree is of another kind than its tree.")
    }

    /// The error of a walk that comes back to keys before it. Without it, the walk would not end.
    static var disorder: EngineError { EngineError(.damaged, "The leaves of a tree are not in the order of their keys.") }

    /// The leaf of the entry with the index `n` in the tree, and its index in the leaf. `n` must be below the count.
    func position(_ n: Int) throws(EngineError) -> (frame: UInt32, index: Int) {
        var rest = UInt64(n)
        let frame = try leaf { node in
            for i in 0..<node.count - 1 {
                let below = node.childCount(i)
                if rest < below { return i }
                rest -= below
            }
            return node.count - 1
        }
        // The counts of links are compared with their pages when these are loaded. That of the root is not.
        guard rest < UInt64(pool.page(frame).count) else {
            throw EngineError(.damaged, "A tree has fewer entries than the count of its root.")
        }
        return (frame, Int(rest))
    }

    /// The leaf at the end of a descent with `choose`, and the number of entries in all leaves before it.
    func rank(_ choose: (SlottedNode) -> Int) throws(EngineError) -> (before: Int, frame: UInt32) {
        var before: UInt64 = 0
        let frame = try leaf { node in
            let index = choose(node)
            for i in 0..<index { before += node.childCount(i) }
            return index
        }
        return (Int(before), frame)
    }
}

/// The frame in which a root on disk was last found.
final class RootHint: Sendable {
    let frame = Atomic<UInt32>(0)
}

/// A cursor over the leaves of a tree: it descends to a leaf and steps to the next or the preceding one.
struct TreeWalk {
    let root: TreeRoot
    private let partial: PartialLeaf?
    private var path: [(frame: UInt32, index: Int)] = []

    /// The number in place of a frame of a leaf that is in the memory of `partial`.
    static let partialFrame: UInt32 = 0

    /// - Parameter partial: The memory for leaves that are not in the pool; nil if they are loaded into the pool.
    init(_ root: TreeRoot, partial: PartialLeaf? = nil) {
        self.root = root
        self.partial = partial
    }

    /// Descends to a leaf. `choose` returns the index of the link to follow in each inner node.
    mutating func descend(_ choose: (SlottedNode) -> Int) throws(EngineError) -> UInt32 {
        path.removeAll(keepingCapacity: true)
        return try sink(from: try root.frame(), choose)
    }

    private mutating func sink(from start: UInt32, _ choose: (SlottedNode) -> Int) throws(EngineError) -> UInt32 {
        var frame = start
        while frame != TreeWalk.partialFrame {
            let page = root.pool.page(frame)
            if page.level == 0 { return try root.checked(frame) }
            let node = SlottedNode(page)
            let index = choose(node)
            path.append((frame, index))
            frame = try child(node, index)
            // A leaf with a cached header has been checked already.
            if page.level == 1, root.leafKind == .tableLeaf, root.pool.cachedHeader(frame) != nil { return frame }
        }
        return frame
    }

    /// The frame of a child, or `partialFrame`.
    @inline(__always)
    private func child(_ node: SlottedNode, _ i: Int) throws(EngineError) -> UInt32 {
        if let partial, node.page.level == 1, root.pool.childInMemory(node, i) == nil, try read(node.child(i), partial) { return TreeWalk.partialFrame }
        return try root.pool.child(node, i)
    }

    /// Reads a leaf that is not in the pool. False if it is, or must be read whole.
    @inline(never)
    private func read(_ link: PageReference, _ partial: PartialLeaf) throws(EngineError) -> Bool {
        guard root.pool.frame(holding: link.address) == nil else { return false }
        return try partial.read(link)
    }

    /// The leaf after (or before) the current one; nil at the end.
    mutating func step(reversed: Bool) throws(EngineError) -> UInt32? {
        while let (frame, index) = path.popLast() {
            let node = SlottedNode(root.pool.page(frame))
            let next = reversed ? index - 1 : index + 1
            guard next >= 0, next < node.count else { continue }
            path.append((frame, next))
            if node.page.level == 1, !reversed, next % TreeWalk.leavesAhead == 0 { root.pool.touchChildren(of: node, from: next) }
            return try sink(from: try child(node, next)) { reversed ? $0.count - 1 : 0 }
        }
        return nil
    }

    /// The leaf after the current one, if both have the same parent and the next leaf is known to be in memory. Reads no leaf.
    func nextInMemory() -> UInt32? {
        guard let (frame, index) = path.last else { return nil }
        let node = SlottedNode(root.pool.page(frame))
        return index + 1 < node.count ? root.pool.childInMemory(node, index + 1) : nil
    }

    /// The number of leaves whose headers are prefetched together.
    static let leavesAhead = 8

    /// The number of leaves that a scan reads in one epoch. Then it enters a new one, so that frames do not stay in limbo during a long scan.
    static let leavesPerEpoch = 32
}
