// A batch of entries that is sorted before it is put into an index.
//
// A million keys in random order need a million descents, each with cache misses. After sorting, most keys belong in the same leaf as the
// preceding one, and an empty index is filled leaf by leaf.
// Invariant after `sort`: keys ascend; equal keys are in the order of insertion.

import Glibc

/// A batch of keys and values for one index. Not thread-safe. It can be reused after `removeAll`.
@safe package final class EntryBatch {
    /// All state in one value, so that adding an entry checks the exclusive access once.
    private var list = EntryList()

    package init() {}

    package var count: Int { list.entries.count }
    /// The bytes of memory for the entries, including those for sorting them.
    package var memory: Int { list.memory }

    package func removeAll() { list.removeAll() }

    /// Adds an entry. Keys and values must be shorter than 64 KiB, and a batch smaller than 4 GiB.
    package func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) { unsafe list.append(key, value) }

    /// The key of an entry, by its index in the order of insertion. O(n log n).
    package func key(at index: Int) -> [UInt8] { list.key(at: index) }

    /// Sorts the entries, and returns some of the keys at even distances, among them the first and the last one.
    func sampledKeys(atMost most: Int) -> [[UInt8]] {
        list.sort()
        guard list.entries.count > 0 else { return [] }
        let steps = min(most, list.entries.count) - 1
        let list = list
        return list.bytes.withBorrowedBytes { bytes in
            (0...steps).map { EntryList.key(list.entries[(list.entries.count - 1) * $0 / max(steps, 1)], bytes).array }
        }
    }

    /// Sorts the entries and calls `body` with ranges of at most `count` of their indexes in key order, and a function that returns the entry of an
    /// index. Large ranges have at most about a megabyte of keys and values. `count` is evaluated before each call.
    func forEachPart<R>(
        of count: @autoclosure () -> Int = EntryBatch.entriesTogether,
        _ body: (Range<Int>, @escaping (Int) -> (key: Bytes, value: Bytes)) throws(EngineError) -> R?
    ) throws(EngineError) -> R? {
        list.sort()
        let list = list
        return try list.bytes.withBorrowedBytes { (bytes) throws(EngineError) -> R? in
            var next = 0
            while next < list.entries.count {
                let part = list.part(from: next, most: count())
                let result = try list.withEntries(part, bytes) { (entry) throws(EngineError) in try body(part, entry) }
                if let result { return result }
                next = part.upperBound
            }
            return nil
        }
    }

    /// The number of entries that are put in one epoch.
    static let entriesTogether = 32

    /// The index in the order of insertion of the entry with an index in the order of keys.
    fileprivate func insertionIndex(of index: Int) -> Int {
        let start = list.entries[index].start
        return list.entries.reduce(0) { $0 + ($1.start < start ? 1 : 0) }
    }
}

/// The entries of a batch.
private struct EntryList {
    /// An entry: the first eight bytes of its key after the shared prefix, and the position of its key and value in `bytes`.
    struct Entry: BitwiseCopyable {
        var head: UInt64
        var start: UInt32
        var keyLength: UInt16
        var valueLength: UInt16
    }

    private(set) var bytes: [UInt8] = []
    private(set) var entries: [Entry] = []
    /// The number of leading bytes that all keys share.
    private var shared = Int.max
    /// True if no entry was added since the last `sort`.
    private var isSorted = false

