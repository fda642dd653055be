internal import HornbeamEngine

/// Entries of an index that is being built, in the memory of one thread: bytes in one buffer, and a place for each entry, which is sorted.
final class SortedRun {
    /// The first eight bytes of a key as a number, and the position of the entry.
    private struct Place {
        let head: UInt64
        let start: UInt32
        let keyCount: UInt16
        let valueCount: UInt16
    }

    private var bytes: [UInt8] = []
    private var places: [Place] = []
    /// True while the keys arrive in ascending order.
    private var isSorted = true
    /// Offsets of entries have 32 bits.
    static let bytesMax = 1 << 30

    var count: Int { places.count }
    /// The memory of the entries.
    var usedBytes: Int { bytes.count + places.count * MemoryLayout<Place>.stride }

    func append(_ key: [UInt8], _ value: [UInt8]) {
        append(count: key.count, head: Self.head(key), value.count) {
            bytes += key
            bytes += value
        }
    }

    func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        unsafe append(count: key.count, head: Self.head(key), value.count) {
            unsafe bytes.append(contentsOf: key)
            unsafe bytes.append(contentsOf: value)
        }
    }

    private func append(count: Int, head: UInt64, _ valueCount: Int, _ write: () -> Void) {
        precondition(bytes.count <= Self.bytesMax && count <= Int(UInt16.max) && valueCount <= Int(UInt16.max), "An entry of an index is short.")
        places.append(Place(head: head, start: UInt32(bytes.count), keyCount: UInt16(count), valueCount: UInt16(valueCount)))
        write()
        if isSorted, places.count > 1, compare(places.count - 1, self, places.count - 2) < 0 { isSorted = false }
    }

    private static func head(_ key: some Collection<UInt8>) -> UInt64 {
        var head: UInt64 = 0
        for byte in key.prefix(8) { head = head << 8 | UInt64(byte) }
        return head << UInt64(8 * max(8 - key.count, 0))
    }

    func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        isSorted = true
    }

    // MARK: Order

    /// Sorts by key; entries with equal keys stay in the order in which they were appended.
    func sort() {
        guard !isSorted else { return }
        isSorted = true
        unsafe bytes.withUnsafeBytes { bytes in
            places.sort { a, b in
                if a.head != b.head { return a.head < b.head }
                let order = unsafe Self.compare(bytes, a, bytes, b)
                return order == 0 ? a.start < b.start : order < 0
            }
        }
    }

    /// Below zero when this run's entry has a smaller key than another one.
    func compare(_ number: Int, _ other: SortedRun, _ otherNumber: Int) -> Int {
        let (a, b) = (places[number], other.places[otherNumber])
        if a.head != b.head { return a.head < b.head ? -1 : 1 }
        return unsafe bytes.withUnsafeBytes { bytes in
            unsafe other.bytes.withUnsafeBytes { unsafe Self.compare(bytes, a, $0, b) }
        }
    }

    /// Compares keys with equal heads.
    private static func compare(_ bytes: UnsafeRawBufferPointer, _ a: Place, _ otherBytes: UnsafeRawBufferPointer, _ b: Place) -> Int {
        let common = Int(min(a.keyCount, b.keyCount))
        for offset in 0 ..< common {
            let (x, y) = unsafe (bytes[Int(a.start) + offset], otherBytes[Int(b.start) + offset])
            if x != y { return x < y ? -1 : 1 }
        }
        return Int(a.keyCount) - Int(b.keyCount)
    }

    /// Calls `body` with the bytes of an entry.
    func withEntry<R>(
        _ number: Int, _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        let place = places[number]
        let start = Int(place.start)
        let middle = start + Int(place.keyCount)
        return unsafe try bytes.withRawBytes { (bytes) throws(EngineError) in
            unsafe try body(
                UnsafeRawBufferPointer(rebasing: bytes[start ..< middle]),
                UnsafeRawBufferPointer(rebasing: bytes[middle ..< middle + Int(place.valueCount)]))
        }
    }
}

/// A position in a sorted run, in memory or in an index that holds one.
final class RunCursor {
    private let run: SortedRun
    private var position = 0
    /// The index of a run that was written to the store; nil for a run in memory.
    private let index: IndexView?
    private static let entriesTogether = 1_024

    /// A cursor of a sorted run in memory.
    init(_ run: SortedRun) {
        self.run = run
        index = nil
    }

    init(_ index: IndexView) throws(EngineError) {
        run = SortedRun()
        self.index = index
        try read(index, in: KeyRange())
    }

    private func read(_ index: IndexView, in range: KeyRange) throws(EngineError) {
        let run = run
        unsafe try index.forEach(in: range) { (key, value) throws(EngineError) -> Bool in
            unsafe run.append(key, value)
            return run.count < Self.entriesTogether
        }
    }

    var isAtEnd: Bool { position == run.count }

    func precedes(_ other: RunCursor) -> Bool { run.compare(position, other.run, other.position) < 0 }

    func withEntry<R>(
        _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        unsafe try run.withEntry(position, body)
    }

    func advance() throws(EngineError) {
        position += 1
        guard position == run.count, run.count > 0, let index else { return }
        let last = unsafe try run.withEntry(position - 1) { (key, _) throws(EngineError) in unsafe [UInt8](key) }
        run.removeAll()
        position = 0
        try read(index, in: KeyRange(from: last + [0], to: nil))
    }
}
