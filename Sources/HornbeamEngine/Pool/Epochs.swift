// Epochs protect frames of the pool during reads without a lock or a reference count.
//
// A reader enters before it touches a frame and leaves afterwards. A frame out of use waits in limbo until every reader that may have
// seen it has left.
//
// Invariant: a frame is unpublished before its epoch is stamped, so readers that enter later cannot find it.
//
// A reader stores its epoch into a cell of its own thread, without a barrier, since a barrier would delay every read. The thread that
// searches for the oldest reader pays instead: the kernel puts a barrier on every thread of the process first. Either a reader stored its
// epoch before that barrier, which makes it visible, or its reads follow the barrier and find nothing that was unpublished. If the kernel
// lacks or refuses the call, readers use a barrier.
//
// Each thread has a cell of its own, whatever the number of threads, so a nested read finds the outer one and no read waits. The first
// cells are allocated with the epochs. More come in chunks when a thread first needs one; each chunk doubles the number of cells.

internal import CSystem
import Glibc
import HornbeamThreads
import Synchronization

/// The cells of the threads that read, and the current epoch.
@safe final class Epochs: Sendable {
    typealias Cell = Atomic<UInt64>

    /// A read in progress. It has no cell inside another read of the same thread, which protects it too.
    @safe struct Reader {
        let cell: UnsafeMutablePointer<Cell>?
    }

    /// Threads with smaller numbers have their cells allocated from the start.
    private let firstCount: Int
    /// Cells lie a cache line apart.
    private static let stride = 8
    /// Each chunk doubles the cells, so these are enough for all threads of a process.
    private static let chunkCount = 24
    /// True where the kernel can put a barrier on the process's threads.
    private static let isBarrierPrepared = membarrier_prepare() == 0
    /// The wait for readers that entered without a barrier before the kernel refused one: far longer than a processor delays a store.
    private let pauseNanoseconds: UInt64

    private let current = Atomic<UInt64>(1)
    private let isInterleaved = Interleaving.isUnderWay
    /// The kernel puts a barrier on all threads; 0 if it did.
    private let putBarrier: @Sendable () -> Int32
    /// False after the kernel refused a barrier.
    private let hasBarrier: Atomic<Bool>
    /// The time of the refusal.
    private let refusedAt = Atomic<UInt64>(0)
    private let threadKey = ThreadNumber.key
    nonisolated(unsafe) private let cells: UnsafeMutablePointer<Cell>  // fixed at init; atomic cells
    /// Addresses of the chunks, 0 before they are needed.
    nonisolated(unsafe) private let chunks: UnsafeMutablePointer<Atomic<UInt>>  // fixed at init; atomic

