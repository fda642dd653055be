// A Bloom filter of the keys of an index: tells that a key is certainly missing, without reading the leaf where it belongs.
//
// The bits of a key are in one block of the size of a cache line, so a test costs one cache miss. With ten bits for each key, one in a hundred
// missing keys seems to be there; with eight, one in thirty.

import Glibc

/// A set of keys that may contain more than were added. Not thread-safe. Safe: it owns its memory.
@safe final class KeyFilter {
    /// Eight words for each block.
    private let words: UnsafeMutablePointer<UInt64>
    private let blocks: UInt64

    private static let wordsPerBlock = 8
    private static let bitsPerKey = 6

    /// - Parameter bytes: The memory of the filter; at least one block is used.
    init(bytes: Int) {
        let count = max(bytes / (8 * KeyFilter.wordsPerBlock), 1)
        blocks = UInt64(count)
        // Each access is a cache miss. With huge pages it is no miss of the TLB too.
        let isLarge = bytes >= PoolMemory.hugePageBytes
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: count * 8 * KeyFilter.wordsPerBlock, alignment: isLarge ? PoolMemory.hugePageBytes : 64)
        if isLarge { _ = unsafe madvise(memory, bytes, PoolMemory.adviseHugePages) }
        unsafe words = unsafe memory.initializeMemory(as: UInt64.self, repeating: 0, count: count * KeyFilter.wordsPerBlock)
    }

    deinit { unsafe words.deallocate() }

    /// The largest number of keys for which the filter is useful: each has eight bits.
    static func keysMax(bytes: Int) -> Int { bytes }

    /// The hash of a key, for `mayContain` and `insert`.
    @inline(__always)
    static func hash(_ key: Bytes) -> UInt64 { unsafe XXH64.hash(key.buffer) }

    /// Requests the block of a key from memory, for a test or an insertion soon afterwards.
    @inline(__always)
    func prefetch(_ hash: UInt64) {
        let block = unsafe words + firstWord(hash)
        unsafe CacheLine.prefetch(block, block)
    }

    /// False if the key with this hash was certainly not added.
    func mayContain(_ hash: UInt64) -> Bool {
        let block = firstWord(hash)
        var rest = KeyFilter.bits(hash)
        for _ in 0..<KeyFilter.bitsPerKey {
            if unsafe words[block + Int(rest >> 6 & 7)] >> (rest & 63) & 1 == 0 { return false }
            rest >>= 9
        }
        return true
    }

    func insert(_ hash: UInt64) {
        let block = firstWord(hash)
        var rest = KeyFilter.bits(hash)
        for _ in 0..<KeyFilter.bitsPerKey {
            unsafe words[block + Int(rest >> 6 & 7)] |= 1 << (rest & 63)
            rest >>= 9
        }
    }

    private func firstWord(_ hash: UInt64) -> Int { Int(hash.multipliedFullWidth(by: blocks).high) * KeyFilter.wordsPerBlock }

    /// Each nine bits of the result choose one of the 512 bits of the block. The multiplication makes them independent of the choice of the block, which
    /// the high bits of the hash determine.
    private static func bits(_ hash: UInt64) -> UInt64 { (hash &* 0x9E37_79B9_7F4A_7C15) >> 10 }
}
