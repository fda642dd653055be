// Changes a tree: descents that copy the nodes on the path, and splits and merges of nodes.
//
// The editor saves the path to the last changed leaf, since the next key often belongs there too. The transaction has made every node on
// the path, so it may change them.
// Invariants between calls: the count in each link is the number of entries below it; no node is empty; no root has a single child.

import Synchronization

/// Changes one tree in a transaction. One thread uses it. Its fields skip the check of exclusive access: no method lends one to other code.
final class TreeEditor {
    let id: TreeID
    let isTable: Bool
    let ledger: NodeLedger
    let pool: FramePool
    @safe @exclusivity(unchecked) var layouts: TableLayouts?
    /// The insert buffer of an index; nil if it has none.
    @safe @exclusivity(unchecked) var insertBuffer: TreeID?
    @safe @exclusivity(unchecked) private(set) var root: PageReference
    /// Inner nodes from the root down, each with the index of its link.
    @safe @exclusivity(unchecked) private(set) var path: [(frame: UInt32, index: Int)] = []
    /// The leaf at the end of the path; 0 without a path.
    @safe @exclusivity(unchecked) private(set) var leaf: UInt32 = 0
    /// True if the path ends at the last leaf.
    @safe @exclusivity(unchecked) private(set) var isAtRightEdge = false
    /// True if redo records have changes of the tree that are not applied yet.
    @safe @exclusivity(unchecked) var hasDeferredChange = false
    /// Of a table: the key of the last new row. A row behind it probably begins or continues a run of ascending keys.
    @safe @exclusivity(unchecked) var lastInserted: UInt64 = 0
    /// The leaves at the right edge behind which the transaction has begun others; nil if they are not recorded.
    @safe @exclusivity(unchecked) var filled: [FilledLeaf]?

    init(id: TreeID, root: PageReference, layouts: TableLayouts?, insertBuffer: TreeID? = nil, ledger: NodeLedger) {
        self.id = id
        self.root = root
        self.layouts = layouts
        self.insertBuffer = insertBuffer
        self.ledger = ledger
        isTable = layouts != nil
        pool = ledger.pool
        // Few trees have more levels.
        path.reserveCapacity(4)
    }

    var leafPage: Page { pool.page(leaf) }
    func node(_ frame: UInt32) -> SlottedNode { SlottedNode(pool.page(frame)) }
    func forgetPath() { leaf = 0 }

    /// Sets a new root and discards the path.
    func setRoot(_ moved: PageReference) {
        root = moved
        forgetPath()
    }

    // MARK: Descents

    /// Descends to a leaf, and copies all nodes on the path that the transaction has not made. `choose` returns the index of the link to follow
    /// in an inner node. False if the tree is empty.
    func descend(_ choose: (SlottedNode) -> Int) throws(EngineError) -> Bool {
        guard let link = try descendCopyingInner(choose) else { return false }
        let found = try leafFrame(below: path.last)
        let frame = try ledger.own(found, link)
        if frame != found { relink(frame, count: link.count) }
        try verifyLeaf(frame)
        leaf = frame
        return true
    }

    /// The frame of the leaf below an inner node; without one, the root is the leaf. Reads the leaf if it is not in the pool. Any thread may call this
    /// while none changes inner nodes.
    func leafFrame(below parent: (frame: UInt32, index: Int)?) throws(EngineError) -> UInt32 {
        guard let parent else { return try pool.rootFrame(root) }
        return try pool.child(node(parent.frame), parent.index)
    }

    /// Descends to a leaf without copying nodes. Nil if the tree is empty.
    func visit(_ choose: (SlottedNode) -> Int) throws(EngineError) -> UInt32? {
        guard !root.isEmpty else { return nil }
        var frame = try pool.rootFrame(root)
        while pool.page(frame).level > 0 {
            let inner = node(frame)
            frame = try pool.child(inner, choose(inner))
        }
        try verifyLeaf(frame)
        return frame
    }

