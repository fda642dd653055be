// The nodes that a transaction made and replaced, and its blobs.
//
// An abort only frees the new nodes: the transaction has changed no node that readers can reach.

import Glibc
import Synchronization

/// The nodes that one transaction made and retired. Only the transaction's thread uses it. Its fields skip the check of exclusive access: no method
/// lends one to other code.
@safe final class NodeLedger {
    let pool: FramePool
    /// The number of the transaction. Nodes that it made may be changed in place.
    let birth: UInt64
    @safe @exclusivity(unchecked) private var scratchPage: Page?
    @safe @exclusivity(unchecked) private(set) var born: [UInt32] = []
    @safe @exclusivity(unchecked) private(set) var bornInner: [UInt32] = []
    /// Frames of nodes and cached pages that the transaction replaced. Other versions may still need them.
    @safe @exclusivity(unchecked) private(set) var retired: [RetiredFrame] = []
    /// Pages on disk that the transaction replaced.
    @safe @exclusivity(unchecked) private(set) var deadPages: [PageReference] = []
    /// Blobs whose entry or cell was deleted or replaced.
    @safe @exclusivity(unchecked) var deadBlobs: [PageReference] = []
    /// Blobs appended for this transaction.
    @safe @exclusivity(unchecked) var newBlobs: [PageReference] = []
    @safe @exclusivity(unchecked) private var spare: [UInt32] = []
    /// The leaves that another thread writes; nil before the first, and at the end of the transaction.
    @safe @exclusivity(unchecked) var filledLeaves: FilledLeaves?

    init(pool: FramePool, birth: UInt64) {
        self.pool = pool
        self.birth = birth
        // A small transaction replaces a few nodes.
        born.reserveCapacity(NodeLedger.fewNodes)
        retired.reserveCapacity(NodeLedger.fewNodes)
    }

    private static let fewNodes = 16

    deinit { unsafe scratchPage?.base.deallocate() }

    /// Temporary memory for building nodes. Most small transactions rebuild none, so it is allocated at the first use.
    var scratch: Page {
        if let scratchPage { return scratchPage }
        let page = unsafe Page(.allocate(byteCount: pool.pageSize, alignment: 4096))
        scratchPage = page
        return page
    }

    func allocate() throws(EngineError) -> UInt32 {
        if let frame = spare.popLast() {
            assert(isOwn(frame), "A spare frame belongs to its transaction.")
            return frame
        }
        let frame = try pool.allocate(birth: birth)
        born.append(frame)
        return frame
    }

    /// Makes a new node from a page in a frame that was taken from the pool, and that no reader sees.
    func adopt(_ frame: UInt32) {
        pool.adopt(frame, birth: birth)
        born.append(frame)
    }

    func noteInner(_ frame: UInt32) { bornInner.append(frame) }

    func isOwn(_ frame: UInt32) -> Bool { unsafe pool.infos[Int(frame)].birth == birth }

    /// Returns a node that the transaction may change: the node itself if the transaction made it, otherwise a copy. Retires a copied node.
    /// `link` is the reference of the node. If another thread writes the node, waits for it.
    func own(_ frame: UInt32, _ link: PageReference) throws(EngineError) -> UInt32 {
        if link.isInMemory, isOwn(frame) {
            filledLeaves?.release(frame)
            return frame
        }
        let copy = try allocate()
        assert(copy != frame, "A node is copied to another frame.")
        NodeLedger.copyNode(pool.page(frame), to: pool.page(copy))
        pool.inheritVerification(of: frame, to: copy)
        if pool.page(copy).kind == NodeKind.inner.rawValue { noteInner(copy) }
        retire(link)
        // New versions do not contain the page, so its frame can be reused for later copies.
        if !link.isInMemory { retired.append(RetiredFrame(page: link.address, in: frame)) }
        return copy
    }

