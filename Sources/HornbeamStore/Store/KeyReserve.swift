internal import Foundation
internal import HornbeamThreads

/// Keys that were reserved from the engine's sequence in one block and are not used yet.
struct KeyReserve {
    private var next: UInt64 = 0
    /// The key after the last one of the block.
    private(set) var end: UInt64 = 0
    /// The size of the next block. It doubles, so that many objects need few commits and few objects waste few keys.
    private(set) var nextBlock = 64

    mutating func take(_ count: Int) -> UInt64? {
        guard end - next >= UInt64(count) else { return nil }
        defer { next += UInt64(count) }
        return next
    }

    mutating func refill(from first: UInt64, count: Int) {
        // The remaining keys of the old block are not used, because keys may have gaps.
        next = first
        end = first + UInt64(count)
        nextBlock = min(nextBlock * 2, 16_384)
    }
}

/// The reserved keys of stores that failed in this process.
///
/// A reservation of keys is not durable at once, nor is a batch with lazy durability. If a sync fails, the store returns to a state without it, but objects
/// of contexts may have the keys already. The next opening of the store in this process therefore reserves later keys.
enum LostKeys {
    private static let ends = Guarded<[UUID: UInt64]>([:])

    /// The key after the last one that a failed store had reserved, also for a batch; 0 if none failed.
    static func end(in store: UUID) -> UInt64 { ends.withLock { $0[store] ?? 0 } }

    static func extend(to end: UInt64, in store: UUID) { ends.withLock { $0[store] = max($0[store] ?? 0, end) } }
}
