// Changes an index: inserts, replaces and deletes single entries.

extension TreeEditor {
    /// The outcome of a put.
    enum PutOutcome { case inserted, replaced, exists }

    /// Descends to the leaf where a key belongs, and finds its index there; nil if the tree is empty.
    private func seek(_ key: Bytes) throws(EngineError) -> (index: Int, found: Bool)? {
        if leaf != 0, let place = placeInCurrentLeaf(key) { return place }
        guard try descend({ $0.childIndex(for: key) }) else { return nil }
        return node(leaf).lowerBound(key)
    }

    /// The index of a key in the current leaf; nil if the key may belong in another leaf.
    private func placeInCurrentLeaf(_ key: Bytes) -> (index: Int, found: Bool)? {
        let leaf = node(leaf)
        guard leaf.count > 0 else { return nil }
        if isAtRightEdge, leaf.isBelow(key) { return (leaf.count, false) }
        if leaf.page.prefixLength == 0 {
            let head = key.head
            let isAfterFirst = head > leaf.head(0)
            let isBeforeLast = head < leaf.head(leaf.count - 1)
            guard isAfterFirst, isBeforeLast || isAtRightEdge else { return nil }
            return leaf.lowerBound(key)
        }
        let place = leaf.lowerBound(key)
        if place.found || (place.index > 0 && (place.index < leaf.count || isAtRightEdge)) { return place }
        return nil
    }

    /// Whether the index has a key. Changes nothing.
    func contains(_ key: Bytes) throws(EngineError) -> Bool {
        guard let leaf = try visit({ $0.childIndex(for: key) }) else { return false }
        return node(leaf).lowerBound(key).found
    }

    /// Inserts or replaces the value of a key. With `onlyNew`, does not replace an existing value.
    func put(_ key: Bytes, _ value: Bytes, isBlob: Bool = false, onlyNew: Bool = false) throws(EngineError) -> PutOutcome {
        guard let (index, found) = try seek(key) else {
            try makeFirstLeaf { page in
                _ = SlottedNode.create(in: page, inner: false, level: 0, capacity: 0, limit: self.pool.pageSize)
            }
            try insert(at: 0, key, value, isBlob: isBlob)
            return .inserted
        }
        if found {
            if onlyNew { return .exists }
            let leaf = node(leaf)
            noteDeadBlob(leaf, index)
            if leaf.replaceValue(at: index, value, isBlob: isBlob) { return .replaced }
            leaf.remove(at: index)
            addToCounts(-1)
            try insert(at: index, key, value, isBlob: isBlob)
            return .replaced
        }
        try insert(at: index, key, value, isBlob: isBlob)
        return .inserted
    }

    private func noteDeadBlob(_ leaf: SlottedNode, _ index: Int) {
        if leaf.isBlob(index) { ledger.deadBlobs.append(leaf.value(index).load(0, as: PageReference.self)) }
    }

    private func insert(at index: Int, _ key: Bytes, _ value: Bytes, isBlob: Bool) throws(EngineError) {
        addToCounts(1)
        let target = node(leaf)
        if target.sharesPrefix(key), target.insert(at: index, key: key, value: value, isBlob: isBlob) {
            assert(index == 0 || target.isAscending(index), "The keys of a leaf ascend.")
            return
        }
        let keyArray = key.array
        if makeRoom(leaf, at: index, key: keyArray, valueCount: value.count) {
            let done = node(leaf).insert(at: index, key: key, value: value, isBlob: isBlob)
            precondition(done, "Room was made for the entry.")
            return
        }
        let (right, frame, place) = try split(
            leaf, for: index, entry: 8 + SlottedNode.slotSize + key.count + value.count,
            sharesPrefix: sharesPrefix(target, keyArray), isAppend: isAtRightEdge)
        let hasRoom = makeRoom(frame, at: place, key: keyArray, valueCount: value.count)
        precondition(hasRoom, "Half a leaf has room for an entry of a quarter page.")
        let done = node(frame).insert(at: place, key: key, value: value, isBlob: isBlob)
        precondition(done, "Room was made for the entry.")
        let last = node(leaf).key(node(leaf).count - 1)
        let first = node(right).key(0)
        if isAtRightEdge, node(right).count == 1 { noteFilled(leaf) }
        try addSibling(right, separator: TreeEditor.separator(last, first), at: path.count)
    }

    /// The shortest prefix of `right` that is above `left`.
    static func separator(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        let shared = left.withBorrowedBytes { a in right.withBorrowedBytes { a.commonPrefix($0) } }
        let separator = Array(right.prefix(shared + 1))
        assert(left.lexicographicallyPrecedes(separator), "A separator is above the last key on its left.")
        return separator
    }

    /// Deletes a key; false if it does not exist.
    func delete(_ key: Bytes) throws(EngineError) -> Bool {
        guard let (index, found) = try seek(key), found else { return false }
        try remove(index..<index + 1)
        return true
    }

    /// Deletes the entries of one leaf from a key, which must exist, through another one. Returns their number; 0 if the first key does not exist.
    func delete(from first: Bytes, through last: Bytes) throws(EngineError) -> Int {
        guard let (index, found) = try seek(first), found else { return 0 }
        let end = node(leaf).lowerBound(last, from: index)
        let range = index..<end.index + (end.found ? 1 : 0)
        try remove(range)
        return range.count
    }

    /// Removes entries of the current leaf.
    private func remove(_ range: Range<Int>) throws(EngineError) {
        let leaf = node(leaf)
        for index in range { noteDeadBlob(leaf, index) }
        leaf.remove(range)
        addToCounts(-range.count)
        if leaf.count == 0 {
            removeEmptyLeaf()
            try lowerRoot()
        } else if !path.isEmpty, isSparse(self.leaf) {
            try mergeUpwards { left, right in self.joinSlotted(left, right, separator: nil) }
        }
    }
}
