// Whether a file is read in order or at random.
//
// The system reads ahead when it takes reads for sequential. It also does so when blocks before a read are in its page cache, as they often are when
// memory has room for a part of the file. Then lookups read blocks that they do not need, which drive others out.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import Synchronization

/// Recognizes reads at random places of a file.
///
/// Threads may lose changes of each other. Such errors cost time only, and end with the next scan.
struct AccessPattern: ~Copyable {
    /// Reads at random places after which a file counts as read at random.
    static let randomReadsMin = 4
    /// The distance from the end of a thread's read within which its next one continues it: scans skip pages that are in memory. A longer read is of a
    /// copy or a search, and the system reads it as a whole anyway.
    static let distanceMax: UInt64 = 128 << 10

    /// Reads at random places since the last one that continued another, at most `randomReadsMin`.
    private let randomReads = Atomic(0)
    /// The end of the last read of each thread. Some threads share a place.
    private let ends = InlineArray<8, Atomic<UInt64>> { _ in Atomic(0) }

    /// Notes a read. Returns whether the file is read at random from now on; nil if that is as before.
    func note(offset: UInt64, count: Int, thread: UInt = UInt(pthread_self())) -> Bool? {
        guard count <= AccessPattern.distanceMax else { return nil }
        let last = ends[Int((thread &* 0x9E37_79B9_7F4A_7C15) >> 61)].exchange(offset &+ UInt64(count), ordering: .relaxed)
        let reads = randomReads.load(ordering: .relaxed)
        if offset &- last <= AccessPattern.distanceMax {
            guard reads > 0 else { return nil }
            randomReads.store(0, ordering: .relaxed)
            return false
        }
        guard reads < AccessPattern.randomReadsMin else { return nil }
        randomReads.store(reads + 1, ordering: .relaxed)
        return reads + 1 == AccessPattern.randomReadsMin ? true : nil
    }
}
