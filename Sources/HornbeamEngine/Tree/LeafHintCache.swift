// A cache of leaf positions of one version of a table, so that a lookup by key need not start at the root.
//
// For each 64 neighbouring keys it has one word: the frame of a leaf in which one of them was found, and the frame's generation. If the
// neighbours are in two leaves, the word of the next or preceding 64 keys may name the other leaf.
// Invariant: a walk of this version of the table has found the leaf in the frame, and the frame contains it as long as the generation is the
// same. The cached header of the frame contains the leaf's keys. A lost or overwritten word only costs a walk, so any thread may write any
// word at any time.

internal import Glibc
internal import Synchronization

/// The leaf hint cache of one version of a table.
@safe struct LeafHintCache: ~Copyable, Sendable {
    /// The number of low bits of a key that do not select a word. Usually a leaf has more than 64 rows.
    private static let keyBits: UInt64 = 6
    private static let wordsMin = 64
    private static let wordsMax = 1 << 17
    private typealias Word = Atomic<UInt64>

    private let wordCount: Int
    private let usesMin: Int
    private let uses = Atomic<Int>(0)
    /// The address of the words; 0 before enough lookups.
    private let words = Atomic<UInt>(0)

    /// - Parameter usesMin: The number of lookups before the cache is allocated. With fewer lookups, the allocation costs more than it saves.
    init(rows: Int, usesMin: Int) {
        let wanted = rows >> Int(LeafHintCache.keyBits) + 1
        wordCount = min(max(1 << (Int.bitWidth - wanted.leadingZeroBitCount), LeafHintCache.wordsMin), LeafHintCache.wordsMax)
        self.usesMin = usesMin
    }

    deinit { unsafe free(UnsafeMutableRawPointer(bitPattern: words.load(ordering: .acquiring))) }

    /// The frame of the leaf in which a neighbour of the key was found, if it still contains the leaf. Called inside an epoch.
    @inline(__always)
    func frame(near key: UInt64, _ pool: FramePool) -> UInt32? {
        guard let word = unsafe word(of: key) else { return nil }
        let known = unsafe word.pointee.load(ordering: .relaxed)
        let frame = UInt32(truncatingIfNeeded: known)
        guard frame != 0, pool.generation(frame) == UInt32(truncatingIfNeeded: known >> 32) else { return nil }
        pool.recordUse(of: frame)
        return frame
    }

    /// Returns a key of the preceding or next word, which may name the adjacent leaf. For a key that is not in the leaf that its own word names.
    @inline(__always)
    static func neighbour(of key: UInt64, beside cachedHeader: CachedLeafHeader) -> UInt64 {
        key < cachedHeader.firstKey ? key &- 1 << keyBits : key &+ 1 << keyBits
    }

    /// Stores the frame in which a walk found a key. Called inside the epoch of the walk.
    func note(_ key: UInt64, _ frame: UInt32, _ pool: FramePool) {
        guard let word = unsafe word(of: key) else { return makeRoom() }
        unsafe word.pointee.store(UInt64(pool.generation(frame)) << 32 | UInt64(frame), ordering: .relaxed)
    }

    @inline(__always)
    private func word(of key: UInt64) -> UnsafeMutablePointer<Word>? {
        guard let start = unsafe UnsafeMutableRawPointer(bitPattern: words.load(ordering: .acquiring)) else { return nil }
        let place = Int(truncatingIfNeeded: key >> LeafHintCache.keyBits) & (wordCount - 1)
        return unsafe start.assumingMemoryBound(to: Word.self) + place
    }

    @inline(never)
    private func makeRoom() {
        guard uses.wrappingAdd(1, ordering: .relaxed).newValue == usesMin,
            let memory = unsafe calloc(wordCount, MemoryLayout<Word>.stride)
        else { return }
        words.store(UInt(bitPattern: memory), ordering: .releasing)
    }
}
