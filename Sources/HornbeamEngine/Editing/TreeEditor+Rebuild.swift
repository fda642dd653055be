// Rebuilds leaves of a table column by column, in as many pages as their rows need.

/// The change of a leaf that is rebuilt.
enum LeafChange {
    case none
    /// A new row, or one that replaces another, at the slot `newRow`.
    case row(key: UInt64, RowBuffer)
    /// New cells in selected rows. The leaf has the current layout.
    case cells(CellChanges)
}

/// Rows that fit in one page: a range of slots, and the bytes of their variable cells.
struct LeafRun {
    let rows: Range<Int>
    let heap: Int
}

extension TreeEditor {
    /// The slot of the row of a `LeafChange`.
    static var newRow: Int32 { -1 }
    static var removed: Int32 { -2 }

    func order(_ leaf: TableLeaf, replacing slot: Int? = nil) -> [Int32] {
        var slots = (0..<Int32(leaf.count)).map { $0 }
        if let slot { slots[slot] = Self.newRow }
        return slots
    }

    /// Rebuilds the leaf at the path's end from some of its rows and a change, in as many pages as they need. Usually these are one or two; there may be more
    /// if a new layout or new cells make rows longer, or if the keys need a larger width.
    ///
    /// - Parameter isInRun: True if the new row follows the one that was inserted before.
    func rebuild(_ leaf: TableLeaf, _ slots: [Int32], _ change: LeafChange = .none, isInRun: Bool = false) throws(EngineError) {
        let isAppend =
            (isAtRightEdge || isInRun) && slots.count > leaf.count && slots.last == Self.newRow && leaf.layout === layout
        let grows = slots.count > leaf.count
        let runs = runs(leaf, slots, change, isAppend: isAppend, isInRun: isInRun)
        var later: [UInt32] = []
        for run in runs.dropFirst() {
            let frame = try ledger.allocate()
            buildLeaf(in: pool.page(frame), leaf, slots, run, change, atRightEdge: isAppend, grows: grows)
            later.append(frame)
        }
        if !(isAppend && runs.count == 2) {
            buildLeaf(in: ledger.scratch, leaf, slots, runs[0], change, atRightEdge: isAppend, grows: grows)
            leafPage.copy(pool.pageSize, from: ledger.scratch, at: 0, to: 0)
        }
        guard let first = later.first else { return }
        if isAppend, isAtRightEdge, later.count == 1 { noteFilled(self.leaf) }
        // The counts of the path include all rows already. Linking a further page adds its rows again, so they are subtracted first.
        addToCounts(-later.dropFirst().reduce(0) { $0 + pool.page($1).count })
        try addSibling(first, separator: separator(of: first), at: path.count)
        for frame in later.dropFirst() {
            let firstKey: UInt64 = pool.page(frame).load(16)
            _ = try descend { $0.childIndex(forHead: firstKey) }
            addToCounts(pool.page(frame).count)
            try addSibling(frame, separator: separator(of: frame), at: path.count)
        }
    }

    func separator(of frame: UInt32) -> [UInt8] {
        let firstKey: UInt64 = pool.page(frame).load(16)
        return unsafe withUnsafeBytes(of: firstKey.bigEndian) { unsafe Array($0) }
    }

    /// Divides rows into runs that each fit in a page: one run, or a full leaf and the appended row, or two halves, or else runs that are as long
    /// as possible. In a run of ascending keys the rows behind the new one are divided from it, so that the next ones can be appended.
    private func runs(_ leaf: TableLeaf, _ slots: [Int32], _ change: LeafChange, isAppend: Bool, isInRun: Bool) -> [LeafRun] {
        let heaps = heapBytesOfRows(leaf, slots, change)
        func run(_ rows: Range<Int>) -> LeafRun? { self.run(leaf, slots, rows, heaps, change) }
        if let all = run(0..<slots.count) { return [all] }
        var cut = isAppend ? slots.count - 1 : middle(heaps)
        if isInRun, let place = slots.firstIndex(of: Self.newRow), place + 1 < slots.count, run(0..<place + 1) != nil { cut = place + 1 }
        if let first = run(0..<cut), let second = run(cut..<slots.count) { return [first, second] }
        var runs: [LeafRun] = []
        var start = 0
        while start < slots.count {
            var longest = LeafRun(rows: start..<start + 1, heap: heaps[start])
            while longest.rows.upperBound < slots.count, let longer = run(start..<longest.rows.upperBound + 1) { longest = longer }
            runs.append(longest)
            start = longest.rows.upperBound
        }
        return runs
    }