    /// Descends to the parent of a leaf, and copies the inner nodes on the path. The link of the leaf, which is not read; nil if the tree is empty.
    func descendCopyingInner(_ choose: (SlottedNode) -> Int) throws(EngineError) -> PageReference? {
        leaf = 0
        path.removeAll(keepingCapacity: true)
        guard !root.isEmpty else { return nil }
        isAtRightEdge = true
        return try sink(from: try pool.rootFrame(root), root, choose)
    }

    /// Steps from the leaf of the last `descendCopyingInner` or `stepCopyingInner` to the following leaf; nil at the end.
    func stepCopyingInner() throws(EngineError) -> PageReference? {
        while let (frame, index) = path.popLast() {
            let inner = node(frame)
            guard index + 1 < inner.count else { continue }
            path.append((frame, index + 1))
            let link = inner.child(index + 1)
            return inner.page.level == 1 ? link : try sink(from: try pool.child(inner, index + 1), link) { _ in 0 }
        }
        return nil
    }

    /// Descends from the node at the path's end to the parent of a leaf, and copies the inner nodes that the transaction has not made.
    private func sink(from start: UInt32, _ startLink: PageReference, _ choose: (SlottedNode) -> Int) throws(EngineError) -> PageReference {
        var (frame, link) = (start, startLink)
        while pool.page(frame).level > 0 {
            let owned = try ledger.own(frame, link)
            if owned != frame { relink(owned, count: link.count) }
            let inner = node(owned)
            let index = choose(inner)
            path.append((owned, index))
            if index != inner.count - 1 { isAtRightEdge = false }
            link = inner.child(index)
            if inner.page.level == 1 { break }
            frame = try pool.child(inner, index)
        }
        return link
    }

    /// All keys of the leaf at the path's end are below this one; nil at the right edge.
    var upperBound: [UInt8]? {
        path.last { $0.index + 1 < node($0.frame).count }.map { node($0.frame).key($0.index + 1) }
    }

    /// Sets the link at the path's end, or the root, to another node.
    func relink(_ frame: UInt32, count: UInt64) {
        assert(ledger.isOwn(frame), "A tree under change links nodes of its transaction.")
        assert(path.allSatisfy { ledger.isOwn($0.frame) }, "The nodes of a path belong to the transaction.")
        let link = PageReference(frame: frame, count: count)
        if let parent = path.last { node(parent.frame).setChild(parent.index, link) } else { root = link }
    }

    /// Throws unless a leaf has the kind and one of the layouts of this tree.
    func verifyLeaf(_ frame: UInt32) throws(EngineError) {
        guard pool.page(frame).kind == (isTable ? NodeKind.tableLeaf : .indexLeaf).rawValue else {
            throw EngineError(.damaged, "A leaf of tree \(id) is of another kind than its tree.")
        }
        if let layouts { try pool.verifyLeaf(frame, layouts) }
    }

    /// Makes the first leaf of an empty tree. `format` writes its header.
    func makeFirstLeaf(_ format: (Page) -> Void) throws(EngineError) {
        leaf = try ledger.allocate()
        format(leafPage)
        path.removeAll(keepingCapacity: true)
        isAtRightEdge = true
        root = PageReference(frame: leaf, count: 0)
    }

    /// Adds a number to the counts in the links of the path and in the root.
    func addToCounts(_ delta: Int) { addToCounts(delta, along: path) }

    @inline(__always)
    func addToCounts(_ delta: Int, along path: [(frame: UInt32, index: Int)]) {
        for step in path { node(step.frame).addToChildCount(step.index, delta) }
        root.count = root.count &+ UInt64(bitPattern: Int64(delta))
    }

    /// The number of entries in a node and below it.
    func entries(_ frame: UInt32) -> UInt64 {
        let page = pool.page(frame)
        guard page.level > 0 else { return UInt64(page.count) }
        let inner = SlottedNode(page)
        return (0..<inner.count).reduce(0) { $0 + inner.childCount($1) }
    }

