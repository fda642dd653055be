// The bulk insert: puts many entries into an index leaf by leaf, on several processors.
//
// A leaf that gets entries is built anew from its old ones and these (TreeEditor+BulkRewrite.swift). Leaves without room for their new entries, and
// leaves that have one of the keys, get theirs one by one afterwards.

extension TreeEditor {
    /// Puts entries, whose keys ascend, into the index. With `onlyNew`, returns an entry whose key exists, or that follows another one with its key, if
    /// there is one; then an unknown part of the others was put.
    func put(_ entries: Range<Int>, onlyNew: Bool, _ entry: (Int) -> (key: Bytes, value: Bytes)) throws(EngineError) -> Int? {
        /// The entries of each leaf.
        var parts: [Range<Int>] = []
        let rest = try rewriteLeaves({ _ throws(EngineError) -> PageReference? in
            let start = parts.last?.upperBound ?? entries.lowerBound
            guard start < entries.upperBound, let leaf = try descendCopyingInner({ $0.childIndex(for: entry(start).key) }) else { return nil }
            parts.append(start..<end(of: start..<entries.upperBound, below: upperBound, entry))
            return leaf
        }) { (position, source, target, _) -> RewrittenLeaf in
            let leaf = SlottedNode(source).inserting(parts[position], into: target, limit: pool.pageSize, entry)
            return leaf.map { .replaced(entries: $0.count) } ?? .unfit
        }
        // An empty tree has no leaves.
        if parts.isEmpty { return try putSingly(entries, onlyNew: onlyNew, entry) }
        for leaf in rest {
            if leaf.isUnfit {
                if let existing = try putSingly(parts[leaf.position], onlyNew: onlyNew, entry) { return existing }
            } else {
                try inEpoch { () throws(EngineError) in try finish(leaf) { joinSlotted($0, $1, separator: nil) } }
            }
        }
        return nil
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
