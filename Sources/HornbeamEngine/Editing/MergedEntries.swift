// Builds leaves from the entries of another leaf and new ones.

/// The entries of a leaf and new ones, in the order of their keys, for one or two leaves that replace it.
struct MergedEntries {
    let leaf: SlottedNode
    let entries: Range<Int>
    let entry: (Int) -> (key: Bytes, value: Bytes)
    /// For each new entry, the number of entries of the leaf before it.
    private var places: [Int] = []

    /// Nil if two keys are equal. The keys of the new entries, of which there is at least one, ascend.
    init?(_ leaf: SlottedNode, _ entries: Range<Int>, _ entry: @escaping (Int) -> (key: Bytes, value: Bytes)) {
        self.leaf = leaf
        self.entries = entries
        self.entry = entry
        places.reserveCapacity(entries.count)
        var place = 0
        var last = Bytes.none
        for n in entries {
            let key = entry(n).key
            let (index, isFound) = leaf.lowerBound(key, from: place)
            if isFound || (n > entries.lowerBound && key.compare(last) == 0) { return nil }
            places.append(index)
            (place, last) = (index, key)
        }
    }

    /// A part of the entries: some of the leaf, and some new ones between them.
    struct Part {
        var old: Range<Int>
        var new: Range<Int>
    }

    var all: Part { Part(old: 0..<leaf.count, new: entries) }

    private func place(_ n: Int) -> Int { places[n - entries.lowerBound] }

    /// The size of a new entry in a leaf with a prefix of this length.
    private func bytes(_ n: Int, prefix: Int) -> Int {
        let (key, value) = entry(n)
        return leaf.entrySize + max(key.count - prefix - 8, 0) + value.count
    }

    /// The two parts between which a leaf is divided, of about the same size. None is empty.
    var halves: (Part, Part) {
        let prefix = leaf.page.prefixLength
        let goal = (leaf.usedBytes - Page.headerSize - prefix + entries.reduce(0) { $0 + bytes($1, prefix: prefix) }) / 2
        var sum = 0
        var (old, new) = (0, entries.lowerBound)
        // The last entry belongs to the second part, however large it is.
        var left = leaf.count + entries.count - 1
        while left > 0, sum < goal {
            if new < entries.upperBound, place(new) == old {
                sum += bytes(new, prefix: prefix)
                new += 1
            } else {
                sum += leaf.bytes(of: old)
                old += 1
            }
            left -= 1
        }
        return (Part(old: 0..<old, new: entries.lowerBound..<new), Part(old: old..<leaf.count, new: new..<entries.upperBound))
    }

    /// The first or the last key of a part.
    private func key(_ part: Part, isFirst: Bool) -> [UInt8] {
        if part.new.isEmpty { return leaf.key(isFirst ? part.old.lowerBound : part.old.upperBound - 1) }
        let n = isFirst ? part.new.lowerBound : part.new.upperBound - 1
        let isNew = part.old.isEmpty || (isFirst ? place(n) <= part.old.lowerBound : place(n) >= part.old.upperBound)
        return isNew ? entry(n).key.array : leaf.key(isFirst ? part.old.lowerBound : part.old.upperBound - 1)
    }

    /// Builds a leaf from a part. Nil if it does not fit in a page.
    ///
    /// - Parameter prefixMax: The prefix that the keys share is not longer than this.
    func build(_ part: Part, prefixMax: Int = .max, into page: Page, limit: Int) -> SlottedNode? {
        let (first, last) = (key(part, isFirst: true), key(part, isFirst: false))
        let shared = first.withBorrowedBytes { a in last.withBorrowedBytes { a.commonPrefix($0) } }
        let prefixLength = min(shared, prefixMax)
        let isWhole = part.old.count == leaf.count && prefixLength == leaf.page.prefixLength
        var used = isWhole ? leaf.usedBytes : SlottedNode.measure(leaf, part.old, prefix: prefixLength)
        for n in part.new { used += bytes(n, prefix: prefixLength) }
        guard used <= limit else { return nil }
        let count = part.old.count + part.new.count
        let average = max((used - Page.headerSize) / count, leaf.entrySize)
        let target = first.withBorrowedBytes {
            SlottedNode.create(
                in: page, inner: false, level: 0, capacity: count + (limit - used) / average, limit: limit, prefix: $0.prefix(prefixLength))
        }
        var old = part.old.lowerBound
        for n in part.new {
            target.append(old..<place(n), of: leaf)
            let (key, value) = entry(n)
            let isDone = target.insert(at: target.count, key: key, value: value)
            precondition(isDone, "A leaf has room for the entries that were measured.")
            old = place(n)
        }
        target.append(old..<part.old.upperBound, of: leaf)
        return target
    }
}
