// Changes and deletes the selected rows of a table, and deletes the index entries of such rows, leaf by leaf.

/// The change of one fixed-width column in all selected rows.
package enum ColumnChange: Sendable {
    /// Adds a number to integers of 1, 2, 4 or 8 bytes. Overflow wraps around; null stays null.
    case add(column: Int, step: Int64)
    /// Sets the cells of all rows to these bytes; nil for null.
    case set(column: Int, cell: [UInt8]?)

    package var column: Int {
        switch self {
        case .add(let column, _), .set(let column, _): column
        }
    }
}

/// The position of a row's key in the index entries of a tree.
package enum RowKeyPlace: UInt8, Sendable {
    /// The last eight bytes of the entry's key, big-endian.
    case endOfKey = 0
    /// The first eight bytes of the entry's value, little-endian.
    case startOfValue = 1
}

extension TreeEditor {
    // MARK: Tables

    /// Changes columns of the selected rows. Returns the leaves that need `alterRemainder`.
    func alter(_ rows: RowSelection, _ changes: [ColumnChange]) throws(EngineError) -> [RewriteRemainder] {
        let current = layouts!.current
        return try rewriteLeaves({ n throws(EngineError) in try leaf(n, of: rows) }) {
            (n, source, target, _) throws(EngineError) -> RewrittenLeaf in
            let bits = try chosen(rows, n.lowerBound, in: source)
            // Leaves of an older layout are converted one by one afterwards.
            guard source.load(24, as: UInt32.self) == current.version else { return .unfit }
            target.first.copy(source.limit, from: source, at: 0, to: 0)
            let leaf = TableLeaf(page: target.first, layout: current)
            for change in changes { leaf.apply(change, bits) }
            return .replaced(entries: leaf.count)
        }
    }

    /// Changes columns of the selected rows of one leaf that the bulk rewrite did not change.
    func alterRemainder(_ rest: RewriteRemainder, _ rows: RowSelection, _ changes: [ColumnChange]) throws(EngineError) {
        for key in rows.keys(of: rows.leaves[rest.changes.lowerBound]) {
            guard let (leaf, slot) = try currentLeaf(for: key) else { continue }
            var bits = [UInt64](repeating: 0, count: (leaf.count + 63) / 64)
            bits[slot >> 6] = 1 << UInt64(slot & 63)
            for change in changes { leaf.apply(change, bits[...]) }
        }
    }

    /// Deletes the selected rows. Returns the leaves to process afterwards.
    func delete(_ rows: RowSelection) throws(EngineError) -> [RewriteRemainder] {
        try rewriteLeaves({ n throws(EngineError) in try leaf(n, of: rows) }) {
            (n, source, target, blobs) throws(EngineError) -> RewrittenLeaf in
            let bits = try chosen(rows, n.lowerBound, in: source)
            let leaf = try resolvedLeaf(source)
            guard let outcome = copy(leaf, without: bits, to: target.first) else { return .unfit }
            if !leaf.layout.variableColumns.isEmpty {
                RowSelection.forEachBit(bits) { blobs.append(contentsOf: leaf.blobs($0)) }
            }
            return outcome
        }
    }

    private func leaf(_ n: Int, of rows: RowSelection) throws(EngineError) -> LeafToRewrite? {
        guard n < rows.leaves.count else { return nil }
        let key = rows.leaves[n].firstKey
        return try descendCopyingInner { $0.childIndex(forHead: key) }.map { LeafToRewrite(link: $0, changes: n..<n + 1) }
    }

    /// The bits of the selection's n-th leaf. Throws if the leaf has changed since the selection.
    private func chosen(_ rows: RowSelection, _ n: Int, in page: Page) throws(EngineError) -> ArraySlice<UInt64> {
        let leaf = rows.leaves[n]
        guard page.load(16, as: UInt64.self) == leaf.firstKey, page.count == leaf.rows else {
            throw EngineError(
                .unknownTree,
                "The rows of table \(id) were selected before its last change. Select them again.")
        }
        return rows.bits(leaf)
    }

    // MARK: Indexes

    /// Deletes the entries of rows from an index. Returns the leaves to process afterwards.
    func deleteEntries(of keys: RowKeySet, at place: RowKeyPlace) throws(EngineError) -> [RewriteRemainder] {
        try rewriteLeaves({ n throws(EngineError) in
            try (n == 0 ? descendCopyingInner { _ in 0 } : stepCopyingInner()).map { LeafToRewrite(link: $0, changes: n..<n + 1) }
        }) {
            (_, source, target, blobs) throws(EngineError) -> RewrittenLeaf in
            let leaf = SlottedNode(source)
            leaf.touchAll()
            var kept: [Int] = []
            kept.reserveCapacity(leaf.count)
            for i in 0..<leaf.count {
                let isKept = !(leaf.rowKey(i, place).map { keys.contains($0) } ?? false)
                if isKept { kept.append(i) } else if leaf.isBlob(i) { blobs.append(leaf.value(i).load(0)) }
            }
            if kept.count == leaf.count { return .unchanged }
            if kept.isEmpty { return .empty }
            let copy = leaf.prefix.array.withBorrowedBytes { prefix in
                SlottedNode.create(
                    in: target.first, inner: false, level: 0, capacity: leaf.page.capacity, limit: pool.pageSize, prefix: prefix)
            }
            for i in kept { copy.append(i, of: leaf) }
            return .replaced(entries: kept.count)
        }
    }
}

extension SlottedNode {
    /// The row's key in an entry of a leaf; nil if the entry is too short.
    @inline(__always)
    fileprivate func rowKey(_ i: Int, _ place: RowKeyPlace) -> UInt64? {
        switch place {
        case .endOfKey: keyLength(i) < 8 ? nil : keySuffix(i)
        case .startOfValue: isBlob(i) || valueLength(i) < 8 ? nil : UInt64(littleEndian: value(i).load(0))
        }
    }
}