    var memory: Int { bytes.count + 2 * entries.count * MemoryLayout<Entry>.stride }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        shared = .max
    }

    mutating func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        precondition(key.count <= 0xFFFF && value.count <= 0xFFFF, "Entries of a batch are shorter than 64 KiB.")
        precondition(bytes.count + key.count + value.count <= UInt32.max, "A batch of entries holds less than 4 GiB.")
        isSorted = false
        noteShared(unsafe Bytes(key))
        entries.append(
            Entry(
                head: 0, start: UInt32(bytes.count), keyLength: UInt16(key.count), valueLength: UInt16(value.count)))
        assert(shared <= key.count, "All keys share their first bytes.")
        unsafe bytes.append(contentsOf: key)
        if unsafe !value.isEmpty { unsafe bytes.append(contentsOf: value) }
    }

    private mutating func noteShared(_ key: Bytes) {
        guard shared > 0 else { return }
        guard let first = entries.first else { return shared = key.count }
        shared = bytes.withBorrowedBytes { [shared] in $0.dropFirst(Int(first.start)).prefix(shared).commonPrefix(key) }
    }

    static func key(_ entry: Entry, _ bytes: Bytes) -> Bytes {
        bytes.dropFirst(Int(entry.start)).prefix(Int(entry.keyLength))
    }

    static func value(_ entry: Entry, _ bytes: Bytes) -> Bytes {
        bytes.dropFirst(Int(entry.start) + Int(entry.keyLength)).prefix(Int(entry.valueLength))
    }

    /// The range of at most so many entries from an index on.
    func part(from start: Int, most: Int) -> Range<Int> {
        let end = min(start + most, entries.count)
        guard most > EntryBatch.entriesTogether else { return start..<end }
        var bytes = 0
        let last = (start..<end).first { n in
            bytes += Int(entries[n].keyLength) + Int(entries[n].valueLength)
            return bytes > EntryList.bytesTogether
        }
        return start..<(last.map { $0 + 1 } ?? end)
    }

    private static let bytesTogether = 1 << 20

    /// Calls `body` with a function that returns the entry of an index in a range. Copies the keys and values of a large range next to each other,
    /// because sorting has scattered them, and they are read several times.
    func withEntries<R>(
        _ range: Range<Int>, _ bytes: Bytes, _ body: (@escaping (Int) -> (key: Bytes, value: Bytes)) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        let ahead = EntryBatch.entriesTogether
        let entries = entries
        guard range.count > ahead else {
            prefetch(range.upperBound..<min(range.upperBound + ahead, entries.count), bytes)
            return try body { (Self.key(entries[$0], bytes), Self.value(entries[$0], bytes)) }
        }
        let (copy, starts) = gathered(range, bytes)
        return try copy.withBorrowedBytes { (copy) throws(EngineError) in
            try body { n in
                let keyLength = Int(entries[n].keyLength)
                let entry = copy.dropFirst(starts[n - range.lowerBound])
                return (entry.prefix(keyLength), entry.dropFirst(keyLength).prefix(Int(entries[n].valueLength)))
            }
        }
    }

    /// The keys and values of a range of entries, and the start of each key.
    private func gathered(_ range: Range<Int>, _ bytes: Bytes) -> (bytes: [UInt8], starts: [Int]) {
        let ahead = EntryBatch.entriesTogether
        var copy: [UInt8] = []
        copy.reserveCapacity(entries[range].reduce(0) { $0 + Int($1.keyLength) + Int($1.valueLength) })
        let starts = range.map { n in
            prefetch(min(n + ahead, range.upperBound)..<min(n + ahead + 1, range.upperBound), bytes)
            let length = Int(entries[n].keyLength) + Int(entries[n].valueLength)
            unsafe copy.append(contentsOf: bytes.dropFirst(Int(entries[n].start)).prefix(length).buffer)
            return copy.count - length
        }
        return (copy, starts)
    }

    /// Prefetches the keys and values of entries, which sorting has scattered.
    private func prefetch(_ range: Range<Int>, _ bytes: Bytes) {
        for entry in entries[range] {
            let start = unsafe bytes.base + Int(entry.start)
            unsafe CacheLine.prefetch(start, start + max(Int(entry.keyLength) + Int(entry.valueLength) - 1, 0))
        }
    }

    func key(at index: Int) -> [UInt8] {
        let entry = entries.sorted { $0.start < $1.start }[index]
        return Array(bytes[Int(entry.start)..<Int(entry.start) + Int(entry.keyLength)])
    }

    // MARK: Order

    /// Sorts the heads with a radix sort, and then entries with equal heads by comparison. O(n) unless many heads are equal.
    mutating func sort() {
        if isSorted { return }
        isSorted = true
        let stored = bytes
        stored.withBorrowedBytes { bytes in
            var isInOrder = true
            var last: UInt64 = 0
            for i in entries.indices {
                let head = Self.key(entries[i], bytes).dropFirst(shared).head
                entries[i].head = head
                if head < last { isInOrder = false }
                last = head
            }
            if !isInOrder { sortByHeads() }
            sortEqualHeads(bytes)
            assert(zip(entries, entries.dropFirst()).allSatisfy { $0.head <= $1.head }, "Sorted entries ascend.")
        }
    }

    private mutating func sortByHeads() {
        guard entries.count > 1 else { return }
        var other = entries
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            var places = [Int](repeating: 0, count: 257)
            for entry in entries { places[Int(truncatingIfNeeded: entry.head >> shift & 0xFF) + 1] += 1 }
            if places.contains(entries.count) { continue }
            for i in 1..<257 { places[i] += places[i - 1] }
            for entry in entries {
                let digit = Int(truncatingIfNeeded: entry.head >> shift & 0xFF)
                other[places[digit]] = entry
                places[digit] += 1
            }
            swap(&entries, &other)
        }
    }

    private mutating func sortEqualHeads(_ bytes: Bytes) {
        var start = 0
        while start < entries.count {
            var end = start + 1
            while end < entries.count, entries[end].head == entries[start].head { end += 1 }
            if end - start > 1 { sortByKeys(start..<end, bytes) }
            start = end
        }
    }

    /// Sorts entries by their keys and, if keys are equal, by insertion. Entries of a batch are often in order already.
    private mutating func sortByKeys(_ range: Range<Int>, _ bytes: Bytes) {
        func isBefore(_ a: Entry, _ b: Entry) -> Bool {
            let order = Self.key(a, bytes).compare(Self.key(b, bytes))
            return order != 0 ? order < 0 : a.start < b.start
        }
        for i in range.dropFirst() where !isBefore(entries[i - 1], entries[i]) { return entries[range].sort(by: isBefore) }
    }
}

extension WriteTransaction {
    /// Puts the entries of a batch into an index in the order of their keys. Returns nil if all entries were put. If a key exists already, or is twice in
    /// the batch, returns the index of its entry in the order of insertion; then an unknown part of the others was put.
    package func putNew(_ batch: EntryBatch, in index: TreeID) throws(EngineError) -> Int? {
        try put(batch, in: index, onlyNew: true)
    }

    /// Puts the entries of a batch into an index in the order of their keys, and replaces values of keys that exist already.
    package func put(_ batch: EntryBatch, in index: TreeID) throws(EngineError) {
        _ = try put(batch, in: index, onlyNew: false)
    }

    private func put(_ batch: EntryBatch, in index: TreeID, onlyNew: Bool) throws(EngineError) -> Int? {
        let existing = try putThroughBuffer(batch, in: index, onlyNew: onlyNew)
        return existing.map { batch.insertionIndex(of: $0) }
    }
}
