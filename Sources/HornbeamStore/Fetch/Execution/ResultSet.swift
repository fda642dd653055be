internal import HornbeamEngine

/// A row of a result set: the object and the position of its row.
package struct ResultRow: Sendable {
    package let reference: ObjectReference
    /// Empty if the row was not read.
    package let hint: RowHint
}

/// The result set of a fetch, in its order.
///
/// Rows found by a scan are stored as a bitmap per leaf: less than a byte per row instead of 32. Other rows are stored as a list.
///
/// Invariants:
/// - There are either leaves or a list.
/// - Every leaf has a selected row.
package struct ResultSet: Sendable {
    /// Rows of one leaf, in the order of their keys.
    struct Leaf {
        /// The position of the leaf's first selected row in the result set.
        var start = 0
        var entityIndex: Int32 = -1
        /// The key of the leaf's first row, selected or not.
        var firstKey: UInt64 = 0
        /// The location of the leaf's first row.
        var location = RowLocation()
        /// The position of the leaf's bitmap in `words`, and its length.
        var wordsStart = 0
        var wordCount = 0
        /// The position of the leaf's keys in `keys`; nil when the keys are consecutive, so that the bitmap determines them.
        var keysStart: Int?
    }

    private(set) var leaves: [Leaf] = []
    private var words: [UInt64] = []
    /// The keys of the list, or those of the leaves that list their keys.
    private(set) var keys: [UInt64] = []
    /// The entity of the listed rows, if there is only one.
    private(set) var listedEntity: Int32 = -1
    /// The entity of each listed row; empty if there is only one.
    private(set) var listedEntities: [Int32] = []
    /// The hints of the listed rows; either for all rows or for none.
    var hints: [RowHint] = []
    /// Rows at the beginning that are not part of the result set.
    private(set) var skipped = 0
    package private(set) var count = 0

    package init() {}

    /// Makes a list of rows, with hints for all of them or for none.
    init(_ references: [ObjectReference], _ hints: [RowHint] = []) {
        precondition(hints.isEmpty || hints.count == references.count, "Either all rows have hints or none.")
        keys.reserveCapacity(references.count)
        for reference in references { list(reference) }
        self.hints = hints
    }

    /// Makes a list of rows of one entity, with hints for all of them or for none.
    init(_ keys: [UInt64], of entityIndex: Int32, _ hints: [RowHint] = []) {
        precondition(hints.isEmpty || hints.count == keys.count, "Either all rows have hints or none.")
        self.keys = keys
        listedEntity = entityIndex
        self.hints = hints
        count = keys.count
    }

    // MARK: Adding rows

    /// Adds the selected rows of a leaf.
    mutating func append(_ selection: Selection, of leaf: LeafView, entityIndex: Int32) {
        let chosen = selection.selectedCount
        guard chosen > 0 else { return }
        let firstKey = leaf.key(0)
        var added = Leaf(
            start: count, entityIndex: entityIndex, firstKey: firstKey, location: leaf.location(0), wordsStart: words.count,
            wordCount: selection.words.count)
        words.append(contentsOf: selection.words)
        if leaf.key(leaf.count - 1) - firstKey != UInt64(leaf.count - 1) {
            added.keysStart = keys.count
            _ = selection.forEach { slot in
                keys.append(leaf.key(slot))
                return true
            }
        }
        leaves.append(added)
        count += chosen
    }

    /// Adds one row.
    mutating func append(_ reference: ObjectReference, _ hint: RowHint?) {
        list(reference)
        if let hint { hints.append(hint) }
    }

    private mutating func list(_ reference: ObjectReference) {
        if keys.isEmpty { listedEntity = reference.entityIndex }
        if reference.entityIndex != listedEntity, listedEntities.isEmpty {
            listedEntities = [Int32](repeating: listedEntity, count: keys.count)
        }
        keys.append(reference.key)
        if !listedEntities.isEmpty { listedEntities.append(reference.entityIndex) }
        count += 1
    }

    /// Adds rows of one entity without hints.
    mutating func append(_ keys: [UInt64], _ entityIndex: Int32) {
        if self.keys.isEmpty {
            self = ResultSet(keys, of: entityIndex)
        } else {
            for key in keys { list(ObjectReference(entityIndex: entityIndex, key: key)) }
        }
    }

    /// Appends another result set of the same form.
    mutating func append(_ other: ResultSet) {
        for leaf in other.leaves {
            var moved = leaf
            moved.start += count
            moved.wordsStart += words.count
            if let keysStart = leaf.keysStart { moved.keysStart = keysStart + keys.count }
            leaves.append(moved)
        }
        words += other.words
        hints += other.hints
        if leaves.isEmpty {
            for position in other.keys.indices { list(other.reference(position)) }
        } else {
            keys += other.keys
            count += other.count
        }
    }

    /// Removes the hints if some rows have none.
    mutating func dropPartialHints() {
        if leaves.isEmpty, hints.count != keys.count { hints = [] }
    }

    /// Removes the rows outside a range.
    package mutating func keep(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "The range must lie within the result set.")
        skipped += range.lowerBound
        count = range.count
    }

    /// Adds the slot of a store in a stack to the keys of the rows.
    mutating func move(to slot: StoreSlot) {
        for index in leaves.indices { leaves[index].firstKey |= slot.bits }
        for index in keys.indices { keys[index] |= slot.bits }
    }

    /// Sorts the rows by key, because rows of several tables arrive table by table.
    mutating func sortByKey() {
        if isAscending { return }
        let rows = sorted { $0.reference.key < $1.reference.key }
        let isSeen = !leaves.isEmpty || !hints.isEmpty
        self = ResultSet(rows.map(\.reference), isSeen ? rows.map(\.hint) : [])
    }

    private var isAscending: Bool {
        // The leaves of one table are already in order.
        if let first = leaves.first { return leaves.allSatisfy { $0.entityIndex == first.entityIndex } }
        return zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }
    }
}

