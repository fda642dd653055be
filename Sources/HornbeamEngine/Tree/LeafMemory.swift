// Remembers in which leaf of one version of a table keys were found, so that a row by its key need not be searched from the root.
//
// A word for each 64 neighbouring keys names the frame of a leaf in which one of them was found, and the frame's generation then;
// where the neighbours lie in two leaves, the word of those before or behind them names the other. What holds: the frame was a leaf
// of the table in this version, found by a walk, and is it as long as its generation is the same. Which keys are in it says its
// brief. So a word that was overwritten or lost costs a walk, and any thread may write any word at any time.

internal import Glibc
internal import Synchronization

/// Leaves by key, of one version of a table.
@safe struct LeafMemory: ~Copyable, Sendable {
    /// Neighbours share a word: a leaf has more rows than that, as a rule.
    private static let keyBits: UInt64 = 6
    private static let wordsMin = 64
    private static let wordsMax = 1 << 17
    private typealias Word = Atomic<UInt64>

    private let wordCount: Int
    private let usesMin: Int
    private let uses = Atomic<Int>(0)
    /// The address of the words; 0 until there were enough look-ups.
    private let words = Atomic<UInt>(0)

    /// - Parameter usesMin: look-ups of the version from which on it is worth having.
    init(rows: Int, usesMin: Int) {
        let wanted = rows >> Int(LeafMemory.keyBits) + 1
        wordCount = min(max(1 << (Int.bitWidth - wanted.leadingZeroBitCount), LeafMemory.wordsMin), LeafMemory.wordsMax)
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

    /// A key whose word names the leaf on the other side, of a key that is not in the leaf found: 64 neighbours may lie in two leaves.
    @inline(__always)
    static func neighbour(of key: UInt64, beside brief: LeafBrief) -> UInt64 {
        key < brief.firstKey ? key &- 1 << keyBits : key &+ 1 << keyBits
    }

    /// Remembers where a key was found. Inside the epoch of the walk.
    func note(_ key: UInt64, _ frame: UInt32, _ pool: FramePool) {
        guard let word = unsafe word(of: key) else { return makeRoom() }
        unsafe word.pointee.store(UInt64(pool.generation(frame)) << 32 | UInt64(frame), ordering: .relaxed)
    }

    @inline(__always)
    private func word(of key: UInt64) -> UnsafeMutablePointer<Word>? {
        guard let start = unsafe UnsafeMutableRawPointer(bitPattern: words.load(ordering: .acquiring)) else { return nil }
        let place = Int(truncatingIfNeeded: key >> LeafMemory.keyBits) & (wordCount - 1)
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
