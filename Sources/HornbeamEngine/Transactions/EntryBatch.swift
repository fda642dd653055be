// A batch of entries that is sorted before it is put into an index.
//
// A million keys in random order need a million descents, each with cache misses. After sorting, most keys belong in the same leaf as the
// preceding one, and an empty index is filled leaf by leaf.
// Invariant after `sort`: keys ascend; equal keys are in the order of insertion.

import Glibc

/// A batch of keys and values for one index. Not thread-safe. It can be reused after `removeAll`.
@safe package final class EntryBatch {
    /// An entry: the first eight bytes of its key after the shared prefix, and the position of its key and value in `bytes`.
    private struct Entry: BitwiseCopyable {
        var head: UInt64
        var start: UInt32
        var keyLength: UInt16
        var valueLength: UInt16
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    /// The number of leading bytes that all keys share.
    private var shared = Int.max

    package init() {}

    package var count: Int { entries.count }
    /// The bytes of memory for the entries, including those for sorting them.
    package var memory: Int { bytes.count + 2 * entries.count * MemoryLayout<Entry>.stride }

    package func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        shared = .max
    }

    /// Adds an entry. Keys and values must be shorter than 64 KiB, and a batch smaller than 4 GiB.
    package func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        precondition(key.count <= 0xFFFF && value.count <= 0xFFFF, "Entries of a batch are shorter than 64 KiB.")
        precondition(bytes.count + key.count + value.count <= UInt32.max, "A batch of entries holds less than 4 GiB.")
        noteShared(unsafe Bytes(key))
        entries.append(
            Entry(
                head: 0, start: UInt32(bytes.count), keyLength: UInt16(key.count), valueLength: UInt16(value.count)))
        assert(shared <= key.count, "All keys share their first bytes.")
        unsafe bytes.append(contentsOf: key)
        unsafe bytes.append(contentsOf: value)
    }

    private func noteShared(_ key: Bytes) {
        guard shared > 0 else { return }
        guard let first = entries.first else { return shared = key.count }
        shared = min(shared, bytes.withBorrowedBytes { self.key(first, $0).commonPrefix(key) })
    }

    private func key(_ entry: Entry, _ bytes: Bytes) -> Bytes {
        bytes.dropFirst(Int(entry.start)).prefix(Int(entry.keyLength))
    }

    private func value(_ entry: Entry, _ bytes: Bytes) -> Bytes {
        bytes.dropFirst(Int(entry.start) + Int(entry.keyLength)).prefix(Int(entry.valueLength))
    }

    /// The key of an entry, by its index in the order of insertion. O(n log n).
    package func key(at index: Int) -> [UInt8] {
        let entry = entries.sorted { $0.start < $1.start }[index]
        return Array(bytes[Int(entry.start)..<Int(entry.start) + Int(entry.keyLength)])
    }

    // MARK: Order

    /// Sorts the heads with a radix sort, and then entries with equal heads by comparison. O(n) unless many heads are equal.
    private func sort() {
        bytes.withBorrowedBytes { bytes in
            for i in entries.indices { entries[i].head = key(entries[i], bytes).dropFirst(shared).head }
            sortByHeads()
            sortEqualHeads(bytes)
            assert(zip(entries, entries.dropFirst()).allSatisfy { $0.head <= $1.head }, "Sorted entries ascend.")
        }
    }

    private func sortByHeads() {
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

    private func sortEqualHeads(_ bytes: Bytes) {
        var start = 0
        while start < entries.count {
            var end = start + 1
            while end < entries.count, entries[end].head == entries[start].head { end += 1 }
            if end - start > 1 {
                entries[start..<end].sort { a, b in
                    let order = key(a, bytes).compare(key(b, bytes))
                    return order != 0 ? order < 0 : a.start < b.start
                }
            }
            start = end
        }
    }

    /// Sorts the entries and calls `body` with each key and value, until it returns false. Returns the index of that entry in the order of
    /// insertion; nil if it never returned false.
    fileprivate func forEachSorted(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(EngineError) -> Bool
    ) throws(EngineError) -> Int? {
        sort()
        let entries = entries
        return try bytes.withBorrowedBytes { (bytes) throws(EngineError) -> Int? in
            for entry in entries {
                guard unsafe try !body(unsafe key(entry, bytes).buffer, unsafe value(entry, bytes).buffer) else { continue }
                return entries.reduce(0) { $0 + ($1.start < entry.start ? 1 : 0) }
            }
            return nil
        }
    }
}

extension WriteTransaction {
    /// Puts the entries of a batch into an index in the order of their keys. Stops at a key that exists already, or is twice in the batch, and
    /// returns the index of its entry in the order of insertion. Returns nil if all entries were put.
    package func putNew(_ batch: EntryBatch, in index: TreeID) throws(EngineError) -> Int? {
        unsafe try batch.forEachSorted { key, value throws(EngineError) in unsafe try putNew(key, value, in: index) }
    }
    /// Puts the entries of a batch into an index in the order of their keys, and replaces values of keys that exist already.
    package func put(_ batch: EntryBatch, in index: TreeID) throws(EngineError) {
        _ = unsafe try batch.forEachSorted { key, value throws(EngineError) in
            unsafe try put(key, value, in: index)
            return true
        }
    }
}
