// Reads an index of one version: lookups, counts, ranks and ordered walks.

/// An index of byte keys in one version. The view of a transaction's own changes is valid until its next change.
@usableFromInline package struct IndexView: Sendable {
    let root: TreeRoot
    /// The insert buffer, which has further entries; nil if there is none. A snapshot has none for an empty one either.
    let buffer: IndexReader?
    /// The snapshot or transaction, retained so that the version is not released.
    let owner: any AnyObject & Sendable

    init(root: TreeRoot, buffer: IndexReader? = nil, owner: any AnyObject & Sendable) {
        self.root = root
        self.buffer = buffer
        self.owner = owner
    }

    /// The number of entries in the index.
    package var count: Int { ownCount + (buffer?.view.ownCount ?? 0) }
    /// The number of entries without those of the buffer.
    var ownCount: Int { Int(root.reference.count) }

    /// Calls `body` with the value of a key, valid during the call. Returns nil if the index lacks the key. O(log n).
    @inlinable @inline(__always)
    package func withValue<R>(
        _ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(EngineError) -> R
    ) throws(EngineError) -> R? {
        var result: R?
        unsafe try readValue(of: key) { value throws(EngineError) in result = unsafe try body(value) }
        return result
    }

    /// The implementation of `withValue` without a generic parameter, since calls of generic functions in another module are slow.
    @usableFromInline
    package func readValue(
        of key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(EngineError) -> Void
    ) throws(EngineError) {
        _ = try withValue(unsafe Bytes(key)) { bytes throws(EngineError) in unsafe try body(unsafe bytes.buffer) }
    }

    func readValue<R>(
        _ leaf: SlottedNode, _ i: Int, _ body: (Bytes) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        guard leaf.isBlob(i) else { return try body(leaf.value(i)) }
        let whole = try root.pool.files.readBlob(leaf.value(i).load(0, as: PageReference.self))
        return try whole.withBorrowedBytes(body)
    }

    /// Asks the system to read the leaf of a key ahead.
    func readAhead(_ key: Bytes) throws(EngineError) {
        try root.readLeafAhead { $0.childIndex(for: key) }
        try buffer?.view.readAhead(key)
    }

    /// The value of a key; nil if the index lacks the key.
    package func get(_ key: [UInt8]) throws(EngineError) -> [UInt8]? {
        try key.withBorrowedBytes { bytes throws(EngineError) in
            try withValue(bytes) { value throws(EngineError) in value.array }
        }
    }

    /// The eight-byte value of a key as a little-endian number: in a unique index, an object key.
    package func getObjectKey(_ key: UnsafeRawBufferPointer) throws(EngineError) -> UInt64? {
        let found = try withValue(unsafe Bytes(key)) { value throws(EngineError) -> UInt64? in
            value.count == 8 ? UInt64(littleEndian: value.load(0)) : nil
        }
        return found ?? nil
    }

    /// The number of entries with smaller keys. O(log n).
    package func rank(of key: [UInt8]) throws(EngineError) -> Int {
        try ownRank(of: key) + (buffer?.view.ownRank(of: key) ?? 0)
    }

    func ownRank(of key: [UInt8]) throws(EngineError) -> Int { try ownPlace(of: key).rank }

    /// The number of entries with smaller keys, and the number of entries in the leaf where the key belongs.
    func ownPlace(of key: [UInt8]) throws(EngineError) -> (rank: Int, leafCount: Int) {
        guard !root.reference.isEmpty else { return (0, 0) }
        return try key.withBorrowedBytes { bytes throws(EngineError) in
            try root.reading { () throws(EngineError) in
                let (before, frame) = try root.rank { $0.childIndex(for: bytes) }
                let leaf = SlottedNode(root.pool.page(frame))
                return (before + leaf.lowerBound(bytes).index, leaf.count)
            }
        }
    }

    /// The number of entries in a range of keys. O(log n).
    package func count(in range: KeyRange) throws(EngineError) -> Int {
        let upper = if let key = range.upper { try rank(of: key) } else { count }
        return max(upper - (range.lower.isEmpty ? 0 : try rank(of: range.lower)), 0)
    }

    /// The entry with the index `n` in key order; nil if there are not so many. O(log n).
    package func entry(at n: Int) throws(EngineError) -> (key: [UInt8], value: [UInt8])? {
        if let buffer { return try entry(at: n, mergedWith: buffer.view) }
        return try ownEntry(at: n)
    }

    func ownEntry(at n: Int) throws(EngineError) -> (key: [UInt8], value: [UInt8])? {
        guard n >= 0, n < ownCount else { return nil }
        return try root.reading { () throws(EngineError) in
            let (frame, index) = try root.position(n)
            let leaf = SlottedNode(root.pool.page(frame))
            return (leaf.key(index), try readValue(leaf, index) { value throws(EngineError) in value.array })
        }
    }

    /// Calls `body` with the key and the value of each entry in a range, in key order or backwards, until it returns false. The buffers are valid
    /// during the call.
    package func forEach(
        in range: KeyRange, reversed: Bool = false, skipping skipped: Int = 0,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(EngineError) -> Bool
    ) throws(EngineError) {
        try walk(range, reversed, skipped) { leaf, entries throws(EngineError) in
            try leaf.forEach(entries, reversed: reversed) { key, i throws(EngineError) in
                if leaf.isBlob(i) {
                    return try readValue(leaf, i) { value throws(EngineError) in
                        unsafe try body(unsafe key.buffer, unsafe value.buffer)
                    }
                }
                return unsafe try body(unsafe key.buffer, unsafe leaf.value(i).buffer)
            }
        }
    }

    /// Calls `body` with the last eight bytes of each key as a big-endian number, until it returns false. In a relationship's index, these are
    /// the members.
    package func forEachSuffix(
        in range: KeyRange, skipping skipped: Int = 0, _ body: (UInt64) throws(EngineError) -> Bool
    ) throws(EngineError) {
        try walk(range, false, skipped) { leaf, entries throws(EngineError) in
            for i in entries {
                guard leaf.keyLength(i) >= 8 else { throw IndexView.tooShort(leaf.keyLength(i)) }
                guard try body(leaf.keySuffix(i)) else { return false }
            }
            return true
        }
    }

    /// The last eight bytes of the first keys in a range as big-endian numbers, at most `most`. O(log n + results).
    package func suffixes(in range: KeyRange, skipping skipped: Int = 0, most: Int) throws(EngineError) -> [UInt64] {
        var suffixes: [UInt64] = []
        try addSuffixes(in: range, skipping: skipped, most: most, to: &suffixes)
        return suffixes
    }

    /// Appends these numbers to an empty array.
    func addSuffixes(in range: KeyRange, skipping skipped: Int = 0, most: Int, to suffixes: inout [UInt64]) throws(EngineError) {
        guard most > 0 else { return }
        try walk(range, false, skipped) { leaf, entries throws(EngineError) in
            let end = entries.lowerBound + min(entries.count, most - suffixes.count)
            suffixes.reserveCapacity(suffixes.count + end - entries.lowerBound)
            for i in entries.lowerBound..<end {
                guard leaf.keyLength(i) >= 8 else { throw IndexView.tooShort(leaf.keyLength(i)) }
                suffixes.append(leaf.keySuffix(i))
            }
            return suffixes.count < most
        }
    }

    static func tooShort(_ length: Int) -> EngineError {
        EngineError(.damaged, "An index entry has a key of \(length) bytes where 8 are needed.")
    }

    // MARK: Walking

    /// Visits a range leaf by leaf.
    private func walk(
        _ range: KeyRange, _ reversed: Bool, _ skipped: Int,
        _ visit: (SlottedNode, Range<Int>) throws(EngineError) -> Bool
    ) throws(EngineError) {
        var range = range
        if skipped > 0 {
            guard let moved = try skip(skipped, in: range, reversed) else { return }
            range = moved
        }
        if let buffer {
            _ = try walk(range, reversed, mergedWith: buffer.view, visit)
        } else {
            _ = try walkOwn(range, reversed, visit)
        }
    }

    /// Visits a range of the tree without the buffer. After some leaves it leaves the epoch and continues after the last key in a new one. Returns
    /// false if a visit did.
    func walkOwn(
        _ range: KeyRange, _ reversed: Bool, _ visit: (SlottedNode, Range<Int>) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        guard !root.reference.isEmpty else { return true }
        var range = range
        var goesOn = true
        while let rest = try walkSome(range, reversed, &goesOn, visit) {
            guard rest.isPart(of: range) else { throw TreeRoot.disorder }
            range = rest
        }
        return goesOn
    }

    /// The range without its first (or last) entries; nil if it has no more entries.
    private func skip(_ skipped: Int, in range: KeyRange, _ reversed: Bool) throws(EngineError) -> KeyRange? {
        let start = range.lower.isEmpty ? 0 : try rank(of: range.lower)
        let end = if let key = range.upper { try rank(of: key) } else { count }
        guard end - start > skipped else { return nil }
        if reversed {
            guard let next = try entry(at: end - skipped) else { return range }
            return KeyRange(from: range.lower, to: next.key)
        }
        guard let first = try entry(at: start + skipped) else { return nil }
        return KeyRange(from: first.key, to: range.upper)
    }

    /// Visits some leaves in one epoch. Returns the remaining range; nil at the end. Sets `goesOn` to false if a visit did not return true.
    private func walkSome(
        _ range: KeyRange, _ reversed: Bool, _ goesOn: inout Bool, _ visit: (SlottedNode, Range<Int>) throws(EngineError) -> Bool
    ) throws(EngineError) -> KeyRange? {
        try root.reading { () throws(EngineError) in
            func choose(_ node: SlottedNode) -> Int {
                if reversed { return range.upper.map { $0.withBorrowedBytes { node.childIndex(for: $0) } } ?? node.count - 1 }
                return range.lower.isEmpty ? 0 : range.lower.withBorrowedBytes { node.childIndex(for: $0) }
            }
            // A short range ends in its first leaf. Only a longer walk needs the path to its leaf, and finds it by a second descent.
            var walk: TreeWalk?
            var next: UInt32? = try root.leaf(choose)
            var visited = 0
            while let frame = next {
                let leaf = SlottedNode(root.pool.page(frame))
                let start = range.lower.isEmpty ? 0 : range.lower.withBorrowedBytes { leaf.lowerBound($0).index }
                let end = range.upper.map { $0.withBorrowedBytes { leaf.lowerBound($0, from: start).index } } ?? leaf.count
                if end - start > leaf.count / 2 { leaf.touchAll() }
                if start < end, try !visit(leaf, start..<end) {
                    goesOn = false
                    return nil
                }
                if reversed ? start > 0 : end < leaf.count { return nil }
                visited += 1
                if visited == TreeWalk.leavesPerEpoch, leaf.count > 0 {
                    return reversed
                        ? KeyRange(from: range.lower, to: leaf.key(0))
                        : KeyRange(from: leaf.key(leaf.count - 1) + [0], to: range.upper)
                }
                if walk == nil {
                    var path = TreeWalk(root)
                    _ = try path.descend(choose)
                    walk = path
                }
                next = try walk?.step(reversed: reversed)
            }
            return nil
        }
    }
}
