// Changes a table: inserts, replaces and deletes rows by key. If a row does not fit in place, the leaf is rebuilt column by column.

extension TreeEditor {
    /// Descends to the leaf where a key belongs, and finds its slot there; nil if the tree is empty.
    private func seek(_ key: UInt64) throws(EngineError) -> (slot: Int, found: Bool)? {
        if leaf != 0, leafPage.count > 0, key >= leafPage.load(16, as: UInt64.self) {
            let place = TableLeaf.find(leafPage, key)
            if place.found || place.slot < leafPage.count || isAtRightEdge || key < nextLeafKey { return place }
        }
        guard try descend({ $0.childIndex(forHead: key) }) else { return nil }
        return TableLeaf.find(leafPage, key)
    }

    /// A lower bound of the keys in the leaf after that at the end of the path, and an upper bound of the keys that belong in that at its end. 0 if the parent
    /// does not have it.
    private var nextLeafKey: UInt64 {
        guard let parent = path.last, parent.index + 1 < node(parent.frame).count else { return 0 }
        return node(parent.frame).head(parent.index + 1)
    }

    /// Whether the table has a row of a key. Changes nothing.
    func contains(_ key: UInt64) throws(EngineError) -> Bool {
        guard let leaf = try visit({ $0.childIndex(forHead: key) }) else { return false }
        return TableLeaf.find(pool.page(leaf), key).found
    }

    private var layout: ResolvedLayout { layouts!.current }

    private func currentLeaf() throws(EngineError) -> TableLeaf { try resolvedLeaf(leafPage) }

    /// A leaf with the layout in which it is stored.
    func resolvedLeaf(_ page: Page) throws(EngineError) -> TableLeaf {
        let version: UInt32 = page.load(24)
        guard let own = unsafe layouts!.resolve(version)?.own else {
            throw EngineError(.damaged, "A leaf of table \(id) names layout \(version), which the table does not have.")
        }
        return TableLeaf(page: page, layout: own)
    }

    /// Descends to the leaf of a row, and converts it to the current layout. Returns the leaf and the row's slot; nil if there is no such row.
    func currentLeaf(for key: UInt64) throws(EngineError) -> (leaf: TableLeaf, slot: Int)? {
        guard let place = try seek(key), place.found else { return nil }
        let leaf = try currentLeaf()
        if leaf.layout === layout { return (leaf, place.slot) }
        try rebuild(leaf, order(leaf), 0, nil)
        guard let place = try seek(key), place.found else { return nil }
        return (try currentLeaf(), place.slot)
    }

    /// Copies a leaf without the selected rows to a new page. Nil if the leaf has an older layout or the copy does not fit in a page.
    func copy(_ leaf: TableLeaf, without bits: ArraySlice<UInt64>, to page: Page) -> RewrittenLeaf? {
        var slots: [Int32] = []
        slots.reserveCapacity(leaf.count)
        for (n, word) in bits.enumerated() {
            for row in 0..<min(64, leaf.count - n * 64) where word >> UInt64(row) & 1 == 0 { slots.append(Int32(n * 64 + row)) }
        }
        if slots.isEmpty { return .empty }
        guard leaf.layout === layout else { return nil }
        let width = keyWidth(leaf, slots, 0)
        let heap = slots.reduce(0) { $0 + heapBytes(leaf, $1, nil) }
        guard layout.arrayBytes(capacity: slots.count, keyWidth: width) + heap <= pool.pageSize else { return nil }
        let target = TableLeaf.create(
            in: page, layout, capacity: capacity(rows: slots.count, heap: heap, keyWidth: width, nil, false), keyWidth: width,
            firstKey: leaf.key(Int(slots[0])), limit: pool.pageSize)
        target.append(slots, of: leaf)
        return .replaced(entries: slots.count)
    }

