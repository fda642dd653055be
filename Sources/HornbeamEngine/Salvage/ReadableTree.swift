// The readable part of a tree with unreadable pages.
//
// A walk starts at the root. An unreadable page causes a gap in the keys. The gap is between the separators beside the page's link, and the
// link has the number of its entries. Leaves below a damaged inner page are still in the page files, where LeafSearch finds them.

/// A part of a tree that cannot be read: a damaged page and the pages below it.
package struct UnreadablePart: Sendable, Hashable {
    /// The range of the part's keys.
    package var range: KeyRange
    /// The number of entries in the part.
    package var entries: Int
    /// The number of entries in leaves that were found without their parents. If it equals `entries`, nothing is lost. Otherwise entries may be
    /// missing, or older than this version.
    package var found = 0
    package var reason: String

    /// The number of entries that are certainly missing.
    package var lost: Int { max(entries - found, 0) }
}

/// The readable part of a tree in a snapshot.
package struct ReadableTree: Sendable {
    let snapshot: Snapshot
    let record: TreeRecord
    /// The readable leaves: those that the walk reached in key order, and in between those that were found without their parents. Those of an
    /// insert buffer come first: leaves without parents may be older than the index.
    fileprivate(set) var leaves: [PageReference] = []
    /// The unreadable parts, in key order; those of an insert buffer come first.
    package fileprivate(set) var gaps: [UnreadablePart] = []

    package var name: String { record.name }
    package var isTable: Bool { record.layouts != nil }
    /// The number of all entries, readable or not, according to the root.
    package fileprivate(set) var count: Int

    fileprivate init(_ snapshot: Snapshot, _ record: TreeRecord) {
        self.snapshot = snapshot
        self.record = record
        count = Int(record.root.count)
    }

    /// The current layout of a table; nil for an index.
    package var layout: ColumnLayout? { record.layouts?.all.last }

    /// Calls `body` with each readable leaf of a table.
    package func forEachLeaf(_ body: (LeafView) throws(EngineError) -> Void) throws(EngineError) {
        guard let layouts = record.layouts else { return }
        let pool = snapshot.pool
        for reference in leaves {
            try pool.reading { () throws(EngineError) in
                let frame = try pool.rootFrame(reference)
                try pool.verifyLeaf(frame, layouts)
                guard let leaf = LeafView(pool, frame, layouts, transaction: snapshot.transaction.rawValue) else { return }
                try body(leaf)
            }
        }
    }

    /// Calls `body` with the key and the value of each readable entry of an index. The value is nil if it is an unreadable blob.
    package func forEachEntry(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws(EngineError) -> Void
    ) throws(EngineError) {
        let pool = snapshot.pool
        for reference in leaves {
            try pool.reading { () throws(EngineError) in
                let leaf = SlottedNode(pool.page(try pool.rootFrame(reference)))
                for i in 0..<leaf.count {
                    let key = leaf.key(i)
                    let value = try pool.files.readableValue(leaf, i)
                    try key.withBorrowedBytes { key throws(EngineError) in
                        guard let value else { return unsafe try body(unsafe key.buffer, nil) }
                        try value.withBorrowedBytes { value throws(EngineError) in unsafe try body(unsafe key.buffer, unsafe value.buffer) }
                    }
                }
            }
        }
    }
}

extension Snapshot {
    /// Reads all pages of a tree and returns its readable part. If an inner page is damaged, searches the page files for the leaves below it. This
    /// reads the whole store, once for all trees with the same `search`.
    ///
    /// O(n). The result needs 24 bytes for each leaf.
    package func readable(_ id: TreeID, _ search: LeafSearch) throws(EngineError) -> ReadableTree {
        let record = try version.record(id)
        var walk = ReadableWalk(tree: ReadableTree(self, record), search: search)
        try walk.run()
        guard let buffer = try record.insertBuffer.map({ (buffer) throws(EngineError) in try readable(buffer, search) }) else { return walk.tree }
        walk.tree.leaves = buffer.leaves + walk.tree.leaves
        walk.tree.gaps = buffer.gaps + walk.tree.gaps
        walk.tree.count += buffer.count
        return walk.tree
    }

    /// The next object key that the store assigns.
    package var nextObjectKey: UInt64 { version.nextObjectKey }

    /// All trees by name, without insert buffers. The tree of the named values has an empty name.
    package var allTrees: [(name: String, id: TreeID)] {
        version.trees.filter { InsertBuffer.index(of: $0.name) == nil }.map { ($0.name, $0.id) }
    }
}

