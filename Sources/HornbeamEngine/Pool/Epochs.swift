// Epochs protect frames of the pool while someone reads them without a lock or a count.
//
// A reader enters before it touches a frame and leaves after; a frame that was taken out of use waits in limbo
// until every reader that could have seen it has left. What holds: a frame is unpublished before its epoch is
// stamped, so a reader that enters later cannot find it any more.
//
// A reader only stores its epoch into a cell of its thread's own, without a barrier, which would make each read wait for
// the ones before it. Whoever looks for the oldest reader pays instead: it has the kernel put a barrier on every thread of
// the process first. Before that barrier a reader's epoch was stored, and is seen; or its reads come after it, and they
// find nothing that was unpublished. Where the kernel has no such thing, readers use a barrier.

internal import CSystem
import Glibc
import HornbeamThreads
import Synchronization

/// Who is reading, and since when.
@safe final class Epochs: Sendable {
    /// Threads that have a cell of their own, by number; more than that share the cells behind.
    private let ownCount: Int
    private static let sharedCount = 32
    /// Cells lie a cache line apart.
    private static let stride = 8
    /// What `enter` answers inside of another read of the same thread, which protects the inner one too.
    private static let nested = -1
    /// True where the kernel can put a barrier on the process's threads.
    private static let hasBarrier = membarrier_prepare() == 0

    private let current = Atomic<UInt64>(1)
    private let isInterleaved = Interleaving.isUnderWay
    private let hasBarrier = Epochs.hasBarrier
    private let threadKey = ThreadNumber.key
    nonisolated(unsafe) private let cells: UnsafeMutablePointer<Atomic<UInt64>>  // fixed at init; atomic cells

    init(ownCount: Int = 128) {
        self.ownCount = ownCount
        let count = (ownCount + Epochs.sharedCount) * Epochs.stride
        unsafe cells = .allocate(capacity: count)
        for i in 0..<count { unsafe (cells + i).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe cells.deinitialize(count: (ownCount + Epochs.sharedCount) * Epochs.stride)
        unsafe cells.deallocate()
    }

    /// Starts a read; give the answer back to `leave`.
    @inline(__always)
    func enter() -> Int {
        let number = Int(bitPattern: unsafe pthread_getspecific(threadKey)) - 1
        guard number >= 0, number < ownCount else { return enterFirst(number) }
        return enter(number)
    }

    @inline(__always)
    private func enter(_ number: Int) -> Int {
        let place = number * Epochs.stride
        if unsafe cells[place].load(ordering: .relaxed) != 0 { return Epochs.nested }
        let epoch = current.load(ordering: .acquiring)
        point("a reader that has not said so yet")
        unsafe cells[place].store(epoch, ordering: .relaxed)
        if hasBarrier {
            // Costs nothing: it keeps the compiler from moving reads before the store.
            atomicMemoryFence(ordering: .acquiringAndReleasing)
        } else {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
        }
        point("the start of a read")
        return place
    }

    /// A thread's first read of any store; or one of a thread that has no cell.
    @inline(never)
    private func enterFirst(_ known: Int) -> Int {
        let number = known >= 0 ? known : ThreadNumber.make()
        return number < ownCount ? enter(number) : enterShared(number)
    }

    private func enterShared(_ number: Int) -> Int {
        var tries = 0
        while true {
            let place = (ownCount + (number + tries) % Epochs.sharedCount) * Epochs.stride
            let epoch = current.load(ordering: .sequentiallyConsistent)
            point("a reader that has not said so yet")
            let (taken, _) = unsafe cells[place].compareExchange(
                expected: 0, desired: epoch, ordering: .sequentiallyConsistent)
            if taken {
                atomicMemoryFence(ordering: .sequentiallyConsistent)
                point("the start of a read")
                return place
            }
            tries += 1
            if tries % Epochs.sharedCount == 0 { sched_yield() }
        }
    }

    @inline(__always)
    func leave(_ place: Int) {
        guard place >= 0 else { return }
        point("the end of a read")
        unsafe cells[place].store(0, ordering: .releasing)
    }

    /// The cell that `leave` would clear; nil inside of another read.
    @inline(__always)
    func cell(_ place: Int) -> UnsafeMutablePointer<Atomic<UInt64>>? { place >= 0 ? unsafe cells + place : nil }

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
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        if hasBarrier {
            let status = membarrier_of_process()
            precondition(status == 0, "The kernel refused a barrier that it had promised.")
        }
        var oldest = UInt64.max
        func look(_ number: Int) {
            let epoch = unsafe cells[number * Epochs.stride].load(ordering: .sequentiallyConsistent)
            if epoch != 0, epoch < oldest { oldest = epoch }
        }
        for number in 0..<min(ThreadNumber.end, ownCount) { look(number) }
        if ThreadNumber.end > ownCount {
            for number in ownCount..<(ownCount + Epochs.sharedCount) { look(number) }
        }
        return oldest
    }
}
