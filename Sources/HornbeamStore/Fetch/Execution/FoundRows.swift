internal import HornbeamEngine

/// One row that a fetch found: the object, and where its row was seen.
package struct FoundRow: Sendable {
    package let reference: ObjectReference
    /// Knows nothing where the row was not read.
    package let hint: RowHint
}

/// The rows that a fetch found, in its order.
///
/// What a scan finds is kept leaf by leaf, as a bit for each row: less than a byte a row where one by one it would be 32. Rows that
/// come otherwise are listed. What holds: there are either leaves or a list; every leaf has a row.
package struct FoundRows: Sendable {
    /// Rows of one leaf, in the order of their keys.
    struct Leaf {
        /// Where its rows begin among all.
        var start = 0
        var entityIndex: Int32 = -1
        /// The key of the leaf's first row, found or not.
        var firstKey: UInt64 = 0
        /// Where the leaf's first row is.
        var location = RowLocation()
        /// Where its bits begin, and how many words they are.
        var wordsStart = 0
        var wordCount = 0
        /// Where the keys of its rows begin; nil where keys are consecutive, and follow from the bits.
        var keysStart: Int?
    }

    private(set) var leaves: [Leaf] = []
    private var words: [UInt64] = []
    private var sparseKeys: [UInt64] = []
    private var references: [ObjectReference] = []
    /// Where the listed rows were seen; as many, or none.
    private var hints: [RowHint] = []
    /// Rows at the beginning that do not count.
    fileprivate var skipped = 0
    package private(set) var count = 0

    package init() {}

    /// Rows one by one; where they were seen of all or of none.
    init(_ references: [ObjectReference], _ hints: [RowHint] = []) {
        precondition(hints.isEmpty || hints.count == references.count, "Of all found rows or of none it is known where they are.")
        self.references = references
        self.hints = hints
        count = references.count
    }

    // MARK: Taking rows

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
            added.keysStart = sparseKeys.count
            _ = selection.forEach { slot in
                sparseKeys.append(leaf.key(slot))
                return true
            }
        }
        leaves.append(added)
        count += chosen
    }

    /// Adds one row.
    mutating func append(_ reference: ObjectReference, _ hint: RowHint?) {
        references.append(reference)
        if let hint { hints.append(hint) }
        count += 1
    }

    /// Adds what was found behind these rows, in the same way.
    mutating func append(_ other: FoundRows) {
        for leaf in other.leaves {
            var moved = leaf
            moved.start += count
            moved.wordsStart += words.count
            if let keysStart = leaf.keysStart { moved.keysStart = keysStart + sparseKeys.count }
            leaves.append(moved)
        }
        words += other.words
        sparseKeys += other.sparseKeys
        references += other.references
        hints += other.hints
        count += other.count
    }

    /// Forgets where rows were seen if that is not known of all.
    mutating func dropPartialHints() {
        if hints.count != references.count { hints = [] }
    }

    /// Keeps some of the rows.
    mutating func keep(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "Only rows that were found can be kept.")
        skipped += range.lowerBound
        count = range.count
    }

    /// Says that the rows are those of a store in a stack.
    mutating func move(to slot: StoreSlot) {
        for index in leaves.indices { leaves[index].firstKey |= slot.bits }
        for index in sparseKeys.indices { sparseKeys[index] |= slot.bits }
        for index in references.indices { references[index] = references[index].inSlot(slot) }
    }

    /// Puts the rows in the order of their keys, which those of several tables are not in.
    mutating func sortByKey() {
        if isAscending { return }
        let rows = sorted { $0.reference.key < $1.reference.key }
        let isSeen = !leaves.isEmpty || !hints.isEmpty
        self = FoundRows(rows.map(\.reference), isSeen ? rows.map(\.hint) : [])
    }

    private var isAscending: Bool {
        // Leaves of one table come in their order.
        if let first = leaves.first { return leaves.allSatisfy { $0.entityIndex == first.entityIndex } }
        return zip(references, references.dropFirst()).allSatisfy { $0.key < $1.key }
    }
}

