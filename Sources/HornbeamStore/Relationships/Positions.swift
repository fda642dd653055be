/// The longest ascending subsequence of numbers.
enum LongestAscendingSubsequence {
    /// The indexes of a longest strictly ascending subsequence. O(n log n).
    static func ascending(_ numbers: [UInt64]) -> Set<Int> {
        var tails: [Int] = []
        var previous = [Int](repeating: -1, count: numbers.count)
        for (index, number) in numbers.enumerated() {
            var low = 0
            var high = tails.count
            while low < high {
                let middle = (low + high) / 2
                if numbers[tails[middle]] < number { low = middle + 1 } else { high = middle }
            }
            previous[index] = low > 0 ? tails[low - 1] : -1
            if low == tails.count { tails.append(index) } else { tails[low] = index }
        }
        var run: Set<Int> = []
        var index = tails.last ?? -1
        while index >= 0 {
            run.insert(index)
            index = previous[index]
        }
        return run
    }
}

/// Computes positions for moved members between members whose positions do not change.
enum GapPlan {
    /// Returns the new positions of the indexes outside `unmoved`; nil when a gap is too small.
    ///
    /// `positions` are the current positions in the new order. Those of the indexes in `unmoved` ascend.
    static func moves(_ positions: [UInt64], keeping unmoved: Set<Int>, gap: UInt64) -> [(index: Int, position: UInt64)]? {
        var moves: [(index: Int, position: UInt64)] = []
        var start = 0
        while start < positions.count {
            guard !unmoved.contains(start) else {
                start += 1
                continue
            }
            var end = start
            while end < positions.count, !unmoved.contains(end) { end += 1 }
            let low = start > 0 ? positions[start - 1] : nil
            let high = end < positions.count ? positions[end] : nil
            guard let places = places(end - start, after: low, before: high, gap: gap) else { return nil }
            for (offset, place) in places.enumerated() { moves.append((start + offset, place)) }
            start = end
        }
        return moves
    }

    private static func places(_ count: Int, after low: UInt64?, before high: UInt64?, gap: UInt64) -> [UInt64]? {
        let count64 = UInt64(count)
        switch (low, high) {
        case (let low?, let high?):
            let step = (high - low) / (count64 + 1)
            return step == 0 ? nil : (1 ... count64).map { low + $0 * step }
        case (let low?, nil):
            // Members that the new order does not contain may have equal positions. Order keys with equal positions sort by member.
            return low > UInt64.max / 2 ? nil : (1 ... count64).map { low + $0 * gap }
        case (nil, let high?):
            guard high > count64 * gap else { return nil }
            return (1 ... count64).map { high - (count64 - $0 + 1) * gap }
        case (nil, nil): return nil
        }
    }
}
