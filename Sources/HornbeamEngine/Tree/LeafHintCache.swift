// Remembers the leaves of one version of a table, so that a lookup by key need not start at the root.
//
// One word for each 64 neighbouring keys names the frame of a leaf in which one of them was found, and the frame's generation. If the
// neighbours lie in two leaves, the word of the adjacent keys names the other leaf.
// Invariant: the frame was a leaf of the table in this version, found by a walk; it is the same leaf while its generation is the same. Its
// cached header tells which keys it holds. A lost or overwritten word costs a walk only, so any thread may write any word at any time.

internal import Glibc
internal import Synchronization

/// Leaves by key, of one version of a table.
@safe struct LeafHintCache: ~Copyable, Sendable {
    /// Neighbours share a word: as a rule a leaf has more rows than that.
    private static let keyBits: UInt64 = 6
    private static let wordsMin = 64
    private static let wordsMax = 1 << 17
    private typealias Word = Atomic<UInt64>

    private let wordCount: Int
    private let usesMin: Int
    private let uses = Atomic<Int>(0)
    /// The address of the words; 0 before enough lookups.
    private let words = Atomic<UInt>(0)

    /// - Parameter usesMin: The number of lookups of the version from which the cache pays.
    init(rows: Int, usesMin: Int) {
        let wanted = rows >> Int(LeafHintCache.keyBits) + 1
        wordCount = min(max(1 << (Int.bitWidth - wanted.leadingZeroBitCount), LeafHintCache.wordsMin), LeafHintCache.wordsMax)
        self.usesMin = usesMin
    }

    deinit { unsafe free(UnsafeMutableRawPointer(bitPattern: words.load(ordering: .acquiring))) }

    /// The leaf in which a neighbour of the key was found, if its frame still holds it. Inside an epoch.
    @inline(__always)
    func frame(near key: UInt64, _ pool: FramePool) -> UInt32? {
        guard let word = unsafe word(of: key) else { return nil }
        let known = unsafe word.pointee.load(ordering: .relaxed)
        let frame = UInt32(truncatingIfNeeded: known)
        guard frame != 0, pool.generation(frame) == UInt32(truncatingIfNeeded: known >> 32) else { return nil }
        pool.noteUse(of: frame)
        return frame
    }

    /// A key whose word names the adjacent leaf, for a key that is not in the found leaf: 64 neighbours may lie in two leaves.
    @inline(__always)
    static func neighbour(of key: UInt64, beside cachedHeader: CachedLeafHeader) -> UInt64 {
        key < cachedHeader.firstKey ? key &- 1 << keyBits : key &+ 1 << keyBits
    }

    /// Remembers where a key was found. Inside the epoch of the walk.
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