    // MARK: Growing

    /// Links the new node `right` after the node at `depth` of the path was split; the depth of the leaf is `path.count`. `separator` is a lower
    /// bound of the keys in `right`.
    func addSibling(_ right: UInt32, separator: [UInt8], at depth: Int) throws(EngineError) {
        let left = depth == path.count ? leaf : path[depth].frame
        assert(pool.page(left).count > 0 && pool.page(right).count > 0, "Both nodes of a split have entries.")
        assert(pool.page(left).level == pool.page(right).level, "Both nodes of a split have the same level.")
        let rightLink = PageReference(frame: right, count: entries(right))
        let leftLink = PageReference(frame: left, count: entries(left))
        guard depth > 0 else {
            let top = try ledger.allocate()
            ledger.noteInner(top)
            let node = SlottedNode.create(
                in: pool.page(top), inner: true, level: pool.page(left).level + 1,
                capacity: innerCapacity, limit: pool.pageSize)
            _ = node.insert(at: 0, key: .none, value: .none)
            node.setChild(0, leftLink)
            let done = separator.withBorrowedBytes { node.insert(at: 1, key: $0, value: .none) }
            precondition(done, "A new root has room for two links.")
            node.setChild(1, rightLink)
            root = PageReference(frame: top, count: leftLink.count + rightLink.count)
            forgetPath()
            return
        }
        let parent = path[depth - 1]
        node(parent.frame).setChild(parent.index, leftLink)
        try insertLink(rightLink, separator: separator, at: parent.index + 1, depth: depth - 1)
        forgetPath()
    }

    private var innerCapacity: Int {
        (pool.pageSize - Page.headerSize) / (8 + SlottedNode.linkSize + SlottedNode.slotSize + (isTable ? 0 : 16))
    }

    private func insertLink(_ link: PageReference, separator: [UInt8], at index: Int, depth: Int) throws(EngineError) {
        let frame = path[depth].frame
        if makeRoom(frame, at: index, key: separator, valueCount: 0) {
            let done = separator.withBorrowedBytes { node(frame).insert(at: index, key: $0, value: .none) }
            precondition(done, "Room was made for the link.")
            return node(frame).setChild(index, link)
        }
        let isLast = path[...depth].allSatisfy { $0.index == node($0.frame).count - 1 }
        let (right, target, position) = try split(
            frame, for: index, entry: 8 + SlottedNode.slotSize + SlottedNode.linkSize + separator.count,
            sharesPrefix: sharesPrefix(node(frame), separator), isAppend: isLast)
        let hasRoom = makeRoom(target, at: position, key: separator, valueCount: 0)
        precondition(hasRoom, "Half an inner node has room for a link.")
        let done = separator.withBorrowedBytes { node(target).insert(at: position, key: $0, value: .none) }
        precondition(done, "Room was made for the link.")
        node(target).setChild(position, link)
        try addSibling(right, separator: node(right).key(0), at: depth)
    }

    // MARK: Slotted nodes

    /// Makes room for an entry at `index` in a slotted node, by rebuilding it if necessary. False if the node must be split.
    func makeRoom(_ frame: UInt32, at index: Int, key: [UInt8], valueCount: Int) -> Bool {
        let node = node(frame)
        let tail = max(key.count - node.page.prefixLength - 8, 0)
        if sharesPrefix(node, key), node.count < node.page.capacity, node.gap >= tail + valueCount { return true }
        let newPrefix = commonPrefix(node, 0..<node.count, and: key)
        let used = SlottedNode.measure(node, 0..<node.count, prefix: newPrefix)
        let entry = node.entrySize + max(key.count - newPrefix - 8, 0) + valueCount
        guard used + entry <= pool.pageSize else { return false }
        rebuild(frame, 0..<node.count, prefix: newPrefix, reserve: entry)
        return true
    }