extension Engine {
    /// A search in the page files for leaves of the newest version that is there. Later ones have no other leaves below an unreadable page.
    package func leafSearch() -> LeafSearch {
        let (table, version) = core.space.tableAndVersion
        return LeafSearch(pool: core.pool, version: version, files: Set(table.entries.filter { $0.value.live > 0 }.keys))
    }
}

/// One walk over a tree. It checks that levels decrease, so a damaged tree cannot cause an endless recursion.
private struct ReadableWalk {
    var tree: ReadableTree
    let search: LeafSearch
    private var pool: FramePool { tree.snapshot.pool }

    init(tree: ReadableTree, search: LeafSearch) {
        self.tree = tree
        self.search = search
    }

    mutating func run() throws(EngineError) {
        let root = tree.record.root
        if !root.isEmpty { try visit(root, level: nil, KeyRange()) }
    }

    private mutating func visit(_ link: PageReference, level: Int?, _ range: KeyRange) throws(EngineError) {
        let links: [(child: PageReference, range: KeyRange)]
        var below = 0
        do throws(EngineError) {
            (links, below) = try pool.reading { () throws(EngineError) in
                let frame = try pool.requireNode(link, level: level, of: tree.record)
                let page = pool.page(frame)
                return page.level > 0 ? (SlottedNode(page).links(in: range), page.level - 1) : ([], -1)
            }
        } catch {
            guard error.isUnreadable else { throw error }
            return try recordGap(link, level, range, error)
        }
        if below < 0 { return tree.leaves.append(link) }
        for link in links { try visit(link.child, level: below, link.range) }
    }

    private mutating func recordGap(
        _ link: PageReference, _ level: Int?, _ range: KeyRange, _ error: EngineError
    ) throws(EngineError) {
        var gap = UnreadablePart(
            range: range, entries: Int(min(link.count, NodeCheck.countMax)), reason: error.message)
        if level != 0 {
            let found = try search.leaves(of: tree.record, in: range)
            gap.found = found.reduce(0) { $0 + Int($1.count) }
            tree.leaves += found
        }
        tree.gaps.append(gap)
    }
}

extension FramePool {
    /// Runs a closure inside an epoch.
    func reading<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        let slot = epochs.enter()
        defer { epochs.leave(slot) }
        return try body()
    }

    /// The frame of a page. Throws unless the page matches its link and its tree. Called inside an epoch only.
    fileprivate func requireNode(_ link: PageReference, level: Int?, of tree: TreeRecord) throws(EngineError) -> UInt32 {
        let frame = try rootFrame(link)
        let page = page(frame)
        let place = PageReference.describe(link.address)
        guard level == nil || page.level == level else {
            throw EngineError(.damaged, "The page at \(place) has level \(page.level) where \(level!) is expected.")
        }
        guard entries(frame) == link.count else {
            throw EngineError(.damaged, "The page at \(place) has another number of entries than the count in its link.")
        }
        if page.level == 0 { try requireLeaf(frame, of: tree) }
        return frame
    }

    /// Throws unless a leaf has the kind and one of the layouts of the tree.
    func requireLeaf(_ frame: UInt32, of tree: TreeRecord) throws(EngineError) {
        if let layouts = tree.layouts { return try verifyLeaf(frame, layouts) }
        guard page(frame).kind == NodeKind.indexLeaf.rawValue else {
            throw EngineError(.damaged, "A leaf of a tree is of another kind than its tree.")
        }
    }
}

extension SlottedNode {
    /// The links of an inner node, each with the range of keys below it.
    func links(in range: KeyRange) -> [(child: PageReference, range: KeyRange)] {
        (0..<count).map { i in
            let lower = i == 0 ? range.lower : key(i)
            let upper = i + 1 < count ? key(i + 1) : range.upper
            return (child(i), KeyRange(from: lower, to: upper))
        }
    }
}

extension PageFiles {
    /// The value of an index entry; nil if it is a damaged blob.
    fileprivate func readableValue(_ leaf: SlottedNode, _ i: Int) throws(EngineError) -> [UInt8]? {
        guard leaf.isBlob(i) else { return leaf.value(i).array }
        do throws(EngineError) { return try readBlob(leaf.value(i).load(0)) } catch {
            guard error.isUnreadable else { throw error }
            return nil
        }
    }
}
