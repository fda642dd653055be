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

    /// An entry by its index in the order of insertion. O(n log n).
    package func entry(at index: Int) -> (key: [UInt8], value: [UInt8]) { list.entry(at: index) }

    /// Sorts the entries, and returns some of the keys at even distances, among them the first and the last one.
    func sampledKeys(atMost most: Int) -> [[UInt8]] {
        list.sort()
        guard list.entries.count > 0 else { return [] }
        let steps = min(most, list.entries.count) - 1
        return (0...steps).map { list.entry((list.entries.count - 1) * $0 / max(steps, 1)).key.array }
    }

    /// Sorts the entries and calls `body` with ranges of at most `count` of their indexes in key order, and a function that returns the entry of an
    /// index. Large ranges have at most about a megabyte of keys and values. `count` is evaluated before each call.
    ///
    /// Do not change the batch in `body`.
    func forEachPart<R>(
        of count: @autoclosure () -> Int = EntryBatch.entriesTogether,
        _ body: (Range<Int>, @escaping (Int) -> (key: Bytes, value: Bytes)) throws(EngineError) -> R?
    ) throws(EngineError) -> R? {
        list.sort()
        var next = 0
        while next < list.entries.count {
            let part = list.part(from: next, most: count())
            let result = try list.withEntries(part) { (entry) throws(EngineError) in try body(part, entry) }
            if let result { return result }
            next = part.upperBound
        }
        return nil
    }

    /// The number of entries that are put in one epoch.
    static let entriesTogether = 32

    /// The index in the order of insertion of the entry with an index in the order of keys.
    fileprivate func insertionIndex(of index: Int) -> Int {
        let start = list.entries[index].start
        return unsafe list.entries.elements.reduce(0) { $0 + ($1.start < start ? 1 : 0) }
    }
}

/// The entries of a batch.
private struct EntryList: ~Copyable {
    /// An entry: the first eight bytes of its key after the shared prefix, and the position of its key and value in `bytes`.
    struct Entry: BitwiseCopyable {
        var head: UInt64
        var start: UInt32
        var keyLength: UInt16
        var valueLength: UInt16

        var length: Int { Int(keyLength) + Int(valueLength) }

        /// The key and the value, from the bytes of the key on.
        func parts(_ bytes: Bytes) -> (key: Bytes, value: Bytes) {
            (bytes.prefix(Int(keyLength)), bytes.dropFirst(Int(keyLength)).prefix(Int(valueLength)))
        }
    }

    private(set) var bytes = GrowingArray<UInt8>()
    private(set) var entries = GrowingArray<Entry>()
    /// The number of leading bytes that all keys share.
    private var shared = Int.max
    /// True if no entry was added since the last `sort`.
    private var isSorted = false

    var memory: Int { bytes.count + 2 * entries.count * MemoryLayout<Entry>.stride }

    mutating func removeAll() {
        bytes.removeAll()
        entries.removeAll()
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
        bytes.reserve(key.count + value.count)
        unsafe bytes.append(contentsOf: key.assumingMemoryBound(to: UInt8.self))
        unsafe bytes.append(contentsOf: value.assumingMemoryBound(to: UInt8.self))
    }

    private mutating func noteShared(_ key: Bytes) {
        guard shared > 0 else { return }
        if entries.count == 0 { return shared = key.count }
        shared = stored(entries[0]).prefix(shared).commonPrefix(key)
    }

    /// The stored bytes from the key of an entry on. Valid until the list changes.
    private func stored(_ entry: Entry) -> Bytes { unsafe Bytes(UnsafeRawBufferPointer(bytes.elements)).dropFirst(Int(entry.start)) }

    /// The key and the value of the entry with an index. Valid until the list changes.
    func entry(_ index: Int) -> (key: Bytes, value: Bytes) {
        let entry = entries[index]
        return entry.parts(stored(entry))
    }

    /// The range of at most so many entries from an index on.
    func part(from start: Int, most: Int) -> Range<Int> {
        let end = min(start + most, entries.count)
        guard most > EntryBatch.entriesTogether else { return start..<end }
        var bytes = 0
        let last = (start..<end).first { n in
            bytes += entries[n].length
            return bytes > EntryList.bytesTogether
        }
        return start..<(last.map { $0 + 1 } ?? end)
    }

    private static let bytesTogether = 1 << 20

