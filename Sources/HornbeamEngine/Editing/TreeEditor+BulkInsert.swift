// The bulk insert: puts many entries into an index leaf by leaf, on several processors.
//
// A leaf that gets entries is replaced by one or two leaves, which are built from its old entries and these (TreeEditor+BulkRewrite.swift). Leaves that
// have one of the keys, and leaves that get more entries than two have room for, get theirs one by one afterwards.

extension TreeEditor {
    /// Puts entries, whose keys ascend, into the index. With `onlyNew`, returns an entry whose key exists, or that follows another one with its key, if
    /// there is one; then an unknown part of the others was put.
    func put(
        _ entries: Range<Int>, onlyNew: Bool, writer: LeafWriter?, _ entry: (Int) -> (key: Bytes, value: Bytes)
    ) throws(EngineError) -> Int? {
        var next = entries.lowerBound
        let rest = try withoutActuallyEscaping(entry) { (entry) throws(EngineError) in
            try rewriteLeaves({ _ throws(EngineError) -> LeafToRewrite? in
                let start = next
                guard start < entries.upperBound, let link = try descendCopyingInner({ $0.childIndex(for: entry(start).key) }) else { return nil }
                next = end(of: start..<entries.upperBound, below: upperBound, entry)
                return LeafToRewrite(link: link, changes: start..<next, mayDivide: true)
            }, writer: writer) { (part, pages, _) -> RewrittenLeaf in
                merge(part, entry, into: pages)
            }
        }
        // An empty tree has no leaves.
        if next == entries.lowerBound { return try putSingly(entries, onlyNew: onlyNew, entry) }
        // First, so that the second parts of divided leaves are linked whatever follows.
        for leaf in rest where !leaf.isUnfit {
            try inEpoch { () throws(EngineError) in try finish(leaf) { joinSlotted($0, $1, separator: nil) } }
        }
        for leaf in rest where leaf.isUnfit {
            if let existing = try putSingly(leaf.changes, onlyNew: onlyNew, entry) { return existing }
        }
        return nil
    }

    /// Builds one or two leaves from the entries of one and new ones.
    private func merge(
        _ part: Range<Int>, _ entry: @escaping (Int) -> (key: Bytes, value: Bytes), into pages: LeafPages
    ) -> RewrittenLeaf {
        let leaf = SlottedNode(pages.old)
        // Two leaves certainly have no room for more.
        guard part.count <= 2 * pool.pageSize / leaf.entrySize, let merged = MergedEntries(leaf, part, entry) else { return .unfit }
        if let leaf = merged.build(merged.all, prefixMax: leaf.page.prefixLength, into: pages.first, limit: pool.pageSize) {
            return .replaced(entries: leaf.count)
        }
        let (left, right) = merged.halves
        guard let second = pages.second, let leaf = merged.build(left, into: pages.first, limit: pool.pageSize),
            merged.build(right, into: second, limit: pool.pageSize) != nil
        else { return .unfit }
        return .divided(entries: leaf.count)
    }

    private func putSingly(_ entries: Range<Int>, onlyNew: Bool, _ entry: (Int) -> (key: Bytes, value: Bytes)) throws(EngineError) -> Int? {
        try inEpoch { () throws(EngineError) in
            for n in entries where try put(entry(n).key, entry(n).value, onlyNew: onlyNew) == .exists { return n }
            return nil
        }
    }

    private func inEpoch<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        let slot = pool.epochs.enter()
        defer { pool.epochs.leave(slot) }
        return try body()
    }

    /// The end of the entries, the first of which is below a bound, that are below it.
    private func end(of entries: Range<Int>, below bound: [UInt8]?, _ entry: (Int) -> (key: Bytes, value: Bytes)) -> Int {
        guard let bound else { return entries.upperBound }
        return bound.withBorrowedBytes { bound in
            entries.dropFirst().first { entry($0).key.compare(bound) >= 0 } ?? entries.upperBound
        }
    }
}