    /// Rows as a run; nil if they do not fit in a page.
    func run(_ leaf: TableLeaf, _ slots: [Int32], _ rows: Range<Int>, _ heaps: [Int], _ change: LeafChange) -> LeafRun? {
        let heap = heaps[rows].reduce(0, +)
        let arrays = layout.arrayBytes(capacity: rows.count, keyWidth: keyWidth(leaf, slots[rows], change))
        return rows.count < 0xFFFF && arrays + heap <= pool.pageSize ? LeafRun(rows: rows, heap: heap) : nil
    }

    /// The bytes that each row needs in the heap of a leaf of the current layout.
    func heapBytesOfRows(_ leaf: TableLeaf, _ slots: [Int32], _ change: LeafChange) -> [Int] {
        if case .cells(let changes) = change { return leaf.heapBytesOfRows(after: changes) }
        return slots.map { slot in
            if slot == Self.newRow, case .row(_, let row) = change { return row.variableBytes }
            var sum = leaf.heapBytes(Int(slot)..<Int(slot) + 1)
            if leaf.layout !== layout {
                for i in layout.variableColumns
                where !leaf.layout.columns.contains(where: { $0.id == layout.columns[i].id }) {
                    sum += layouts!.fills[i]?.count ?? 0
                }
            }
            return sum
        }
    }

    private func keyAt(_ leaf: TableLeaf?, _ slot: Int32, _ change: LeafChange) -> UInt64 {
        if slot == Self.newRow, case .row(let key, _) = change { return key }
        return leaf!.key(Int(slot))
    }

    /// The key width of a new leaf behind another one: the width that the keys of that leaf need, or 0 if its last keys are consecutive. Later rows whose
    /// keys need no larger width are appended without rebuilding the leaf. The width that the other leaf has can be larger than its keys need.
    private func expectedKeyWidth(after leaf: TableLeaf?) -> Int {
        guard let leaf, leaf.count >= Self.sampledKeys else { return 0 }
        let last = leaf.key(leaf.count - 1)
        let areConsecutive = last - leaf.key(leaf.count - Self.sampledKeys) == UInt64(Self.sampledKeys - 1)
        return TableLeaf.keyWidth(first: leaf.firstKey, last: last, isConsecutive: areConsecutive)
    }

    private static var sampledKeys: Int { 8 }

    func keyWidth(_ leaf: TableLeaf?, _ slots: ArraySlice<Int32>, _ change: LeafChange) -> Int {
        let first = keyAt(leaf, slots[slots.startIndex], change)
        let last = keyAt(leaf, slots[slots.endIndex - 1], change)
        return TableLeaf.keyWidth(first: first, last: last, isConsecutive: last - first == UInt64(slots.count - 1))
    }

    /// The index of the row at which the second half of the bytes begins. Each half has at least one row.
    func middle(_ heaps: [Int]) -> Int {
        let half = heaps.reduce(0) { $0 + layout.fixedPerRow + $1 } / 2
        var sum = 0
        for (i, heap) in heaps.enumerated() {
            sum += layout.fixedPerRow + heap
            if sum >= half { return min(max(i + 1, 1), heaps.count - 1) }
        }
        return heaps.count - 1
    }

    /// Builds a leaf of the current layout with one new row.
    func buildLeaf(in page: Page, after leaf: TableLeaf?, _ key: UInt64, _ row: RowBuffer) {
        let run = LeafRun(rows: 0..<1, heap: row.variableBytes)
        buildLeaf(in: page, leaf, [Self.newRow], run, .row(key: key, row), atRightEdge: true)
    }

