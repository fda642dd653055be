// Searches the page files for leaves whose parents are damaged.
//
// A record whose check is valid at its address was written there and is unchanged. Its heading names a version that has the page. If leaves of one
// tree overlap, the one of the newest version is chosen: an older leaf that was still live would be in that version too, and leaves of one version
// do not overlap. A transaction may write a leaf early and replace it; the replacement has the higher address. Leaves of versions after the
// salvaged one are ignored.
//
// A leaf that was removed with all its rows cannot be distinguished from a live one. The count in the link to the damaged page shows whether the
// result is complete. Nor can leaves of transactions that an earlier opening has lost, if they are in a file with live pages.
//
// Only files with live pages are read. Others have dead pages, or pages of a transaction that was not committed: its leaves would be the newest.

internal import HornbeamThreads

/// Finds leaves of trees by reading the page files, without walking the trees.
package final class LeafSearch: Sendable {
    /// A leaf's record.
    private struct Found {
        var reference: PageReference
        var version: TransactionNumber
    }

    private let pool: FramePool
    /// The version to salvage. Records of later ones are ignored.
    private let version: TransactionNumber
    /// The files with live pages.
    private let files: Set<PageFileNumber>
    /// The leaves of each tree, newest first; nil before the files have been read.
    private let found = Guarded<[TreeID: [Found]]?>(nil)

    init(pool: FramePool, version: TransactionNumber, files: Set<PageFileNumber>) {
        self.pool = pool
        self.version = version
        self.files = files
    }

    /// The newest leaves of a tree whose keys are all in a range, in key order.
    func leaves(of tree: TreeRecord, in range: KeyRange) throws(EngineError) -> [PageReference] {
        let candidates = try all()[tree.id] ?? []
        var taken: [Interval] = []
        for candidate in candidates {
            guard let interval = try interval(candidate.reference, tree), interval.isWithin(range) else { continue }
            let place = taken.partition(before: interval.first)
            if place > 0, !taken[place - 1].last.lexicographicallyPrecedes(interval.first) { continue }
            if place < taken.count, !interval.last.lexicographicallyPrecedes(taken[place].first) { continue }
            taken.insert(interval, at: place)
        }
        return taken.map(\.leaf)
    }

    /// A leaf with its first and its last key.
    fileprivate struct Interval {
        var leaf: PageReference
        var first: [UInt8]
        var last: [UInt8]

        func isWithin(_ range: KeyRange) -> Bool {
            !first.lexicographicallyPrecedes(range.lower) && (range.upper.map { last.lexicographicallyPrecedes($0) } ?? true)
        }
    }

    /// The first and the last key of a leaf; nil if the record is not a leaf of the tree.
    private func interval(_ reference: PageReference, _ tree: TreeRecord) throws(EngineError) -> Interval? {
        do throws(EngineError) {
            return try pool.reading { () throws(EngineError) in
                let frame = try pool.load(address: reference.address, stamp: reference.stamp)
                let page = pool.page(frame)
                guard page.level == 0 else { return nil }
                try pool.requireLeaf(frame, of: tree)
                var leaf = reference
                leaf.count = UInt64(page.count)
                return Interval(leaf: leaf, first: page.leafKey(0), last: page.leafKey(page.count - 1))
            }
        } catch {
            guard error.isUnreadable else { throw error }
            return nil
        }
    }

    // MARK: All records

    /// The leaves of all trees, newest first.
    private func all() throws(EngineError) -> [TreeID: [Found]] {
        try found.withLock { (known) throws(EngineError) in
            if let known { return known }
            var trees: [TreeID: [Found]] = [:]
            for file in try pool.files.files() where files.contains(file.number) {
                try pool.files.forEachRecord(in: file) { reference, heading in
                    let isLeaf = heading.kind == .tableLeaf || heading.kind == .indexLeaf
                    guard isLeaf, heading.version <= version else { return }
                    trees[heading.tree, default: []].append(Found(reference: reference, version: heading.version))
                }
            }
            for tree in trees.keys {
                trees[tree]?.sort { ($0.version, $0.reference.address) > ($1.version, $1.reference.address) }
            }
            known = trees
            return trees
        }
    }
}

extension [LeafSearch.Interval] {
    /// The index of the first interval that begins at a key or after it.
    fileprivate func partition(before key: [UInt8]) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].first.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Page {
    /// A key of a leaf as bytes. The keys of a table are eight bytes, big-endian.
    fileprivate func leafKey(_ i: Int) -> [UInt8] {
        guard kind == NodeKind.tableLeaf.rawValue else { return SlottedNode(self).key(i) }
        return unsafe withUnsafeBytes(of: TableLeaf.key(self, i).bigEndian) { unsafe Array($0) }
    }
}
