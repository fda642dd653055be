// Changes and deletes the selected rows of a table, and deletes the index entries of such rows, leaf by leaf.

/// The position of a row's key in the index entries of a tree.
package enum RowKeyPlace: UInt8, Sendable {
    /// The last eight bytes of the entry's key, big-endian.
    case endOfKey = 0
    /// The first eight bytes of the entry's value, little-endian.
    case startOfValue = 1
}

extension TreeEditor {
    // MARK: Tables

    /// Changes columns of the rows that are selected in a range of leaves. Returns the leaves to process afterwards.
    func alter(_ rows: RowSelection, _ leaves: Range<Int>, _ changes: CellChanges) throws(EngineError) -> [RewriteRemainder] {
        let current = layouts!.current
        let mayDivide = !changes.variable.isEmpty
        return try rewriteLeaves({ n throws(EngineError) in try leaf(n, in: leaves, of: rows, mayDivide: mayDivide) }, changesPages: true) {
            (n, pages, blobs) throws(EngineError) -> RewrittenLeaf in
            let bits = try chosen(rows, n.lowerBound, in: pages.old)
            // Leaves of an older layout are converted one by one afterwards.
            guard pages.old.load(24, as: UInt32.self) == current.version else { return .unfit }
            let old = TableLeaf(page: pages.old, layout: current)
            let changes = changes.inRows(bits)
            let replaced = old.blobs(replacedBy: changes)
            let outcome = try apply(changes, to: old, pages)
            if case .unfit = outcome { return .unfit }
            blobs += replaced
            return outcome
        }
    }

    /// Changes cells of a leaf, or copies it with these changes to one or two new leaves.
    private func apply(_ changes: CellChanges, to old: TableLeaf, _ target: LeafPages) throws(EngineError) -> RewrittenLeaf {
        let heaps = changes.variable.isEmpty ? [] : try fittingHeapBytes(old, after: changes)
        if old.hasRoom(for: changes) {
            if target.mayChange {
                old.apply(changes)
                return .changed(entries: old.count)
            }
            target.first.copy(old.page.limit, from: old.page, at: 0, to: 0)
            TableLeaf(page: target.first, layout: old.layout).apply(changes)
            return .replaced(entries: old.count)
        }
        let (slots, change) = (order(old), LeafChange.cells(changes))
        if let all = run(old, slots, 0..<slots.count, heaps, change) {
            buildLeaf(in: target.first, old, slots, all, change)
            return .replaced(entries: old.count)
        }
        let cut = middle(heaps)
        guard let second = target.second, let left = run(old, slots, 0..<cut, heaps, change),
            let right = run(old, slots, cut..<slots.count, heaps, change)
        else { return .unfit }
        buildLeaf(in: target.first, old, slots, left, change)
        buildLeaf(in: second, old, slots, right, change)
        return .divided(entries: cut)
    }

    /// The bytes that each row needs in the heap after changes of cells. Throws if the cells of a changed row are too long for a leaf.
    private func fittingHeapBytes(_ leaf: TableLeaf, after changes: CellChanges) throws(EngineError) -> [Int] {
        let heaps = leaf.heapBytesOfRows(after: changes)
        let limit = layout.variableBytesMax(pageSize: pool.pageSize)
        var isTooLong = false
        RowSelection.forEachBit(changes.bits) { isTooLong = isTooLong || heaps[$0] > limit }
        guard !isTooLong else {
            throw EngineError(.tooLarge, "A change of all selected rows of table \(id) makes the variable cells of a row longer than \(limit) bytes.")
        }
        return heaps
    }

    /// Changes columns of the next rows of a leaf that the bulk rewrite did not change, and removes them from their keys, which ascend. By now the rows
    /// of that leaf may be in several leaves.
    func alterNext(_ keys: inout ArraySlice<UInt64>, _ changes: CellChanges) throws(EngineError) {
        guard let (leaf, _) = try currentLeaf(for: keys[keys.startIndex]) else {
            keys.removeFirst()
            return
        }
        // So many that they need few pages.
        let length = changes.variable.reduce(1) { $0 + ($1.cell?.count ?? 0) }
        var left = max(1, Self.pagesOfRebuiltLeaf * pool.pageSize / length)
        var bits = [UInt64](repeating: 0, count: (leaf.count + 63) / 64)
        let last = leaf.key(leaf.count - 1)
        while left > 0, let key = keys.first, key <= last {
            let (slot, found) = TableLeaf.find(leaf.page, key)
            if found { bits[slot >> 6] |= 1 << UInt64(slot & 63) }
            keys.removeFirst()
            left -= 1
        }
        let changes = changes.inRows(bits[...])
        if !changes.variable.isEmpty { _ = try fittingHeapBytes(leaf, after: changes) }
        ledger.deadBlobs += leaf.blobs(replacedBy: changes)
        if leaf.hasRoom(for: changes) { leaf.apply(changes) } else { try rebuild(leaf, order(leaf), .cells(changes)) }
    }

    private static var pagesOfRebuiltLeaf: Int { 16 }

    /// Deletes the rows that are selected in a range of leaves. Returns the leaves to process afterwards.
    func delete(_ rows: RowSelection, _ leaves: Range<Int>) throws(EngineError) -> [RewriteRemainder] {
        try rewriteLeaves({ n throws(EngineError) in try leaf(n, in: leaves, of: rows) }) {
            (n, pages, blobs) throws(EngineError) -> RewrittenLeaf in
            let bits = try chosen(rows, n.lowerBound, in: pages.old)
            let leaf = try resolvedLeaf(pages.old)
            guard let outcome = copy(leaf, without: bits, to: pages.first) else { return .unfit }
            if !leaf.layout.variableColumns.isEmpty {
                RowSelection.forEachBit(bits) { blobs.append(contentsOf: leaf.blobs($0)) }
            }
            return outcome
        }
    }

    /// Descends to the parent of the n-th leaf of a range of a selection's leaves; nil after the last.
    private func leaf(_ n: Int, in leaves: Range<Int>, of rows: RowSelection, mayDivide: Bool = false) throws(EngineError) -> LeafToRewrite? {
        let place = leaves.lowerBound + n
        guard place < leaves.upperBound else { return nil }
        let key = rows.leaves[place].firstKey
        return try descendCopyingInner { $0.childIndex(forHead: key) }.map { LeafToRewrite(link: $0, changes: place..<place + 1, mayDivide: mayDivide) }
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

    /// Deletes the entries of rows from leaves of an index, from the one where the key `start` belongs. Returns the leaves to process afterwards, and the
    /// key at which to continue; nil at the end.
    func deleteEntries(
        of keys: RowKeySet, at place: RowKeyPlace, from start: [UInt8], leavesMax: Int
    ) throws(EngineError) -> (rest: [RewriteRemainder], end: [UInt8]?) {
        var end: [UInt8]?
        let rest = try rewriteLeaves({ n throws(EngineError) in
            guard n < leavesMax else { return nil }
            let link = try n == 0 ? descendCopyingInner { node in start.withBorrowedBytes { node.childIndex(for: $0) } } : stepCopyingInner()
            if n == leavesMax - 1, link != nil { end = upperBound }
            return link.map { LeafToRewrite(link: $0, changes: n..<n + 1) }
        }) {
            (_, pages, blobs) throws(EngineError) -> RewrittenLeaf in
            let leaf = SlottedNode(pages.old)
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
                    in: pages.first, inner: false, level: 0, capacity: leaf.page.capacity, limit: pool.pageSize, prefix: prefix)
            }
            for i in kept { copy.append(i, of: leaf) }
            return .replaced(entries: kept.count)
        }
        return (rest, end)
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