extension ResultSet: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    /// O(1) for listed rows, else O(log n).
    package subscript(position: Int) -> ResultRow {
        precondition(position >= 0 && position < count, "Position \(position) is outside the \(count) rows.")
        let position = position + skipped
        if leaves.isEmpty { return listed(position) }
        let leaf = leaves[leafNumber(at: position)]
        let (word, rest) = place(of: position, in: leaf)
        return row(word * 64 + rest.trailingZeroBitCount, position - leaf.start, of: leaf)
    }

    package func makeIterator() -> ResultSetIterator { ResultSetIterator(self) }

    /// The leaf with the row at a position.
    func leafNumber(at position: Int) -> Int {
        var low = 0
        var high = leaves.count
        while low < high {
            let middle = (low + high) / 2
            if leaves[middle].start <= position { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// The word of a leaf that contains a row, and the bits of the word from this row on.
    func place(of position: Int, in leaf: Leaf) -> (word: Int, rest: UInt64) {
        var passed = position - leaf.start
        var word = 0
        var rest = bits(word, of: leaf)
        while passed >= rest.nonzeroBitCount {
            passed -= rest.nonzeroBitCount
            word += 1
            rest = bits(word, of: leaf)
        }
        for _ in 0 ..< passed { rest &= rest - 1 }
        return (word, rest)
    }

    func bits(_ word: Int, of leaf: Leaf) -> UInt64 { words[leaf.wordsStart + word] }

    func listed(_ position: Int) -> ResultRow {
        ResultRow(reference: reference(position), hint: hints.isEmpty ? RowHint() : hints[position])
    }

    /// A row of the list.
    func reference(_ position: Int) -> ObjectReference {
        ObjectReference(entityIndex: listedEntities.isEmpty ? listedEntity : listedEntities[position], key: keys[position])
    }

    @inline(__always)
    func row(_ slot: Int, _ number: Int, of leaf: Leaf) -> ResultRow {
        let key = if let keysStart = leaf.keysStart { keys[keysStart + number] } else { leaf.firstKey &+ UInt64(slot) }
        return ResultRow(
            reference: ObjectReference(entityIndex: leaf.entityIndex, key: key), hint: RowHint(leaf.location.neighbour(slot)))
    }
}

extension ResultSet {
    /// Prefetches two cache lines that the caller reads next.
    package static func prefetchLines(_ first: UnsafeRawPointer, _ second: UnsafeRawPointer) { unsafe CacheLine.prefetch(first, second) }
}