    func sharesPrefix(_ node: SlottedNode, _ key: [UInt8]) -> Bool {
        let prefix = node.page.prefixLength
        return key.count >= prefix && key.withBorrowedBytes { $0.prefix(prefix).compare(node.prefix) == 0 }
    }

    /// The length of the prefix that the keys of a range and a new key share. Since keys ascend, it compares the first and the last key only. The
    /// first key of an inner node is not in order, so the second key is compared too.
    private func commonPrefix(_ node: SlottedNode, _ range: Range<Int>, and key: [UInt8]? = nil) -> Int {
        guard !isTable, !range.isEmpty else { return 0 }
        let last = node.key(range.upperBound - 1)
        var shared = last.count
        func limit(_ other: [UInt8]) { shared = min(shared, other.withBorrowedBytes { a in last.withBorrowedBytes { a.commonPrefix($0) } }) }
        limit(node.key(range.lowerBound))
        if node.isInner, range.count > 1 { limit(node.key(range.lowerBound + 1)) }
        if let key { limit(key) }
        return shared
    }

    /// Rebuilds a node in its frame from a range of its entries, with free space for more.
    private func rebuild(_ frame: UInt32, _ range: Range<Int>, prefix: Int, reserve: Int = 0) {
        let source = node(frame)
        build(in: ledger.scratch, from: source, range, prefix: prefix, reserve: reserve)
        let copy = SlottedNode(ledger.scratch)
        pool.page(frame).copy(pool.pageSize, from: copy.page, at: 0, to: 0)
    }

    /// Builds a node from a range of entries of another node. `reserve` is the size of an entry that will be inserted.
    private func build(in page: Page, from source: SlottedNode, _ range: Range<Int>, prefix: Int, reserve: Int) {
        let used = SlottedNode.measure(source, range, prefix: prefix)
        let entries = range.count + (reserve > 0 ? 1 : 0)
        // The next entries are expected to be as large as the average, and not smaller than the new one: entries with near keys are often alike.
        let next = max((used + reserve - Page.headerSize) / max(entries, 1), reserve, source.entrySize)
        let capacity = entries + max(pool.pageSize - used - reserve, 0) / next
        let shared = range.isEmpty ? [] : Array(source.key(range.lowerBound).prefix(prefix))
        shared.withBorrowedBytes { bytes in
            let target = SlottedNode.create(
                in: page, inner: source.isInner, level: source.page.level, capacity: capacity,
                limit: pool.pageSize, prefix: bytes)
            target.append(range, of: source)
            assert(target.count == range.count, "A rebuilt node has the chosen entries.")
        }
    }

    /// Splits a node without room for a new entry at `index`. Returns the new node, and the node and index for the entry.
    ///
    /// A key that does not share the node's prefix belongs before or after all others (except for the first key of an inner node), and gets a new
    /// node. So does a key that is appended at the right edge. Otherwise both nodes get half of the bytes, including the new entry.
    func split(
        _ frame: UInt32, for index: Int, entry: Int, sharesPrefix: Bool, isAppend: Bool
    ) throws(EngineError) -> (right: UInt32, target: UInt32, position: Int) {
        let source = node(frame)
        var (cut, goesLeft) = (index, index == 0 || (source.isInner && index == 1 && source.count > 1))
        if sharesPrefix, !(isAppend && index == source.count) { (cut, goesLeft) = source.bestCut(for: index, entry: entry) }
        assert(cut <= source.count, "A node is cut between its entries.")
        let right = try ledger.allocate()
        if source.isInner { ledger.noteInner(right) }
        build(
            in: pool.page(right), from: source, cut..<source.count,
            prefix: commonPrefix(source, cut..<source.count), reserve: 0)
        if cut < source.count { rebuild(frame, 0..<cut, prefix: commonPrefix(source, 0..<cut)) }
        return goesLeft ? (right, frame, index) : (right, right, index - cut)
    }

