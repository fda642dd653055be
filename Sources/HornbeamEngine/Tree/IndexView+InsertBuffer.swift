// Reads an index together with its insert buffer, as if all entries were in one tree.

extension IndexView {
    /// The entry with the index `n` in the order of all keys. O(log² n).
    func entry(at n: Int, mergedWith buffer: IndexView) throws(EngineError) -> (key: [UInt8], value: [UInt8])? {
        guard n >= 0, n < count else { return nil }
        // The number of buffered entries before this one.
        var low = 0
        var high = buffer.count
        while low < high {
            let middle = (low + high) / 2
            guard let candidate = try buffer.entry(at: middle) else { throw TreeRoot.disorder }
            let place = try middle + ownRank(of: candidate.key)
            if place == n { return candidate }
            if place < n { low = middle + 1 } else { high = middle }
        }
        return try ownEntry(at: n - low)
    }

    /// Visits a range leaf by leaf; a buffered entry is visited by itself, in its place. Returns false if a visit did.
    ///
    /// O(log n) for each buffered entry in the range.
    func walk(
        _ range: KeyRange, _ reversed: Bool, mergedWith buffer: IndexView, _ visit: (SlottedNode, Range<Int>) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        var rest = range
        // Few at first, since most walks are short.
        var most = 4
        while true {
            let keys = try buffer.firstKeys(in: rest, reversed, most: most)
            for key in keys {
                let part = reversed ? KeyRange(from: key, to: rest.upper) : KeyRange(from: rest.lower, to: key)
                let next = key + [0]
                guard try walkOwn(part, reversed, visit), try buffer.walkOwn(KeyRange(from: key, to: next), reversed, visit) else { return false }
                rest = reversed ? KeyRange(from: rest.lower, to: key) : KeyRange(from: next, to: rest.upper)
            }
            if keys.count < most { return try walkOwn(rest, reversed, visit) }
            most = min(2 * most, 256)
        }
    }

    /// The first (or last) keys in a range.
    private func firstKeys(in range: KeyRange, _ reversed: Bool, most: Int) throws(EngineError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        _ = try walkOwn(range, reversed) { leaf, entries throws(EngineError) in
            for n in 0..<min(entries.count, most - keys.count) {
                keys.append(leaf.key(reversed ? entries.upperBound - 1 - n : entries.lowerBound + n))
            }
            return keys.count < most
        }
        return keys
    }
}
