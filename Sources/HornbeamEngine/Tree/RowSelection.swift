// Rows of one table that a scan has selected, leaf by leaf. They can be changed or deleted without a lookup for each row.
//
// For each leaf with selected rows, a selection has one bit for each row of the leaf.
// Invariants: leaves are in key order and have at least one selected row; bits beyond the last row are zero. A selection is valid for one
// version of the table: it identifies a leaf by its first key and its number of rows.

/// Selected rows of a table.
package struct RowSelection: Sendable {
    /// A leaf with selected rows.
    struct Leaf {
        let firstKey: UInt64
        let rows: Int
        /// The index of the leaf's first word in `words`.
        let start: Int
        /// The index of the leaf's first selected key in `sparseKeys`; nil if the leaf's keys are consecutive and follow from the bits.
        var keysStart: Int?

        var words: Int { (rows + 63) / 64 }
    }

    private(set) var leaves: [Leaf] = []
    private(set) var words: [UInt64] = []
    private var sparseKeys: [UInt64] = []
    /// The number of selected rows.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// The number of leaves with selected rows.
    package var leafCount: Int { leaves.count }

    /// Adds rows of a leaf, which is the last leaf of the selection or a later one. Bit i of word j selects row 64 j + i.
    package mutating func append(_ leaf: LeafView, _ bits: [UInt64]) {
        let chosen = bits.reduce(0) { $0 + $1.nonzeroBitCount }
        guard chosen > 0 else { return }
        let start = words.count
        words.append(contentsOf: bits)
        var added = Leaf(firstKey: leaf.key(0), rows: leaf.count, start: start)
        if leaf.key(leaf.count - 1) - added.firstKey != UInt64(leaf.count - 1) {
            added.keysStart = sparseKeys.count
            RowSelection.forEachBit(bits[...]) { sparseKeys.append(leaf.key($0)) }
        }
        count += chosen
        add(added)
    }

    /// Adds the rows of another selection. All its leaves are later ones, except that its first leaf may be the last leaf of this selection.
    package mutating func append(_ other: RowSelection) {
        for leaf in other.leaves {
            var moved = Leaf(firstKey: leaf.firstKey, rows: leaf.rows, start: words.count)
            let bits = other.words[leaf.start..<leaf.start + leaf.words]
            words.append(contentsOf: bits)
            let chosen = bits.reduce(0) { $0 + $1.nonzeroBitCount }
            if let keysStart = leaf.keysStart {
                moved.keysStart = sparseKeys.count
                sparseKeys.append(contentsOf: other.sparseKeys[keysStart..<keysStart + chosen])
            }
            count += chosen
            add(moved)
        }
    }

    /// Adds a leaf whose bits are at the end of `words`. If it is the same leaf as the last one, combines the bits of both.
    private mutating func add(_ leaf: Leaf) {
        guard let last = leaves.last, last.firstKey == leaf.firstKey else { return leaves.append(leaf) }
        // `sparseKeys` needs no change: the keys of `leaf` directly follow those of `last`.
        for word in 0..<leaf.words { words[last.start + word] |= words[leaf.start + word] }
        words.removeLast(leaf.words)
    }

    /// The bits of a leaf.
    func bits(_ leaf: Leaf) -> ArraySlice<UInt64> { words[leaf.start..<leaf.start + leaf.words] }

    @inline(__always)
    static func forEachBit(_ words: ArraySlice<UInt64>, _ body: (Int) -> Void) {
        var base = 0
        for word in words {
            var rest = word
            while rest != 0 {
                body(base + rest.trailingZeroBitCount)
                rest &= rest - 1
            }
            base += 64
        }
    }

    /// The bits of a range of rows. The first row of the range gets bit 0.
    static func bits(_ words: ArraySlice<UInt64>, _ rows: Range<Int>) -> [UInt64] {
        var bits = (0..<(rows.count + 63) / 64).map { n in
            let row = rows.lowerBound + 64 * n
            let (word, shift) = (words.startIndex + row >> 6, UInt64(row & 63))
            let upper = shift > 0 && word + 1 < words.endIndex ? words[word + 1] << (64 - shift) : 0
            return words[word] >> shift | upper
        }
        if rows.count & 63 != 0 { bits[bits.count - 1] &= 1 << UInt64(rows.count & 63) - 1 }
        return bits
    }

    /// The bits of those rows of a leaf whose keys are in `keys`, searched from index `next` on. Advances `next` beyond the leaf's last key.
    fileprivate static func bits(of keys: [UInt64], _ next: inout Int, in leaf: LeafView) -> [UInt64] {
        var bits = [UInt64](repeating: 0, count: (leaf.count + 63) / 64)
        let last = leaf.key(leaf.count - 1)
        while next < keys.count, keys[next] <= last {
            let (slot, found) = TableLeaf.find(leaf.page, keys[next])
            if found { bits[slot >> 6] |= 1 << UInt64(slot & 63) }
            next += 1
        }
        return bits
    }

    /// Calls the body with the key of each selected row, ascending.
    package func forEachKey(_ body: (UInt64) -> Void) {
        for leaf in leaves { forEachKey(of: leaf, body) }
    }

    func forEachKey(of leaf: Leaf, _ body: (UInt64) -> Void) {
        guard var next = leaf.keysStart else { return RowSelection.forEachBit(bits(leaf)) { body(leaf.firstKey + UInt64($0)) } }
        RowSelection.forEachBit(bits(leaf)) { _ in
            body(sparseKeys[next])
            next += 1
        }
    }

    /// The keys of the selected rows, ascending.
    package var keys: [UInt64] {
        var keys: [UInt64] = []
        keys.reserveCapacity(count)
        forEachKey { keys.append($0) }
        return keys
    }

    func keys(of leaf: Leaf) -> [UInt64] {
        var keys: [UInt64] = []
        forEachKey(of: leaf) { keys.append($0) }
        return keys
    }
}