    // MARK: Shrinking

    /// Removes the empty leaf at the path's end, and inner nodes that become empty.
    func removeEmptyLeaf() {
        assert(leaf != 0 && ledger.isOwn(leaf), "The path ends at a leaf of the transaction.")
        ledger.retireOwn(leaf)
        var depth = path.count
        while depth > 0 {
            let parent = path[depth - 1]
            let inner = node(parent.frame)
            inner.remove(at: parent.index)
            if inner.count > 0 { break }
            ledger.retireOwn(parent.frame)
            depth -= 1
        }
        if depth == 0 { root = .empty }
        forgetPath()
    }

    /// Makes the root's only child the root, as long as the root has a single child.
    func lowerRoot() throws(EngineError) {
        while !root.isEmpty {
            let frame = try pool.rootFrame(root)
            guard pool.page(frame).level > 0, pool.page(frame).count == 1 else { return }
            let child = node(frame).child(0)
            var next = PageReference(address: child.address, stamp: child.stamp, count: root.count)
            if child.isInMemory {
                // The new root refers to the node by its frame. A checkpoint could make the frame of an older node evictable, so it is copied.
                next = PageReference(frame: try ledger.own(child.frame, child), count: root.count)
            }
            ledger.retire(root)
            root = next
            forgetPath()
        }
    }

    /// Merges the leaf at the path's end with a neighbour if both fit in one page with some free space. Continues with the parent as long as it is
    /// sparse. `join` appends the right leaf to the left one; it returns false if they do not fit.
    func mergeUpwards(join: (_ left: UInt32, _ right: UInt32) -> Bool) throws(EngineError) {
        var depth = path.count
        while depth > 0 {
            let frame = depth == path.count ? leaf : path[depth].frame
            let isLeaf = depth == path.count
            guard isSparse(frame) else { break }
            guard try mergeOnce(frame, depth: depth, isLeaf: isLeaf, join: join) else { break }
            depth -= 1
        }
        forgetPath()
        try lowerRoot()
    }

    /// True if a node is so empty that it should be merged with a neighbour.
    func isSparse(_ frame: UInt32) -> Bool { usedBytes(frame) < pool.pageSize * 35 / 100 }

    private func usedBytes(_ frame: UInt32) -> Int {
        let page = pool.page(frame)
        if page.kind == NodeKind.tableLeaf.rawValue, let layouts {
            guard let own = unsafe layouts.resolve(page.load(24))?.own else { return pool.pageSize }
            return TableLeaf(page: page, layout: own).usedBytes
        }
        return SlottedNode(page).usedBytes
    }

    private func mergeOnce(
        _ frame: UInt32, depth: Int, isLeaf: Bool, join: (UInt32, UInt32) -> Bool
    ) throws(EngineError) -> Bool {
        let parent = path[depth - 1]
        let inner = node(parent.frame)
        guard inner.count > 1 else { return false }
        let leftIndex = parent.index > 0 ? parent.index - 1 : 0
        let otherIndex = leftIndex == parent.index ? leftIndex + 1 : leftIndex
        let other = try pool.child(inner, otherIndex)
        if isLeaf { try verifyLeaf(other) }
        guard usedBytes(frame) + usedBytes(other) <= pool.pageSize * 9 / 10 else { return false }
        let owned = try ledger.own(other, inner.child(otherIndex))
        if owned != other {
            inner.setChild(otherIndex, PageReference(frame: owned, count: inner.childCount(otherIndex)))
        }
        let left = otherIndex < parent.index ? owned : frame
        let right = otherIndex < parent.index ? frame : owned
        assert(ledger.isOwn(left) && ledger.isOwn(right), "Merged nodes belong to the transaction.")
        assert(pool.page(left).level == pool.page(right).level, "Merged nodes have the same level.")
        if isLeaf {
            guard join(left, right) else { return false }
        } else {
            guard joinSlotted(left, right, separator: inner.key(leftIndex + 1)) else { return false }
        }
        inner.setChild(leftIndex, PageReference(frame: left, count: entries(left)))
        inner.remove(at: leftIndex + 1)
        ledger.retireOwn(right)
        return true
    }

