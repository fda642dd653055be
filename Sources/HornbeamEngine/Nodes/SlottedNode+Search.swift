// Searches the keys of a node: a few comparisons of heads, then of tails for keys with equal heads.

extension SlottedNode {
    /// The index of the first entry from `start` on whose key is not below `key`, and whether both keys are equal.
    func lowerBound(_ key: Bytes, from start: Int = 0) -> (index: Int, found: Bool) {
        let prefixLength = page.prefixLength
        var rest = key
        if prefixLength > 0 {
            let order = key.prefix(min(prefixLength, key.count)).compare(prefix)
            if order != 0 { return (order < 0 ? start : count, false) }
            rest = key.dropFirst(prefixLength)
        }
        return lowerBound(head: rest.head, rest: rest, from: start)
    }

    @inline(__always)
    private func lowerBound(head wanted: UInt64, rest: Bytes, from start: Int) -> (index: Int, found: Bool) {
        let low = headsBelow(wanted, from: start)
        guard low < count, head(low) == wanted else { return (low, false) }
        if low + 1 < count, head(low + 1) == wanted { return boundAmongEqualHeads(from: low, wanted, rest) }
        let order = compareTail(low, rest)
        return order < 0 ? (low + 1, false) : (low, order == 0)
    }

    /// The number of heads at which a binary search changes to a linear comparison. The loads of a linear comparison overlap; in a binary
    /// search, each load waits for the preceding one.
    private static let headsAtOnce = 128

    /// The index of the first head from `start` on that is not below `wanted`.
    @inline(__always)
    private func headsBelow(_ wanted: UInt64, from start: Int) -> Int {
        var low = start
        var length = count - start
        while length > SlottedNode.headsAtOnce {
            let half = length >> 1
            let isBelow = Int(truncatingIfNeeded: SlottedNode.isBelow(head(low &+ half), wanted))
            low &+= (half &+ 1) & (0 &- isBelow)
            length = half &- (isBelow & (length & 1 ^ 1))
        }
        // Compares the last head of each run of eight, then the heads of one run.
        var runs: UInt64 = 0
        for run in 0..<length >> 3 { runs &+= SlottedNode.isBelow(head(low &+ 8 &* run &+ 7), wanted) }
        let start = low &+ 8 &* Int(truncatingIfNeeded: runs)
        let end = min(start &+ 8, low &+ length)
        var below: UInt64 = 0
        for i in start..<end { below &+= SlottedNode.isBelow(head(i), wanted) }
        return start &+ Int(truncatingIfNeeded: below)
    }

    /// 1 if a < b, else 0: the borrow of a − b. For `a < b` the compiler would emit a branch, which the processor would mispredict half of the
    /// time.
    @inline(__always)
    private static func isBelow(_ a: UInt64, _ b: UInt64) -> UInt64 { ((~a & b) | (~(a ^ b) & (a &- b))) >> 63 }

    private func boundAmongEqualHeads(from start: Int, _ wanted: UInt64, _ rest: Bytes) -> (index: Int, found: Bool) {
        var low = start
        var high = start
        var length = count - start
        while length > 0 {
            let half = length >> 1
            let isAtMost = head(high + half) <= wanted
            high = isAtMost ? high + half + 1 : high
            length = isAtMost ? length - half - 1 : half
        }
        while low < high {
            let middle = (low + high) >> 1
            let order = compareTail(middle, rest)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    /// Compares entry `i` with a key that has the same head.
    @inline(__always)
    private func compareTail(_ i: Int, _ rest: Bytes) -> Int {
        let length = restLength(i)
        guard length > 8, rest.count > 8 else { return length - rest.count }
        guard length == 16, rest.count == 16 else { return tail(i).compare(rest.dropFirst(8)) }
        let own = UInt64(bigEndian: page.load(cell(i)))
        let other = UInt64(bigEndian: rest.load(8))
        return own < other ? -1 : own > other ? 1 : 0
    }

    /// True if a key that shares the node's prefix is above all keys of the node, which has at least one.
    func isBelow(_ key: Bytes) -> Bool {
        guard sharesPrefix(key) else { return false }
        let rest = key.dropFirst(page.prefixLength)
        let (last, wanted) = (head(count - 1), rest.head)
        return last < wanted || (last == wanted && compareTail(count - 1, rest) < 0)
    }

    /// True if key `i` begins with the given bytes.
    func key(_ i: Int, startsWith start: Bytes) -> Bool {
        let prefixLength = page.prefixLength
        if start.count <= prefixLength { return start.compare(prefix.prefix(start.count)) == 0 }
        guard sharesPrefix(start) else { return false }
        let rest = start.dropFirst(prefixLength)
        guard restLength(i) >= rest.count, (head(i) ^ rest.head) >> UInt64(64 - 8 * min(rest.count, 8)) == 0 else { return false }
        return rest.count <= 8 || tail(i).prefix(rest.count - 8).compare(rest.dropFirst(8)) == 0
    }

    /// The index after the last entry, from `first` on, whose key begins with the given bytes, or after `most` of them. Entry `first` is the first one
    /// that is not below these bytes.
    func endOfKeys(startingWith start: Bytes, from first: Int, most: Int) -> Int {
        let last = count - first > most ? first + most : count
        var end = first
        let rest = start.count - page.prefixLength
        if rest <= 0 { return start.compare(prefix.prefix(start.count)) == 0 ? last : first }
        guard rest <= 8, sharesPrefix(start) else {
            while end < last, key(end, startsWith: start) { end += 1 }
            return end
        }
        let wanted = start.dropFirst(page.prefixLength).head
        let shift = UInt64(64 - 8 * rest)
        while end < last, (head(end) ^ wanted) >> shift == 0, restLength(end) >= rest { end += 1 }
        return end
    }

    /// The index of the link in an inner node under which `key` belongs.
    func childIndex(for key: Bytes) -> Int {
        let (index, found) = lowerBound(key, from: 1)
        return found ? index : index - 1
    }

    /// The index of the link in an inner node under which an eight-byte key belongs. `wanted` is the key as a big-endian number.
    @inline(__always)
    func childIndex(forHead wanted: UInt64) -> Int {
        if let predicted = predictedIndex(forHead: wanted) { return predicted }
        return (wanted == .max ? count : headsBelow(wanted + 1, from: 1)) - 1
    }

    /// The index for a key, by interpolation: heads above consecutive keys are evenly spaced. Nil if the right index is neither the predicted
    /// one nor next to it. Reads a few heads only.
    @inline(__always)
    private func predictedIndex(forHead wanted: UInt64) -> Int? {
        let last = count - 1
        guard last > 8 else { return nil }
        let low = head(1)
        let high = head(last)
        guard wanted >= low, wanted < high else { return nil }
        let (product, isTooLarge) = (wanted &- low).multipliedReportingOverflow(by: UInt64(last - 1))
        guard !isTooLarge else { return nil }
        let predicted = 1 + Int(truncatingIfNeeded: product / (high &- low))
        if head(predicted) > wanted { return predicted > 1 && head(predicted - 1) <= wanted ? predicted - 1 : nil }
        if head(predicted + 1) > wanted { return predicted }
        return predicted + 2 <= last && head(predicted + 2) > wanted ? predicted + 1 : nil
    }

    /// Whether a key begins with the prefix of this node's keys.
    func sharesPrefix(_ key: Bytes) -> Bool {
        let length = page.prefixLength
        return length == 0 || (key.count >= length && key.prefix(length).compare(prefix) == 0)
    }
}
