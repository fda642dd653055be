// Builds a leaf from the entries of another leaf and new ones, in one pass.

extension SlottedNode {
    /// Builds a leaf in `target` from the entries of this one and new entries, whose keys ascend. Nil if they do not fit in a page, or if two keys are
    /// equal.
    func inserting(_ entries: Range<Int>, into target: Page, limit: Int, _ entry: (Int) -> (key: Bytes, value: Bytes)) -> SlottedNode? {
        let ends = [entries.lowerBound, entries.upperBound - 1]
        let prefixLength = ends.reduce(page.prefixLength) { min($0, entry($1).key.commonPrefix(prefix)) }
        var used = prefixLength == page.prefixLength ? usedBytes : SlottedNode.measure(self, 0..<count, prefix: prefixLength)
        for n in entries {
            let (key, value) = entry(n)
            used += entrySize + max(key.count - prefixLength - 8, 0) + value.count
        }
        guard used <= limit else { return nil }
        let all = count + entries.count
        let average = max((used - Page.headerSize) / all, entrySize)
        let leaf = SlottedNode.create(
            in: target, inner: false, level: 0, capacity: all + (limit - used) / average, limit: limit, prefix: prefix.prefix(prefixLength))
        var place = 0
        var last = Bytes.none
        for n in entries {
            let (key, value) = entry(n)
            let (index, isFound) = lowerBound(key, from: place)
            if isFound || (n > entries.lowerBound && key.compare(last) == 0) { return nil }
            leaf.append(place..<index, of: self)
            let isDone = leaf.insert(at: leaf.count, key: key, value: value)
            precondition(isDone, "A leaf has room for the entries that were measured.")
            (place, last) = (index, key)
        }
        leaf.append(place..<count, of: self)
        return leaf
    }
}