    /// Calls `body` with a function that returns the entry of an index in a range. Copies the keys and values of a large range next to each other,
    /// because sorting has scattered them, and they are read several times.
    func withEntries<R>(
        _ range: Range<Int>, _ body: (@escaping (Int) -> (key: Bytes, value: Bytes)) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        let ahead = EntryBatch.entriesTogether
        let entries = unsafe UnsafeBufferPointer(entries.elements)
        guard range.count > ahead else {
            prefetch(range.upperBound..<min(range.upperBound + ahead, entries.count))
            let bytes = unsafe Bytes(UnsafeRawBufferPointer(bytes.elements))
            return try body { n in unsafe entries[n].parts(bytes.dropFirst(Int(entries[n].start))) }
        }
        let (copy, starts) = gathered(range)
        return try copy.withBorrowedBytes { (copy) throws(EngineError) in
            try body { n in unsafe entries[n].parts(copy.dropFirst(starts[n - range.lowerBound])) }
        }
    }

    /// The keys and values of a range of entries, and the start of each key.
    private func gathered(_ range: Range<Int>) -> (bytes: [UInt8], starts: [Int]) {
        let ahead = EntryBatch.entriesTogether
        var copy: [UInt8] = []
        copy.reserveCapacity(range.reduce(0) { $0 + entries[$1].length })
        let starts = range.map { n in
            prefetch(min(n + ahead, range.upperBound)..<min(n + ahead + 1, range.upperBound))
            let entry = entries[n]
            unsafe copy.append(contentsOf: stored(entry).prefix(entry.length).buffer)
            return copy.count - entry.length
        }
        return (copy, starts)
    }

    /// Prefetches the keys and values of entries, which sorting has scattered.
    private func prefetch(_ range: Range<Int>) {
        for n in range {
            let entry = entries[n]
            let start = unsafe stored(entry).base
            unsafe CacheLine.prefetch(start, start + max(entry.length - 1, 0))
        }
    }

    func entry(at index: Int) -> (key: [UInt8], value: [UInt8]) {
        let entry = unsafe entries.elements.sorted { $0.start < $1.start }[index]
        let (key, value) = entry.parts(stored(entry))
        return (key.array, value.array)
    }

    // MARK: Order

    /// Sorts the heads with a radix sort, and then entries with equal heads by comparison. O(n) unless many heads are equal.
    mutating func sort() {
        if isSorted { return }
        isSorted = true
        let entries = unsafe entries.elements
        var isInOrder = true
        var last: UInt64 = 0
        for i in entries.indices {
            let head = entry(i).key.dropFirst(shared).head
            unsafe entries[i].head = head
            if head < last { isInOrder = false }
            last = head
        }
        if !isInOrder { unsafe sortByHeads(entries) }
        unsafe sortEqualHeads(entries)
        assert(unsafe zip(entries, entries.dropFirst()).allSatisfy { $0.head <= $1.head }, "Sorted entries ascend.")
    }

    private func sortByHeads(_ entries: UnsafeMutableBufferPointer<Entry>) {
        guard entries.count > 1 else { return }
        // Filled with the same entries, since each pass fills one list from the other.
        var room = GrowingArray<Entry>()
        // The last use of the memory, which the buffers below point to.
        defer { room.removeAll() }
        unsafe room.append(contentsOf: UnsafeBufferPointer(entries))
        var (source, target) = unsafe (entries, room.elements)
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            var places = [Int](repeating: 0, count: 257)
            for i in entries.indices { places[Int(truncatingIfNeeded: unsafe source[i].head >> shift & 0xFF) + 1] += 1 }
            if places.contains(entries.count) { continue }
            for i in 1..<257 { places[i] += places[i - 1] }
            for i in entries.indices {
                let entry = unsafe source[i]
                let digit = Int(truncatingIfNeeded: entry.head >> shift & 0xFF)
                unsafe target[places[digit]] = entry
                places[digit] += 1
            }
            unsafe swap(&source, &target)
        }
        guard unsafe source.baseAddress != entries.baseAddress else { return }
        for i in entries.indices { unsafe entries[i] = source[i] }
    }

    private func sortEqualHeads(_ entries: UnsafeMutableBufferPointer<Entry>) {
        var start = 0
        while start < entries.count {
            var end = start + 1
            while unsafe end < entries.count && entries[end].head == entries[start].head { end += 1 }
            if end - start > 1 { unsafe sortByKeys(UnsafeMutableBufferPointer(rebasing: entries[start..<end])) }
            start = end
        }
    }

    /// Sorts entries by their keys and, if keys are equal, by insertion. Entries of a batch are often in order already.
    private func sortByKeys(_ entries: UnsafeMutableBufferPointer<Entry>) {
        func isBefore(_ a: Entry, _ b: Entry) -> Bool {
            let order = a.parts(stored(a)).key.compare(b.parts(stored(b)).key)
            return order != 0 ? order < 0 : a.start < b.start
        }
        var entries = unsafe entries
        for i in entries.indices.dropFirst() where unsafe !isBefore(entries[i - 1], entries[i]) { return unsafe entries.sort(by: isBefore) }
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
