/// The selected rows of a leaf: one bit per row, 64 rows per word.
struct Selection {
    private(set) var count: Int
    var words: [UInt64]

    /// All rows.
    init(all count: Int) {
        self.count = count
        words = [UInt64](repeating: .max, count: (count + 63) / 64)
        trim()
    }

    /// No row.
    init(none count: Int) {
        self.count = count
        words = [UInt64](repeating: 0, count: (count + 63) / 64)
    }

    /// Selects all rows of another leaf, in the same memory.
    mutating func reset(all count: Int) {
        self.count = count
        words.removeAll(keepingCapacity: true)
        words.append(contentsOf: repeatElement(.max, count: (count + 63) / 64))
        trim()
    }

    /// Clears the bits after the last row, so that they are always 0.
    private mutating func trim() {
        let rest = count % 64
        if rest != 0 { words[words.count - 1] &= (1 << UInt64(rest)) - 1 }
    }

    var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    /// The number of selected rows.
    var selectedCount: Int {
        var total = 0
        for word in words { total += word.nonzeroBitCount }
        return total
    }

    func contains(_ slot: Int) -> Bool { words[slot / 64] >> UInt64(slot % 64) & 1 == 1 }

    mutating func insert(_ slot: Int) { words[slot / 64] |= 1 << UInt64(slot % 64) }

    mutating func formUnion(_ other: Selection) {
        for word in words.indices { words[word] |= other.words[word] }
    }

    mutating func subtract(_ other: Selection) {
        for word in words.indices { words[word] &= ~other.words[word] }
    }

    /// Deselects the rows for which `keep` returns false. Calls `keep` for selected rows only.
    mutating func filter<E: Error>(_ keep: (Int) throws(E) -> Bool) throws(E) {
        for word in words.indices {
            var rest = words[word]
            while rest != 0 {
                let bit = rest.trailingZeroBitCount
                rest &= rest - 1
                if try !keep(word * 64 + bit) { words[word] &= ~(1 << UInt64(bit)) }
            }
        }
    }

    /// Calls `body` with each selected row, ascending, until it returns false. Returns false when `body` stopped it.
    func forEach<E: Error>(_ body: (Int) throws(E) -> Bool) throws(E) -> Bool {
        for word in words.indices {
            var rest = words[word]
            while rest != 0 {
                let bit = rest.trailingZeroBitCount
                rest &= rest - 1
                if try !body(word * 64 + bit) { return false }
            }
        }
        return true
    }
}
