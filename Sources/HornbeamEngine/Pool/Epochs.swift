// Epoch-based reclamation: it protects frames of the pool during reads without a lock or a reference count.
//
// A reader enters an epoch before it reads a frame, and leaves it afterwards. A frame out of use waits in limbo until every reader that may
// have seen it has left.
//
// Invariant: a frame is unpublished before it is stamped with the epoch, so readers that enter a later epoch cannot find it.
//
// A reader stores its epoch in a cell of its thread, without a memory barrier, since a barrier would delay every read. Instead, the thread
// that searches for the oldest reader first makes the kernel execute a barrier on every thread of the process (`membarrier`). If a reader
// stored its epoch before that barrier, the store is visible. Otherwise its reads follow the barrier and find no unpublished frame. If the
// kernel has no such call or refuses it, readers use a barrier.
//
// Each thread has its own cell, so a nested read finds the epoch of the outer one, and no read waits. The first cells are allocated at
// initialization. More cells are allocated in chunks when a thread first needs one; each chunk doubles the number of cells.

internal import CSystem
import Glibc
import HornbeamThreads
import Synchronization

/// The current epoch, and the cells in which reading threads store theirs.
@safe final class Epochs: Sendable {
    typealias Cell = Atomic<UInt64>

    /// A read in progress. A nested read has no cell: the outer read of its thread protects it.
    @safe struct Reader {
        let cell: UnsafeMutablePointer<Cell>?
    }

    /// The number of cells that are allocated at initialization.
    private let firstCount: Int
    /// The distance of two cells, in units of 8 bytes: one cache line.
    private static let stride = 8
    /// The largest number of chunks. Each doubles the number of cells, so they are enough for all threads of a process.
    private static let chunkCount = 24
    /// True if the kernel can execute a barrier on all threads of the process.
    private static let isBarrierPrepared = membarrier_prepare() == 0
    /// The time after a refused barrier until earlier readers are visible. It is much longer than a processor can delay a store.
    private let pauseNanoseconds: UInt64

    private let current = Atomic<UInt64>(1)
    private let isInterleaved = Interleaving.isUnderWay
    /// Makes the kernel execute a barrier on all threads. Returns 0 on success.
    private let putBarrier: @Sendable () -> Int32
    /// False after the kernel refused a barrier.
    private let hasBarrier: Atomic<Bool>
    /// The time at which the kernel refused a barrier; 0 if it never did.
    private let refusedAt = Atomic<UInt64>(0)
    private let threadKey = ThreadNumber.key
    nonisolated(unsafe) private let cells: UnsafeMutablePointer<Cell>  // fixed at init; atomic cells
    /// The addresses of the chunks; 0 for a chunk that is not allocated.
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
        point("a reader before it stores its epoch")
        unsafe cell.pointee.store(epoch, ordering: .relaxed)
        // This load follows the store. So if the kernel refuses a barrier, the thread has stored its epoch already or sees the refusal.
        if hasBarrier.load(ordering: .relaxed) {
            // This emits no instruction. It prevents the compiler from moving reads before the store.
            atomicMemoryFence(ordering: .acquiringAndReleasing)
        } else {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
        }
        point("the start of a read")
        return unsafe Reader(cell: cell)
    }

    /// Starts the first read of a thread, or a read of a thread whose cell is in a chunk.
    @inline(never)
    private func enterFirst(_ known: Int) -> Reader {
        let number = known >= 0 ? known : ThreadNumber.make()
        if number < firstCount { return unsafe enter(cells + number * Epochs.stride) }
        let (index, place) = place(number)
        return unsafe enter((chunk(index) ?? makeChunk(index)) + place)
    }

    /// The chunk with a thread's cell, and the position of the cell in it.
    private func place(_ number: Int) -> (chunk: Int, place: Int) {
        let index = Int.bitWidth - 1 - (number / firstCount).leadingZeroBitCount
        precondition(index < Epochs.chunkCount, "A process has fewer than \(firstCount << Epochs.chunkCount) threads.")
        return (index, (number - firstCount << index) * Epochs.stride)
    }

    private func chunk(_ index: Int) -> UnsafeMutablePointer<Cell>? {
        unsafe UnsafeMutablePointer(bitPattern: chunks[index].load(ordering: .acquiring))
    }

    /// Allocates a chunk. If another thread was faster, uses the chunk of that thread.
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

    /// A scheduling point of interleaving tests. Otherwise it costs almost no time.
    @inline(__always)
    func point(_ place: StaticString) {
        if isInterleaved { Interleaving.point(place) }
    }

    /// Returns the stamp for a frame that was just unpublished. The frame may be reused when `oldestReader()` exceeds the stamp.
    func stamp() -> UInt64 {
        point("an unpublished frame before its stamp")
        return current.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
    }

    /// The epoch of the oldest active reader; `UInt64.max` without readers, 0 if it is not known yet.
    func oldestReader() -> UInt64 {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return reachedAllReaders() ? oldestVisibleReader() : 0
    }

    /// The epoch of the oldest reader that is visible without a barrier: at least that of the oldest reader.
    func oldestVisibleReader() -> UInt64 {
        var oldest = UInt64.max
        let end = ThreadNumber.end
        for number in 0..<min(end, firstCount) { unsafe updateOldest(cells + number * Epochs.stride, &oldest) }
        guard end > firstCount else { return oldest }
        for number in firstCount..<end {
            let (index, place) = place(number)
            // The threads of a missing chunk have never read.
            if let chunk = unsafe chunk(index) { unsafe updateOldest(chunk + place, &oldest) }
        }
        return oldest
    }

    private func updateOldest(_ cell: UnsafeMutablePointer<Cell>, _ oldest: inout UInt64) {
        let epoch = unsafe cell.pointee.load(ordering: .sequentiallyConsistent)
        if epoch != 0, epoch < oldest { oldest = epoch }
    }

    /// True when the epochs of all readers are visible to this thread. The kernel may refuse a barrier later, because of a filter of system
    /// calls or for lack of memory. From then on readers use barriers. Readers that entered before are visible after a pause.
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