extension TableView {
    /// The rows with the given keys, which must ascend. Keys without a row are ignored.
    package func selection(of keys: [UInt64]) throws(EngineError) -> RowSelection {
        var selection = RowSelection()
        var next = 0
        while next < keys.count {
            var isFirst = true
            try forEachLeaf(from: keys[next]) { (leaf) throws(EngineError) -> Bool in
                let start = next
                selection.append(leaf, RowSelection.bits(of: keys, &next, in: leaf))
                // The key is between two leaves, so it has no row.
                if isFirst, next == start { next += 1 }
                isFirst = false
                return next > start && next < keys.count
            }
            if isFirst { break }
        }
        return selection
    }

    /// Calls `body` with some of the leaves that have selected rows, given by their places, in key order, until it returns false. The table must not have
    /// changed since the selection. `columns` as for all leaves.
    package func forEachLeaf(
        of rows: RowSelection, _ leaves: Range<Int>, prefetching columns: UInt64, _ body: (LeafView) throws(EngineError) -> Bool
    ) throws(EngineError) {
        var next = leaves.lowerBound
        while next < leaves.upperBound {
            let start = next
            var isEnded = false
            try forEachLeaf(from: rows.leaves[next].firstKey, prefetching: columns) { (leaf) throws(EngineError) -> Bool in
                guard next < leaves.upperBound, leaf.key(0) == rows.leaves[next].firstKey else { return false }
                next += 1
                isEnded = try !body(leaf)
                return !isEnded
            }
            if isEnded { return }
            // The selection is of this version, so only the leaves of a forged tree are not found by their first keys.
            guard next > start else { throw TreeRoot.disorder }
        }
    }
}

/// A set of keys for many lookups: a bitmap if the keys are dense, otherwise a sorted list.
struct RowKeySet {
    private let first: UInt64
    private let bits: [UInt64]
    private let list: [UInt64]

    /// - Parameter keys: ascending.
    init(_ keys: [UInt64]) {
        guard let first = keys.first, let last = keys.last, last - first < UInt64(keys.count) * 64 else {
            (self.first, bits, list) = (0, [], keys)
            return
        }
        var bits = [UInt64](repeating: 0, count: Int(last - first) / 64 + 1)
        for key in keys { bits[Int(key - first) >> 6] |= 1 << ((key - first) & 63) }
        (self.first, self.bits, list) = (first, bits, [])
    }

    @inline(__always)
    func contains(_ key: UInt64) -> Bool {
        guard bits.isEmpty else {
            let place = key &- first
            return place < UInt64(bits.count) * 64 && bits[Int(place >> 6)] >> (place & 63) & 1 == 1
        }
        var low = 0
        var high = list.count
        while low < high {
            let middle = (low + high) / 2
            if list[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low < list.count && list[low] == key
    }
}