    init(
        firstCount: Int = 128, hasBarrier: Bool = Epochs.isBarrierPrepared,
        putBarrier: @escaping @Sendable () -> Int32 = { membarrier_of_process() }, pauseNanoseconds: UInt64 = 1_000_000_000
    ) {
        precondition(firstCount > 0, "The first chunk of cells has one cell at least.")
        self.firstCount = firstCount
        self.hasBarrier = Atomic(hasBarrier)
        self.putBarrier = putBarrier
        self.pauseNanoseconds = pauseNanoseconds
        unsafe cells = Epochs.makeCells(firstCount)
        unsafe chunks = .allocate(capacity: Epochs.chunkCount)
        for i in 0..<Epochs.chunkCount { unsafe (chunks + i).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe Epochs.free(cells, firstCount)
        for i in 0..<Epochs.chunkCount {
            if let chunk = unsafe chunk(i) { unsafe Epochs.free(chunk, firstCount << i) }
        }
        unsafe chunks.deinitialize(count: Epochs.chunkCount)
        unsafe chunks.deallocate()
    }

    private static func makeCells(_ count: Int) -> UnsafeMutablePointer<Cell> {
        let cells = UnsafeMutablePointer<Cell>.allocate(capacity: count * stride)
        for i in 0..<count * stride { unsafe (cells + i).initialize(to: Atomic(0)) }
        return unsafe cells
    }

    private static func free(_ cells: UnsafeMutablePointer<Cell>, _ count: Int) {
        unsafe cells.deinitialize(count: count * stride)
        unsafe cells.deallocate()
    }

    /// Starts a read. Pass the result to `leave`.
    @inline(__always)
    func enter() -> Reader {
        let number = Int(bitPattern: unsafe pthread_getspecific(threadKey)) - 1
        guard number >= 0, number < firstCount else { return enterFirst(number) }
        return unsafe enter(cells + number * Epochs.stride)
    }

    @inline(__always)
    private func enter(_ cell: UnsafeMutablePointer<Cell>) -> Reader {
        if unsafe cell.pointee.load(ordering: .relaxed) != 0 { return unsafe Reader(cell: nil) }
        let epoch = current.load(ordering: .acquiring)
        point("a reader that has not said so yet")
        unsafe cell.pointee.store(epoch, ordering: .relaxed)
        // Loaded after the store: a thread that is preempted in between has stored its epoch, or sees the refusal.
        if hasBarrier.load(ordering: .relaxed) {
            // Emits no instruction: it keeps the compiler from moving reads before the store.
            atomicMemoryFence(ordering: .acquiringAndReleasing)
        } else {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
        }
        point("the start of a read")
        return unsafe Reader(cell: cell)
    }

    /// The first read of a thread, or a read of a thread with a cell in a chunk.
    @inline(never)
    private func enterFirst(_ known: Int) -> Reader {
        let number = known >= 0 ? known : ThreadNumber.make()
        if number < firstCount { return unsafe enter(cells + number * Epochs.stride) }
        let (index, place) = place(number)
        return unsafe enter((chunk(index) ?? makeChunk(index)) + place)
    }

    /// The chunk that holds a thread's cell, and where in it.
    private func place(_ number: Int) -> (chunk: Int, place: Int) {
        let index = Int.bitWidth - 1 - (number / firstCount).leadingZeroBitCount
        precondition(index < Epochs.chunkCount, "A process has fewer than \(firstCount << Epochs.chunkCount) threads.")
        return (index, (number - firstCount << index) * Epochs.stride)
    }

    private func chunk(_ index: Int) -> UnsafeMutablePointer<Cell>? {
        unsafe UnsafeMutablePointer(bitPattern: chunks[index].load(ordering: .acquiring))
    }

    /// Two threads may make the same chunk; the first one is used.
    private func makeChunk(_ index: Int) -> UnsafeMutablePointer<Cell> {
        let made = unsafe Epochs.makeCells(firstCount << index)
        let (isFirst, other) = unsafe chunks[index].compareExchange(
            expected: 0, desired: UInt(bitPattern: made), ordering: .acquiringAndReleasing)
        if !isFirst, let other = unsafe UnsafeMutablePointer<Cell>(bitPattern: other) {
            unsafe Epochs.free(made, firstCount << index)
            return unsafe other
        }
        return unsafe made
    }

    @inline(__always)
    func leave(_ reader: Reader) {
        guard let cell = unsafe reader.cell else { return }
        point("the end of a read")
        assert(unsafe cell.pointee.load(ordering: .relaxed) != 0, "A reader leaves an epoch that it has entered.")
        unsafe cell.pointee.store(0, ordering: .releasing)
    }

    /// A scheduling point of interleaving tests; almost free otherwise.
    @inline(__always)
    func point(_ place: StaticString) {
        if isInterleaved { Interleaving.point(place) }
    }

    /// Stamps a frame that was just unpublished. The frame may be reused when `oldestReader()` exceeds the stamp.
    func stamp() -> UInt64 {
        point("a frame that nobody finds any more")
        return current.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
    }

    /// The epoch in which the oldest active reader entered; `UInt64.max` without readers, 0 if it is unknown at present.
    func oldestReader() -> UInt64 {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        guard reachedAllReaders() else { return 0 }
        var oldest = UInt64.max
        let end = ThreadNumber.end
        for number in 0..<min(end, firstCount) { unsafe look(cells + number * Epochs.stride, &oldest) }
        guard end > firstCount else { return oldest }
        for number in firstCount..<end {
            let (index, place) = place(number)
            // The threads of a missing chunk have never read.
            if let chunk = unsafe chunk(index) { unsafe look(chunk + place, &oldest) }
        }
        return oldest
    }

    private func look(_ cell: UnsafeMutablePointer<Cell>, _ oldest: inout UInt64) {
        let epoch = unsafe cell.pointee.load(ordering: .sequentiallyConsistent)
        if epoch != 0, epoch < oldest { oldest = epoch }
    }

    /// True when the epoch of every reader is visible. A kernel that prepared barriers may refuse one later, because of a filter of system
    /// calls or for lack of memory. From then on readers use barriers; readers that entered before are safe after a pause.
    private func reachedAllReaders() -> Bool {
        if hasBarrier.load(ordering: .acquiring) {
            if putBarrier() == 0 { return true }
            refusedAt.store(MonotonicClock.nanoseconds, ordering: .relaxed)
            hasBarrier.store(false, ordering: .sequentiallyConsistent)
            return false
        }
        let refused = refusedAt.load(ordering: .relaxed)
        return refused == 0 || MonotonicClock.nanoseconds &- refused > pauseNanoseconds
    }
}