    /// Inserts or replaces a row. True if the key is new.
    func put(key: UInt64, _ row: RowBuffer) throws(EngineError) -> Bool {
        guard let (slot, found) = try seek(key) else {
            try makeFirstLeaf { page in self.buildLeaf(in: page, .none, [Self.newRow], key, row, atRightEdge: true) }
            addToCounts(1)
            return true
        }
        let leaf = try currentLeaf()
        if found {
            ledger.deadBlobs.append(contentsOf: leaf.blobs(slot))
            if leaf.layout === layout, leaf.replace(slot, row) { return false }
            try rebuild(leaf, order(leaf, replacing: slot), key, row)
            return false
        }
        addToCounts(1)
        let isInRun = slot > 0 && leaf.key(slot - 1) == lastInserted
        lastInserted = key
        if slot == leaf.count, leaf.layout === layout, leaf.keepsKeys(appending: key), leaf.append(key: key, row) {
            return true
        }
        if slot == leaf.count, isAtRightEdge || isInRun, leaf.layout === layout, leaf.isWellFilled {
            try startLeaf(after: leaf, key, row)
            return true
        }
        if slot < leaf.count, leaf.layout === layout, leaf.insert(at: slot, key: key, row) { return true }
        var slots = order(leaf)
        slots.insert(Self.newRow, at: slot)
        try rebuild(leaf, slots, key, row, isInRun: isInRun)
        return true
    }

    /// Appends a copy of a leaf whose keys are above all others.
    func append(_ page: Page) throws(EngineError) {
        guard try descend({ $0.count - 1 }) else {
            try makeFirstLeaf { $0.copy(pool.pageSize, from: page, at: 0, to: 0) }
            return addToCounts(page.count)
        }
        assert(TableLeaf.key(leafPage, leafPage.count - 1) < TableLeaf.key(page, 0), "A leaf is appended behind the last key.")
        let right = try ledger.allocate()
        pool.page(right).copy(pool.pageSize, from: page, at: 0, to: 0)
        addToCounts(page.count)
        try addSibling(right, separator: separator(of: right), at: path.count)
    }

    /// Starts a new leaf with a new row, at the right edge or in a run of ascending keys. The leaf before does not change.
    private func startLeaf(after leaf: TableLeaf, _ key: UInt64, _ row: RowBuffer) throws(EngineError) {
        assert(leaf.count > 0 && leaf.key(leaf.count - 1) < key, "A row is appended behind the last key.")
        if isAtRightEdge { noteFilled(self.leaf) }
        let right = try ledger.allocate()
        buildLeaf(in: pool.page(right), leaf, [Self.newRow], key, row, atRightEdge: true)
        let separator = unsafe withUnsafeBytes(of: key.bigEndian) { unsafe Array($0) }
        try addSibling(right, separator: separator, at: path.count)
    }

    /// Deletes the rows with the given keys, which must ascend. Returns the number of deleted rows.
    func delete(_ keys: [UInt64]) throws(EngineError) -> Int {
        var deleted = 0
        var next = 0
        while next < keys.count {
            guard try seek(keys[next]) != nil else { return deleted }
            let leaf = try currentLeaf()
            let last = leaf.count > 0 ? leaf.key(leaf.count - 1) : 0
            var slots = order(leaf)
            var removed = 0
            repeat {
                let (slot, found) = TableLeaf.find(leafPage, keys[next])
                if found, slots[slot] != Self.removed {
                    ledger.deadBlobs.append(contentsOf: leaf.blobs(slot))
                    slots[slot] = Self.removed
                    removed += 1
                }
                next += 1
            } while next < keys.count && keys[next] <= last
            guard removed > 0 else {
                forgetPath()
                continue
            }
            assert(removed <= leaf.count, "A leaf loses rows that it has.")
            deleted += removed
            addToCounts(-removed)
            try shrink(leaf, slots.filter { $0 != Self.removed })
        }
        return deleted
    }

    private func shrink(_ leaf: TableLeaf, _ slots: [Int32]) throws(EngineError) {
        guard !slots.isEmpty else {
            removeEmptyLeaf()
            return try lowerRoot()
        }
        try rebuild(leaf, slots, 0, nil)
        guard self.leaf != 0, !path.isEmpty else { return }
        if isSparse(self.leaf) {
            try mergeUpwards { left, right in self.joinLeaves(left, right) }
        }
    }