extension FoundRows: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    /// O(1) for listed rows, else O(log n).
    package subscript(position: Int) -> FoundRow {
        precondition(position >= 0 && position < count, "There are \(count) rows, and none at \(position).")
        let position = position + skipped
        if leaves.isEmpty { return listed(position) }
        let leaf = leaves[leafNumber(at: position)]
        let (word, rest) = place(of: position, in: leaf)
        return row(word * 64 + rest.trailingZeroBitCount, position - leaf.start, of: leaf)
    }

    package func makeIterator() -> FoundRowCursor { FoundRowCursor(self) }

    /// The leaf in which the n-th of all rows is.
    fileprivate func leafNumber(at position: Int) -> Int {
        var low = 0
        var high = leaves.count
        while low < high {
            let middle = (low + high) / 2
            if leaves[middle].start <= position { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// The word of a leaf in which a row is, and the word's bits from this row on.
    fileprivate func place(of position: Int, in leaf: Leaf) -> (word: Int, rest: UInt64) {
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

    fileprivate func bits(_ word: Int, of leaf: Leaf) -> UInt64 { words[leaf.wordsStart + word] }

    fileprivate func listed(_ position: Int) -> FoundRow {
        FoundRow(reference: references[position], hint: hints.isEmpty ? RowHint() : hints[position])
    }

    @inline(__always)
    fileprivate func row(_ slot: Int, _ number: Int, of leaf: Leaf) -> FoundRow {
        let key = if let keysStart = leaf.keysStart { sparseKeys[keysStart + number] } else { leaf.firstKey &+ UInt64(slot) }
        return FoundRow(
            reference: ObjectReference(entityIndex: leaf.entityIndex, key: key), hint: RowHint(leaf.location.neighbour(slot)))
    }
}

/// A place among found rows that moves on.
package struct FoundRowCursor: IteratorProtocol {
    private let rows: FoundRows
    /// The next row among all, and where the rows end.
    private var position: Int
    private let end: Int
    /// The leaf that the next row is in, or follows; its number is -1 for listed rows.
    private var leafNumber = -1
    private var leaf = FoundRows.Leaf()
    private var word = 0
    /// The bits of the word that are still to come.
    private var rest: UInt64 = 0

    fileprivate init(_ rows: FoundRows) {
        self.rows = rows
        position = rows.skipped
        end = rows.skipped + rows.count
        guard position < end, !rows.leaves.isEmpty else { return }
        enter(rows.leafNumber(at: position))
        (word, rest) = rows.place(of: position, in: leaf)
    }

    private mutating func enter(_ number: Int) {
        leafNumber = number
        leaf = rows.leaves[number]
        word = 0
        rest = rows.bits(0, of: leaf)
    }

    private mutating func enterNextWord() {
        word += 1
        if word == leaf.wordCount { return enter(leafNumber + 1) }
        rest = rows.bits(word, of: leaf)
    }

    package mutating func next() -> FoundRow? { position < end ? take() : nil }

    /// Fills a buffer with the next rows; gives back how many there were.
    package mutating func fill(_ buffer: UnsafeMutableBufferPointer<FoundRow>) -> Int {
        let count = min(buffer.count, end - position)
        guard count > 0, let first = buffer.baseAddress else { return 0 }
        var filled = 0
        while filled < count {
            if leafNumber >= 0, leaf.keysStart == nil {
                filled += takeNeighbours(first + filled, count - filled)
            } else {
                (first + filled).initialize(to: take())
                filled += 1
            }
        }
        return count
    }

    /// Takes rows of one word of a leaf of consecutive keys, at least one.
    @inline(__always)
    private mutating func takeNeighbours(_ rows: UnsafeMutablePointer<FoundRow>, _ most: Int) -> Int {
        while rest == 0 {
            enterNextWord()
            if leaf.keysStart != nil { return 0 }
        }
        let (entityIndex, firstKey, location) = (leaf.entityIndex, leaf.firstKey, leaf.location)
        let start = word * 64
        var bits = rest
        var taken = 0
        while bits != 0, taken < most {
            let slot = start + bits.trailingZeroBitCount
            bits &= bits &- 1
            let reference = ObjectReference(entityIndex: entityIndex, key: firstKey &+ UInt64(truncatingIfNeeded: slot))
            (rows + taken).initialize(to: FoundRow(reference: reference, hint: RowHint(location.neighbour(slot))))
            taken += 1
        }
        rest = bits
        position += taken
        return taken
    }

    /// The next row, of which it is known that there is one.
    @inline(__always)
    private mutating func take() -> FoundRow {
        defer { position += 1 }
        guard leafNumber >= 0 else { return rows.listed(position) }
        while rest == 0 { enterNextWord() }
        let slot = word * 64 + rest.trailingZeroBitCount
        rest &= rest - 1
        return rows.row(slot, position - leaf.start, of: leaf)
    }
}

extension FoundRows {
    /// Has two lines of the cache fetched that whoever takes the rows will read soon.
    package static func fetchLines(_ first: UnsafeRawPointer, _ second: UnsafeRawPointer) { CacheLine.fetch(first, second) }
}
