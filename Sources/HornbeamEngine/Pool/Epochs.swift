// Epochs protect frames of the pool while someone reads them without a lock or a count.
//
// A reader enters before it touches a frame and leaves after; a frame that was taken out of use waits in limbo
// until every reader that could have seen it has left. What holds: a frame is unpublished before its epoch is
// stamped, so a reader that enters later cannot find it any more.

import Glibc
import HornbeamThreads
import Synchronization

/// Who is reading, and since when.
@safe final class Epochs: Sendable {
    /// One slot a reader, a cache line apart.
    private static let slotCount = 128
    private static let stride = 8

    private let current = Atomic<UInt64>(1)
    private let isInterleaved = Interleaving.isUnderWay
    nonisolated(unsafe) private let slots: UnsafeMutablePointer<Atomic<UInt64>>  // fixed at init; atomic cells

    init() {
        let cells = Epochs.slotCount * Epochs.stride
        unsafe slots = .allocate(capacity: cells)
        for i in 0..<cells { unsafe (slots + i).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe slots.deinitialize(count: Epochs.slotCount * Epochs.stride)
        unsafe slots.deallocate()
    }

    /// Starts a read; give the answer back to `leave`.
    @inline(__always)
    func enter() -> Int {
        var slot = Int(truncatingIfNeeded: UInt(pthread_self()) >> 12) & (Epochs.slotCount - 1)
        var tries = 0
        while true {
            let epoch = current.load(ordering: .sequentiallyConsistent)
            point("a reader that has not said so yet")
            let (taken, _) = unsafe slots[slot * Epochs.stride].compareExchange(
                expected: 0, desired: epoch, ordering: .sequentiallyConsistent)
            if taken {
                point("the start of a read")
                return slot
            }
            slot = (slot + 1) & (Epochs.slotCount - 1)
            tries += 1
            if tries % Epochs.slotCount == 0 { sched_yield() }
        }
    }

    @inline(__always)
    func leave(_ slot: Int) {
        point("the end of a read")
        unsafe slots[slot * Epochs.stride].store(0, ordering: .releasing)
    }

    /// A place where another thread may go on, if threads are interleaved on purpose; costs next to nothing otherwise.
    @inline(__always)
    func point(_ place: StaticString) {
        if isInterleaved { Interleaving.point(place) }
    }

    /// Stamps what has just been unpublished; it may be reused once `oldestReader()` is beyond the stamp.
    func stamp() -> UInt64 {
        point("a frame that nobody finds any more")
        return current.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
    }

    /// The epoch in which the oldest active reader entered; `UInt64.max` if nobody reads.
    func oldestReader() -> UInt64 {
        var oldest = UInt64.max
        for i in 0..<Epochs.slotCount {
            let epoch = unsafe slots[i * Epochs.stride].load(ordering: .sequentiallyConsistent)
            if epoch != 0, epoch < oldest { oldest = epoch }
        }
        return oldest
    }
}
