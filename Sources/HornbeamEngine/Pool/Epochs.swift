// Epochs protect frames of the pool while someone reads them without a lock or a count.
//
// A reader enters before it touches a frame and leaves after; a frame that was taken out of use waits in limbo
// until every reader that could have seen it has left. Invariant: a frame is unpublished before its epoch is
// stamped, so a reader that enters later cannot find it any more.
//
// A reader only stores its epoch into a cell of its thread's own, without a barrier, which would make each read wait for
// the ones before it. The thread that looks for the oldest reader pays instead: it has the kernel put a barrier on every
// thread of the process first. Before that barrier a reader's epoch was stored, and is seen; or its reads come after it,
// and they find nothing that was unpublished. Where the kernel has no such call, or refuses it, readers use a barrier.
//
// Each thread has a cell of its own, however many threads there are, so a read inside of another read always finds the
// outer one and no read waits. The first cells are allocated with the epochs; more come in chunks, each as large as all
// before it, when a thread first needs one.

internal import CSystem
import Glibc
import HornbeamThreads
import Synchronization

/// The cells of the threads that read, and the current epoch.
@safe final class Epochs: Sendable {
    typealias Cell = Atomic<UInt64>

    /// A read under way; without a cell inside of another read of the same thread, which protects the inner one too.
    @safe struct Reader {
        let cell: UnsafeMutablePointer<Cell>?
    }

    /// Threads whose cells are allocated at once, by number.
    private let firstCount: Int
    /// Cells lie a cache line apart.
    private static let stride = 8
    /// Chunks double: with the first cells they are enough for more threads than a process can have.
    private static let chunkCount = 24
    /// True where the kernel can put a barrier on the process's threads.
    private static let isBarrierPrepared = membarrier_prepare() == 0
    /// After the kernel refused a barrier, readers that entered without one are waited for: far longer than a processor keeps a store to itself.
    private let pauseNanoseconds: UInt64

    private let current = Atomic<UInt64>(1)
    private let isInterleaved = Interleaving.isUnderWay
    /// The kernel puts a barrier on all threads; 0 if it did.
    private let putBarrier: @Sendable () -> Int32
    /// False once the kernel refused a barrier.
    private let hasBarrier: Atomic<Bool>
    /// When it did.
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

    /// Starts a read; give the answer back to `leave`.
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
        // Looked at after the store: a thread that is preempted in between stores its epoch, or sees a refusal.
        if hasBarrier.load(ordering: .relaxed) {
            // Costs nothing: it keeps the compiler from moving reads before the store.
            atomicMemoryFence(ordering: .acquiringAndReleasing)
        } else {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
        }
        point("the start of a read")
        return unsafe Reader(cell: cell)
    }

    /// A thread's first read of any store; or one of a thread whose cell is in a chunk.
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

    /// Two threads may make the same chunk; one of the two counts.
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
        unsafe cell.pointee.store(0, ordering: .releasing)
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

    /// The epoch in which the oldest active reader entered; `UInt64.max` if nobody reads, 0 if that is not known just now.
    func oldestReader() -> UInt64 {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        guard reachedAllReaders() else { return 0 }
        var oldest = UInt64.max
        let end = ThreadNumber.end
        for number in 0..<min(end, firstCount) { unsafe look(cells + number * Epochs.stride, &oldest) }
        guard end > firstCount else { return oldest }
        for number in firstCount..<end {
            let (index, place) = place(number)
            // Threads of a chunk that is not there have never read.
            if let chunk = unsafe chunk(index) { unsafe look(chunk + place, &oldest) }
        }
        return oldest
    }

    private func look(_ cell: UnsafeMutablePointer<Cell>, _ oldest: inout UInt64) {
        let epoch = unsafe cell.pointee.load(ordering: .sequentiallyConsistent)
        if epoch != 0, epoch < oldest { oldest = epoch }
    }

    /// True once the epoch of each reader can be seen. A kernel that prepared barriers may refuse one later: a filter of
    /// system calls, or no memory. From then on readers use barriers themselves; those that entered before need none
    /// once a pause is over.
    private func reachedAllReaders() -> Bool {
        if hasBarrier.load(ordering: .relaxed) {
            if putBarrier() == 0 { return true }
            refusedAt.store(MonotonicClock.nanoseconds, ordering: .relaxed)
            hasBarrier.store(false, ordering: .sequentiallyConsistent)
            return false
        }
        let refused = refusedAt.load(ordering: .relaxed)
        return refused == 0 || MonotonicClock.nanoseconds &- refused > pauseNanoseconds
    }
}
