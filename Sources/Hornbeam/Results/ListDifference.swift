/// The positions at which two lists of distinct elements differ.
///
/// An element of both lists stays or moves. The elements that stay have the same order in both lists. O(n log n) for the part between the
/// first and the last difference, O(n) for the rest.
struct ListDifference {
    /// An element of both lists: its positions in the old and in the new list.
    struct Pair {
        let old: Int
        let new: Int
    }

    /// An element at a position.
    struct Place<Element: Hashable> {
        let position: Int
        let element: Element
    }

    /// Positions of removed elements in the old list, ascending.
    private(set) var deleted: [Int] = []
    /// Positions of new elements in the new list, ascending.
    private(set) var inserted: [Int] = []
    /// The elements that move, in their new order.
    private(set) var moved: [Pair] = []
    /// The marked elements that stay, in their order.
    private(set) var marked: [Pair] = []

    /// The number of differences and marked elements.
    var count: Int { deleted.count + inserted.count + moved.count + marked.count }

    /// - Parameters:
    ///   - isMarked: True for elements that move rather than others.
    ///   - mayStay: False if the element at an old and a new position must move.
    init<Element: Hashable>(
        from old: [Element], to new: [Element], isMarked: (Element) -> Bool = { _ in false }, mayStay: (_ old: Int, _ new: Int) -> Bool = { _, _ in true }
    ) {
        let bound = min(old.count, new.count)
        var start = 0
        while start < bound, old[start] == new[start], mayStay(start, start) {
            if isMarked(new[start]) { marked.append(Pair(old: start, new: start)) }
            start += 1
        }
        let shift = new.count - old.count
        var end = old.count
        while end > start, end + shift > start, old[end - 1] == new[end - 1 + shift], mayStay(end - 1, end - 1 + shift) { end -= 1 }
        compare(old, start ..< end, new, start ..< end + shift, isMarked, mayStay)
        for position in end ..< old.count where isMarked(old[position]) { marked.append(Pair(old: position, new: position + shift)) }
    }

    /// The difference of two lists in which all elements that are neither leaving nor arriving have the same order: O(k log k) for k changed elements.
    ///
    /// - Parameters:
    ///   - leaving: The places of elements in the old list, ascending.
    ///   - arriving: The places of elements in the new list, ascending. An element that leaves and arrives moves, or stays between the same neighbours.
    ///   - isMarked: True for elements that are listed in `marked` if they stay.
    init<Element: Hashable>(leaving: [Place<Element>], arriving: [Place<Element>], isMarked: (Element) -> Bool) {
        var indexes = [Element: Int](minimumCapacity: leaving.count)
        for (index, place) in leaving.enumerated() { indexes[place.element] = index }
        var common = CommonElements()
        var elements: [Element] = []
        var isCommon = [Bool](repeating: false, count: leaving.count)
        for (newIndex, place) in arriving.enumerated() {
            guard let index = indexes[place.element] else {
                inserted.append(place.position)
                continue
            }
            isCommon[index] = true
            elements.append(place.element)
            let old = leaving[index].position
            // It may stay if as many of the other elements are before it in both lists.
            common.append(Pair(old: old, new: place.position), isMarked: true, mayStay: old - index == place.position - newIndex)
        }
        for (index, place) in leaving.enumerated() where !isCommon[index] { deleted.append(place.position) }
        for (position, stays) in common.stays.enumerated() {
            let pair = common.pairs[position]
            if !stays {
                moved.append(pair)
            } else if isMarked(elements[position]) {
                marked.append(pair)
            }
        }
    }

    private mutating func compare<Element: Hashable>(
        _ old: [Element], _ oldRange: Range<Int>, _ new: [Element], _ newRange: Range<Int>, _ isMarked: (Element) -> Bool,
        _ mayStay: (_ old: Int, _ new: Int) -> Bool
    ) {
        var positions = [Element: Int](minimumCapacity: oldRange.count)
        for position in oldRange { positions[old[position]] = position }
        var common = CommonElements()
        var isCommon = [Bool](repeating: false, count: oldRange.count)
        for position in newRange {
            guard let before = positions[new[position]] else {
                inserted.append(position)
                continue
            }
            isCommon[before - oldRange.lowerBound] = true
            common.append(Pair(old: before, new: position), isMarked: isMarked(new[position]), mayStay: mayStay(before, position))
        }
        deleted = oldRange.filter { !isCommon[$0 - oldRange.lowerBound] }
        let stays = common.stays
        for (position, pair) in common.pairs.enumerated() {
            if !stays[position] {
                moved.append(pair)
            } else if common.isMarked[position] {
                marked.append(pair)
            }
        }
    }
}

/// The elements of both lists, in their new order.
private struct CommonElements {
    private(set) var pairs: [ListDifference.Pair] = []
    private(set) var isMarked: [Bool] = []
    private var mayStay: [Bool] = []

    mutating func append(_ pair: ListDifference.Pair, isMarked: Bool, mayStay: Bool) {
        pairs.append(pair)
        self.isMarked.append(isMarked)
        self.mayStay.append(mayStay)
    }

    /// For each pair, whether it stays: as many unmarked elements as possible, then as many marked ones as fit between them.
    var stays: [Bool] {
        var stays = [Bool](repeating: false, count: pairs.count)
        let firm = longestAscending(pairs.indices.filter { !isMarked[$0] && mayStay[$0] })
        for position in firm { stays[position] = true }
        var passed = 0
        let fitting = pairs.indices.filter { position in
            if stays[position] { passed += 1 }
            guard isMarked[position], mayStay[position] else { return false }
            let followsLast = passed == 0 || pairs[firm[passed - 1]].old < pairs[position].old
            return followsLast && (passed == firm.count || pairs[position].old < pairs[firm[passed]].old)
        }
        for position in longestAscending(fitting) { stays[position] = true }
        return stays
    }

    /// A longest part of some positions whose old positions ascend. O(n log n), and O(n) if all of them ascend.
    private func longestAscending(_ positions: [Int]) -> [Int] {
        // For each length, the last position of the part that ends with the least old position.
        var lasts: [Int] = []
        var previous = [Int](repeating: -1, count: pairs.count)
        for position in positions {
            let old = pairs[position].old
            var low = 0
            var high = lasts.count
            if let last = lasts.last, pairs[last].old < old { low = high }
            while low < high {
                let middle = (low + high) / 2
                if pairs[lasts[middle]].old < old { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[position] = lasts[low - 1] }
            if low == lasts.count { lasts.append(position) } else { lasts[low] = position }
        }
        var result: [Int] = []
        var next = lasts.last ?? -1
        while next >= 0 {
            result.append(next)
            next = previous[next]
        }
        return result.reversed()
    }
}