    /// Builds a leaf of the current layout from rows of another leaf and a change.
    func buildLeaf(
        in page: Page, _ leaf: TableLeaf?, _ slots: [Int32], _ run: LeafRun, _ change: LeafChange, atRightEdge: Bool = false, grows: Bool = false
    ) {
        let slots = slots[run.rows]
        let width = atRightEdge && slots == [Self.newRow] ? expectedKeyWidth(after: leaf) : keyWidth(leaf, slots, change)
        let target = TableLeaf.create(
            in: page, layout, capacity: capacity(rows: slots.count, heap: run.heap, keyWidth: width, leaf, atRightEdge, grows: grows),
            keyWidth: width, firstKey: keyAt(leaf, slots[slots.startIndex], change), limit: pool.pageSize)
        if case .cells(let changes) = change { return target.append(run.rows, of: leaf!, with: changes) }
        var start = slots.startIndex
        while start < slots.endIndex {
            if slots[start] == Self.newRow, case .row(let key, let row) = change {
                let done = target.append(key: key, row)
                precondition(done, "A rebuilt leaf has room for the rows that it was measured for.")
                start += 1
                continue
            }
            var end = start + 1
            while end < slots.endIndex, slots[end] == slots[end - 1] + 1, slots[end] != Self.newRow { end += 1 }
            target.append(Int(slots[start])..<Int(slots[end - 1]) + 1, of: leaf!, fills: layouts!.fills)
            start = end
        }
    }

    /// The capacity of a leaf. At the right edge: as many rows of this size as fit in the page. Elsewhere: a little more than `rows`, and twice as much for a
    /// leaf that grows, so that few of its next rows need another rebuilding.
    func capacity(rows: Int, heap: Int, keyWidth: Int, _ leaf: TableLeaf?, _ atRightEdge: Bool, grows: Bool = false) -> Int {
        var average = heap / max(rows, 1)
        if atRightEdge, rows == 1, let leaf, leaf.count > 8 {
            average = (leaf.page.limit - leaf.page.heapStart) / leaf.count
        }
        let wanted = atRightEdge ? 0xFFFF : grows ? 2 * rows : rows + rows / 8 + 1
        var low = rows
        var high = min(wanted, pool.pageSize)
        while low < high {
            let middle = (low + high + 1) / 2
            let later = max(middle - rows, 0) * average
            if layout.arrayBytes(capacity: middle, keyWidth: keyWidth) + heap + later <= pool.pageSize {
                low = middle
            } else {
                high = middle - 1
            }
        }
        return low
    }

    func joinLeaves(_ left: UInt32, _ right: UInt32) -> Bool {
        guard let a = resolved(left), let b = resolved(right) else { return false }
        let count = a.count + b.count
        let first = a.key(0)
        let last = b.key(b.count - 1)
        let width = TableLeaf.keyWidth(first: first, last: last, isConsecutive: last - first == UInt64(count - 1))
        let heap = (heapBytesOfRows(a, order(a), .none) + heapBytesOfRows(b, order(b), .none)).reduce(0, +)
        guard layout.arrayBytes(capacity: count, keyWidth: width) + heap <= pool.pageSize else { return false }
        let target = TableLeaf.create(
            in: ledger.scratch, layout, capacity: capacity(rows: count, heap: heap, keyWidth: width, nil, false),
            keyWidth: width, firstKey: first, limit: pool.pageSize)
        target.append(0..<a.count, of: a, fills: layouts!.fills)
        target.append(0..<b.count, of: b, fills: layouts!.fills)
        pool.page(left).copy(pool.pageSize, from: ledger.scratch, at: 0, to: 0)
        return true
    }

    private func resolved(_ frame: UInt32) -> TableLeaf? {
        let page = pool.page(frame)
        return unsafe layouts!.resolve(page.load(24)).map { unsafe TableLeaf(page: page, layout: $0.own) }
    }
}
