internal import Glibc
internal import HornbeamEngine
internal import Synchronization

/// Maps the hash of a unique value to the key of its object. Each entry is one word.
///
/// Entries are hints: the caller verifies in the row of its snapshot that the object still has the value, and searches the index otherwise.
/// So changes need no invalidation, every thread may read and write every word without a lock, and a lost entry costs one search of
/// the index.
final class UniqueLookupCache: Sendable {
    /// Words in a cache line; a value may be in any word of its line.
    private static let lineWords = 8
    private static let keyMask: UInt64 = 1 << 48 - 1
    /// The number of successful lookups after which the cache is allocated.
    private static let lookupsBeforeAllocation = 64

    private typealias Word = Atomic<UInt64>

    private let words = Atomic<UInt>(0)
    private let lineMask = Atomic<Int>(0)
    private let uses = Atomic<Int>(0)
    private let isAllocating = Atomic<Bool>(false)
    private let mapping = Atomic<UInt>(0)
    private let mappedBytes = Atomic<Int>(0)

    deinit {
        let start = mapping.load(ordering: .acquiring)
        if start != 0 { unsafe munmap(UnsafeMutableRawPointer(bitPattern: start), mappedBytes.load(ordering: .relaxed)) }
    }

    /// The first object that may have a value of that hash.
    @inline(__always)
    func first(_ hash: UInt64) -> UInt64? {
        guard let line = unsafe line(of: hash) else { return nil }
        let tag = hash >> 48
        for place in 0 ..< Self.lineWords {
            let word = unsafe line[place].load(ordering: .relaxed)
            if word >> 48 == tag, word != 0 { return word & Self.keyMask }
        }
        return nil
    }

    /// Stores the object that has a value. `entries` is the number of entries in the index and `bytes` the memory limit; both are used
    /// when the cache is allocated.
    func note(_ hash: UInt64, _ key: UInt64, entries: Int, bytes: Int) {
        guard key <= Self.keyMask else { return }
        guard let line = unsafe line(of: hash) else { return allocate(entries: entries, bytes: bytes) }
        let word = (hash & ~Self.keyMask) | key
        let place = (0 ..< Self.lineWords).first { place in
            let old = unsafe line[place].load(ordering: .relaxed)
            return old == 0 || old & Self.keyMask == key
        }
        unsafe line[place ?? Int(hash >> 40 & 7)].store(word, ordering: .relaxed)
    }

    @inline(__always)
    private func line(of hash: UInt64) -> UnsafeMutablePointer<Word>? {
        guard let start = unsafe UnsafeMutableRawPointer(bitPattern: words.load(ordering: .acquiring)) else { return nil }
        let line = Int(truncatingIfNeeded: hash) & lineMask.load(ordering: .relaxed)
        return unsafe start.assumingMemoryBound(to: Word.self) + line * Self.lineWords
    }

    /// After enough lookups, allocates at least one word for each entry of the index, up to the memory limit.
    private func allocate(entries: Int, bytes: Int) {
        guard uses.wrappingAdd(1, ordering: .relaxed).newValue > Self.lookupsBeforeAllocation,
            isAllocating.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        var lines = 16
        while lines * Self.lineWords < entries + entries / 2, lines * 128 <= bytes { lines *= 2 }
        // The kernel zeroes each page at the first access.
        let count = lines * 64 + 4096
        guard let memory = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), unsafe memory != MAP_FAILED else {
            return
        }
        if count >= 4 << 20 { unsafe madvise(memory, count, 14) }  // MADV_HUGEPAGE: a lookup then costs one cache miss without a page-table walk
        mapping.store(UInt(bitPattern: memory), ordering: .relaxed)
        mappedBytes.store(count, ordering: .relaxed)
        lineMask.store(lines - 1, ordering: .relaxed)
        words.store(UInt(bitPattern: memory), ordering: .releasing)
    }

    /// The hash of a text.
    @inline(__always)
    static func hash(_ text: UnsafeRawBufferPointer) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: text.count) &* 0x9E37_79B9_7F4A_7C15
        var place = 0
        while place + 8 <= text.count {
            hash = unsafe mixed(hash ^ text.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place += 8
        }
        var rest: UInt64 = 0
        while place < text.count {
            rest = unsafe rest << 8 | UInt64(text[place])
            place += 1
        }
        return mixed(hash ^ rest)
    }

    @inline(__always)
    private static func mixed(_ number: UInt64) -> UInt64 {
        let product = number.multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
        return product.high ^ product.low
    }
}