    /// Appends the entries of `right` to `left`; false if they do not fit. For inner nodes, `separator` replaces the unused first key of `right`.
    func joinSlotted(_ left: UInt32, _ right: UInt32, separator: [UInt8]?) -> Bool {
        let a = node(left)
        let b = node(right)
        var prefix = 0
        if !isTable {
            prefix = min(
                commonPrefix(a, 0..<a.count, and: b.key(b.count - 1)),
                commonPrefix(b, (separator == nil ? 0 : min(1, b.count - 1))..<b.count, and: separator))
        }
        let separatorBytes = separator.map { max($0.count - prefix - 8, 0) } ?? 0
        let heap =
            SlottedNode.measure(a, 0..<a.count, prefix: prefix) + SlottedNode.measure(b, 0..<b.count, prefix: prefix)
            - Page.headerSize - prefix + separatorBytes
        guard heap <= pool.pageSize else { return false }
        let count = a.count + b.count
        let slack = (pool.pageSize - heap) / (2 * a.entrySize)
        let shared = a.count > 0 ? Array(a.key(0).prefix(prefix)) : []
        shared.withBorrowedBytes { bytes in
            let target = SlottedNode.create(
                in: ledger.scratch, inner: a.isInner, level: a.page.level, capacity: count + slack,
                limit: pool.pageSize, prefix: bytes)
            target.append(0..<a.count, of: a)
            var start = 0
            if let separator {
                let done = separator.withBorrowedBytes { target.insert(at: target.count, key: $0, value: .none) }
                precondition(done, "A joined node has room for what was measured.")
                target.setChild(
                    target.count - 1, b.child(0), hint: unsafe b.hintCell(0).pointee.load(ordering: .relaxed))
                start = 1
            }
            target.append(start..<b.count, of: b)
            assert(target.count == count, "A merged node has the entries of both.")
        }
        pool.page(left).copy(pool.pageSize, from: ledger.scratch, at: 0, to: 0)
        return true
    }
}

extension SlottedNode {
    var entrySize: Int { 8 + SlottedNode.slotSize + (isInner ? SlottedNode.linkSize : 0) }

    /// The size of a packed node with only these entries and a shared prefix of this length.
    static func measure(_ node: SlottedNode, _ range: Range<Int>, prefix: Int) -> Int {
        var sum = Page.headerSize + prefix + range.count * node.entrySize
        for i in range { sum += max(node.keyLength(i) - prefix - 8, 0) + node.valueLength(i) }
        return sum
    }

    /// The index at which to split the node so that both sides, with a new entry at `index`, have about the same size. No side is empty.
    func bestCut(for index: Int, entry: Int) -> (cut: Int, goesLeft: Bool) {
        let total = entry + count * entrySize + page.limit - page.heapStart - page.heapGarbage - page.prefixLength
        var left = 0
        var best = (cut: 1, goesLeft: index == 0, worse: Int.max)
        for position in 0...count {
            // In the sequence that includes the new entry, the first `position` entries belong to the left side.
            if position > 0 {
                left += position - 1 == index ? entry : bytes(of: position - 1 < index ? position - 1 : position - 2)
                let worse = max(left, total - left)
                if worse < best.worse { best = (index < position ? position - 1 : position, index < position, worse) }
                // From here on, the left side only becomes larger than the right one.
                if left >= total - left { break }
            }
        }
        return (best.cut, best.goesLeft)
    }

    func bytes(of i: Int) -> Int { entrySize + max(restLength(i) - 8, 0) + valueLength(i) }
}