    /// Retires the node of a link.
    ///
    /// For a page on disk, only records that it is dead: its frame is a cache and may contain another page already. The frame of a node in memory
    /// is released when no live version needs the node.
    func retire(_ link: PageReference) {
        guard link.isInMemory else { return deadPages.append(link) }
        let frame = link.frame
        guard !isOwn(frame) else {
            filledLeaves?.release(frame)
            return spare.append(frame)
        }
        if let disk = pool.diskReference(frame) {
            deadPages.append(PageReference(address: disk.address, stamp: disk.stamp, count: 0))
        }
        assert(unsafe pool.infos[Int(frame)].death == .max, "A node is retired once.")
        retired.append(
            RetiredFrame(
                node: frame, generation: pool.generation(frame), birth: unsafe pool.infos[Int(frame)].birth))
        unsafe pool.infos[Int(frame)].death = birth
    }

    /// Retires a node that the transaction made.
    func retireOwn(_ frame: UInt32) { retire(PageReference(frame: frame, count: 0)) }

    /// Copies a node, without the free bytes of a slotted node: those between the arrays and the heap, and the free elements of the arrays. Copies
    /// hints one by one with atomic loads, since readers write them concurrently.
    private static func copyNode(_ source: Page, to target: Page) {
        if source.kind == NodeKind.tableLeaf.rawValue { return target.copy(source.limit, from: source, at: 0, to: 0) }
        let heap = source.heapStart
        target.copy(source.limit - heap, from: source, at: heap, to: heap)
        target.copy(Page.headerSize + 8 * source.count, from: source, at: 0, to: 0)
        let slots = SlottedNode(source).slot(0)
        target.copy(SlottedNode.slotSize * source.count, from: source, at: slots, to: slots)
        guard source.kind == NodeKind.inner.rawValue else { return }
        let links = Page.headerSize + 8 * source.capacity
        // The number of bytes of each copy is a constant, so the compiler emits two move instructions.
        for link in 0..<source.count {
            let link = links + SlottedNode.linkSize * link
            unsafe (target.base + link).copyMemory(from: source.base + link, byteCount: SlottedNode.hintOffset)
            let hint = unsafe source.atomic32(link + SlottedNode.hintOffset).pointee.load(ordering: .relaxed)
            target.store(UInt64(hint), at: link + SlottedNode.hintOffset)
        }
    }

    /// The number of nodes that the transaction has made and not written.
    var unwritten: Int { born.count - spare.count }

    /// Removes written nodes from the new ones: they are pages of the cache now. A frame may have been evicted and allocated for another new node since
    /// then; so one node is removed for each time that the frame is listed.
    func forget(_ written: some Sequence<UInt32>) {
        var counts: [UInt32: Int] = [:]
        var left = 0
        for frame in written {
            counts[frame, default: 0] += 1
            left += 1
        }
        // Written nodes are often among the newest ones. The order of nodes has no meaning.
        var index = born.count
        while left > 0, index > 0 {
            index -= 1
            guard let count = counts[born[index]], count > 0 else { continue }
            counts[born[index]] = count - 1
            left -= 1
            born.swapAt(index, born.count - 1)
            born.removeLast()
        }
        assert(left == 0, "The transaction made the nodes that it has written.")
    }

    /// Frees all new nodes after an abort.
    func undo() {
        filledLeaves?.abandon()
        filledLeaves = nil
        for frame in born { pool.discard(frame) }
        pool.cancelRetirement(retired)
        born = []
        retired = []
        spare = []
    }

    /// Called after the last change: frees unused frames, and returns the frames of the new nodes.
    func finish() -> [UInt32] {
        let unused = Set(spare)
        assert(unused.count == spare.count, "A frame is spare once.")
        assert(unused.isSubset(of: born), "A spare frame was made by the transaction.")
        for frame in spare { pool.discard(frame) }
        let used = unused.isEmpty ? born : born.filter { !unused.contains($0) }
        if !unused.isEmpty { bornInner.removeAll { unused.contains($0) } }
        spare = []
        born = []
        return used
    }
}