    /// Sets the cells of one column in the rows with the given keys. `cell` returns the new bytes for the n-th key; nil for null. Skips keys
    /// without a row.
    func patch(_ column: Int, of keys: [UInt64], _ cell: (Int) -> Bytes?) throws(EngineError) {
        for (n, key) in keys.enumerated() {
            guard let (leaf, slot) = try currentLeaf(for: key) else { continue }
            leaf.patch(column, slot, cell(n))
        }
    }

    // MARK: Rebuilding leaves

    private static var newRow: Int32 { -1 }
    private static var removed: Int32 { -2 }

    private func order(_ leaf: TableLeaf, replacing slot: Int? = nil) -> [Int32] {
        var slots = (0..<Int32(leaf.count)).map { $0 }
        if let slot { slots[slot] = Self.newRow }
        return slots
    }

    /// Rebuilds the leaf at the path's end from some of its rows and possibly a new one, in as many pages as they need. Usually these are one or
    /// two; there may be more if a new layout makes rows longer, or if the keys need a larger width.
    ///
    /// - Parameter isInRun: True if the new row follows the one that was inserted before.
    private func rebuild(
        _ leaf: TableLeaf, _ slots: [Int32], _ key: UInt64, _ row: RowBuffer?, isInRun: Bool = false
    ) throws(EngineError) {
        let isAppend =
            (isAtRightEdge || isInRun) && slots.count > leaf.count && slots.last == Self.newRow && leaf.layout === layout
        let grows = slots.count > leaf.count
        let runs = runs(leaf, slots, key, row, isAppend: isAppend, isInRun: isInRun)
        var later: [UInt32] = []
        for run in runs.dropFirst() {
            let frame = try ledger.allocate()
            buildLeaf(in: pool.page(frame), leaf, Array(slots[run]), key, row, atRightEdge: isAppend, grows: grows)
            later.append(frame)
        }
        if !(isAppend && runs.count == 2) {
            buildLeaf(in: ledger.scratch, leaf, Array(slots[runs[0]]), key, row, atRightEdge: isAppend, grows: grows)
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

    private func separator(of frame: UInt32) -> [UInt8] {
        let firstKey: UInt64 = pool.page(frame).load(16)
        return unsafe withUnsafeBytes(of: firstKey.bigEndian) { unsafe Array($0) }
    }

    /// Divides rows into runs that each fit in a page: one run, or a full leaf and the appended row, or two halves, or else runs that are as long
    /// as possible. In a run of ascending keys the rows behind the new one are divided from it, so that the next ones can be appended.
    private func runs(
        _ leaf: TableLeaf, _ slots: [Int32], _ key: UInt64, _ row: RowBuffer?, isAppend: Bool, isInRun: Bool
    ) -> [Range<Int>] {
        let sizes = slots.map { rowBytes(leaf, $0, row) }
        func fit(_ range: Range<Int>) -> Bool { fits(leaf, Array(slots[range]), Array(sizes[range]), key) }
        if fit(0..<slots.count) { return [0..<slots.count] }
        var cut = isAppend ? slots.count - 1 : TreeEditor.middle(sizes)
        if isInRun, let place = slots.firstIndex(of: Self.newRow), place + 1 < slots.count, fit(0..<place + 1) { cut = place + 1 }
        if isAppend || (fit(0..<cut) && fit(cut..<slots.count)) { return [0..<cut, cut..<slots.count] }
        var runs: [Range<Int>] = []
        var start = 0
        while start < slots.count {
            var end = start + 1
            while end < slots.count, fit(start..<end + 1) { end += 1 }
            runs.append(start..<end)
            start = end
        }
        return runs
    }

    /// Bytes of a row in a leaf of the current layout: in the arrays, without bitmaps, and in the heap.
    private func rowBytes(_ leaf: TableLeaf?, _ slot: Int32, _ row: RowBuffer?) -> Int {
        layout.fixedPerRow + heapBytes(leaf, slot, row)
    }

    private func heapBytes(_ leaf: TableLeaf?, _ slot: Int32, _ row: RowBuffer?) -> Int {
        guard slot != Self.newRow, let leaf else { return row!.variableBytes }
        let slot = Int(slot)
        var sum = leaf.heapBytes(slot..<slot + 1)
        if leaf.layout !== layout {
            for i in layout.variableColumns
            where !leaf.layout.columns.contains(where: { $0.id == layout.columns[i].id }) {
                sum += layouts!.fills[i]?.count ?? 0
            }
        }
        return sum
    }

    private func keyAt(_ leaf: TableLeaf?, _ slot: Int32, _ key: UInt64) -> UInt64 {
        slot == Self.newRow ? key : leaf!.key(Int(slot))
    }

    /// The key width of a new leaf behind another one: the width that the keys of that leaf need, or 0 if its last keys are consecutive. Later rows whose
    /// keys need no larger width are appended without rebuilding the leaf. The width that the other leaf has can be larger than its keys need.
    private func expectedKeyWidth(after leaf: TableLeaf?) -> Int {
        guard let leaf, leaf.count >= Self.sampledKeys else { return 0 }
        let last = leaf.key(leaf.count - 1)
        let areConsecutive = last - leaf.key(leaf.count - Self.sampledKeys) == UInt64(Self.sampledKeys - 1)
        return TableLeaf.keyWidth(first: leaf.firstKey, last: last, isConsecutive: areConsecutive)
    }

    private static let sampledKeys = 8

    private func keyWidth(_ leaf: TableLeaf?, _ slots: [Int32], _ key: UInt64) -> Int {
        let first = keyAt(leaf, slots[0], key)
        let last = keyAt(leaf, slots[slots.count - 1], key)
        return TableLeaf.keyWidth(first: first, last: last, isConsecutive: last - first == UInt64(slots.count - 1))
    }

    private func fits(_ leaf: TableLeaf, _ slots: [Int32], _ sizes: [Int], _ key: UInt64) -> Bool {
        let heap = sizes.reduce(0, +) - slots.count * layout.fixedPerRow
        let arrays = layout.arrayBytes(capacity: slots.count, keyWidth: keyWidth(leaf, slots, key))
        return slots.count < 0xFFFF && arrays + heap <= pool.pageSize
    }

    /// The index of the row at which the second half of the bytes begins. Each half has at least one row.
    private static func middle(_ sizes: [Int]) -> Int {
        let half = sizes.reduce(0, +) / 2
        var sum = 0
        for (i, size) in sizes.enumerated() {
            sum += size
            if sum >= half { return min(max(i + 1, 1), sizes.count - 1) }
        }
        return sizes.count - 1
    }

    /// Builds a leaf of the current layout from rows of another leaf and possibly a new row.
    private func buildLeaf(
        in page: Page, _ leaf: TableLeaf?, _ slots: [Int32], _ key: UInt64, _ row: RowBuffer?, atRightEdge: Bool, grows: Bool = false
    ) {
        let width = atRightEdge && slots == [Self.newRow] ? expectedKeyWidth(after: leaf) : keyWidth(leaf, slots, key)
        let heap = slots.reduce(0) { $0 + heapBytes(leaf, $1, row) }
        let target = TableLeaf.create(
            in: page, layout, capacity: capacity(rows: slots.count, heap: heap, keyWidth: width, leaf, atRightEdge, grows: grows),
            keyWidth: width, firstKey: keyAt(leaf, slots[0], key), limit: pool.pageSize)
        var start = 0
        while start < slots.count {
            if slots[start] == Self.newRow {
                let done = target.append(key: key, row!)
                precondition(done, "A rebuilt leaf has room for the rows that it was measured for.")
                start += 1
                continue
            }
            var end = start + 1
            while end < slots.count, slots[end] == slots[end - 1] + 1, slots[end] != Self.newRow { end += 1 }
            target.append(Int(slots[start])..<Int(slots[end - 1]) + 1, of: leaf!, fills: layouts!.fills)
            start = end
        }
    }

    /// The capacity of a leaf. At the right edge: as many rows of this size as fit in the page. Elsewhere: a little more than `rows`, and twice as much for a
    /// leaf that grows, so that few of its next rows need another rebuilding.
    private func capacity(rows: Int, heap: Int, keyWidth: Int, _ leaf: TableLeaf?, _ atRightEdge: Bool, grows: Bool = false) -> Int {
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
        let heap =
            (0..<Int32(a.count)).reduce(0) { $0 + heapBytes(a, $1, nil) }
            + (0..<Int32(b.count)).reduce(0) { $0 + heapBytes(b, $1, nil) }
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
