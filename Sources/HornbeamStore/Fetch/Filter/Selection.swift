/// Which rows of a leaf are still in: one bit a row, 64 rows a word.
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

    /// Starts anew with all rows of a leaf, in the same memory.
    mutating func reset(all count: Int) {
        self.count = count
        words.removeAll(keepingCapacity: true)
        words.append(contentsOf: repeatElement(.max, count: (count + 63) / 64))
        trim()
    }

    /// Bits beyond the last row are always 0.
    private mutating func trim() {
        let rest = count % 64
        if rest != 0 { words[words.count - 1] &= (1 << UInt64(rest)) - 1 }
    }

    var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    /// How many rows are in.
    var selectedCount: Int {
        var total = 0
        for word in words { total += word.nonzeroBitCount }
        return total
    }

    func contains(_ slot: Int) -> Bool { words[slot / 64] >> UInt64(slot % 64) & 1 == 1 }

    mutating func insert(_ slot: Int) { words[slot / 64] |= 1 << UInt64(slot % 64) }

    mutating func formIntersection(_ other: Selection) {
        for word in words.indices { words[word] &= other.words[word] }
    }

    mutating func formUnion(_ other: Selection) {
        for word in words.indices { words[word] |= other.words[word] }
    }

    mutating func subtract(_ other: Selection) {
        for word in words.indices { words[word] &= ~other.words[word] }
    }

    /// Keeps the rows for which `keep` answers true; asks only about those that are in.
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

    /// Calls `body` with each row that is in, ascending, until it answers false. Answers false when it was stopped.
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
