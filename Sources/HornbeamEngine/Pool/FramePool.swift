// The buffer pool: frames of one page each in one anonymous mapping, named by number.
//
// A frame holds a page read from a page file (it has a disk address and may be evicted) or a node made by a
// transaction (no disk address; it stays until it is freed or has been written by a checkpoint). Readers find a
// page through a hint and compare the frame's disk address inside an epoch; only a miss takes the lock.
//
// What holds: `table` names exactly the frames whose disk address is set. A frame's generation changes whenever
// its content stops being what it was. Frames leave use through limbo unless nobody else ever saw them.

import Glibc
import HornbeamThreads
import Synchronization

/// What the pool knows of a frame: one line of the cache. Cells that readers look at are atomic; the others belong to the
/// writer or the lock.
struct FrameInfo: ~Copyable {
    static let size = 64

    /// The page's address in the page files; 0 while the frame is free or its node is in memory only.
    let diskAddress = Atomic<UInt64>(0)
    /// The layouts (by serial) that the leaf was found to fit; `.max` for nodes that we made. Of pages from disk this
    /// is found out at the first reading as part of a table.
    let verifiedFor = Atomic<UInt64>(0)
    /// What readers know of a table's leaf, as LeafBrief says; `shape` is 0 where they know nothing.
    let firstKey = Atomic<UInt64>(0)
    let shape = Atomic<UInt64>(0)
    /// The transaction that made the node; 0 for pages from disk. Written before anyone else sees the frame.
    var birth: UInt64 = 0
    /// The transaction that replaced the node; guarded by the writer's turn.
    var death = UInt64.max
    /// The stamp of the reference to the page, once it has a disk address.
    var stamp: UInt64 = 0
    /// Changes each time the frame changes hands.
    let generation = Atomic<UInt32>(1)
    let bitmaps = Atomic<UInt16>(0)
    /// Set by readers, cleared by the clock.
    let isRecent = Atomic<Bool>(false)
    /// Guarded by the pool's lock.
    var isEvictable = false
}

@safe final class FramePool: Sendable {
    let pageSize: Int
    /// Frames that the pool aims to stay within; nodes not yet written may exceed it.
    let capacity: Int
    let epochs = Epochs()
    /// Added to the transaction in locations of rows, so that one that was seen in another pool is not believed: a store may be
    /// closed and opened again, or move, while its objects are held.
    let mark = FramePool.poolsMade.wrappingAdd(1, ordering: .relaxed).newValue &* 0x9E37_79B9
    private static let poolsMade = Atomic<UInt64>(0)
    let files: PageFiles
    private let maximum: Int
    private let memory: PoolMemory
    private let prefaulter = Prefaulter()
    nonisolated(unsafe) private let base: UnsafeMutableRawPointer  // fixed at init
    nonisolated(unsafe) let infos: UnsafeMutablePointer<FrameInfo>  // fixed at init; cells as FrameInfo says
    private let state = Guarded(State())

    private struct State {
        var free: [UInt32] = []
        /// Free frames whose memory was given back to the system; highest first.
        var cold: [UInt32] = []
        var limbo: [(frame: UInt32, epoch: UInt64)] = []
        var table: [UInt64: UInt32] = [:]
        /// Frames 1 ..< `end` have been used at least once.
        var end: UInt32 = 1
        var prefaulted: UInt32 = 1
        var hasHugePages = false
        var hand: UInt32 = 1
        /// Allocations to let pass before the clock is tried again, after it found nothing.
        var patience = 0
        var inUse: Int { Int(end) - 1 - free.count - cold.count - limbo.count }
    }

    /// Frames in limbo from which on it is worth asking all threads what they read.
    private static let reclaimedAtOnce = 16

    /// Every look-up in a pool beyond the reach of the processor's translation buffer would pay for walking the page
    /// tables, twice over on a virtual machine; pages of 2 MiB bring a large pool back into reach.
    private static let hugePageBytes = PoolMemory.hugePageBytes
    private static let adviseHugePages: Int32 = 14  // MADV_HUGEPAGE
    private static let collapseToHugePage: Int32 = 25  // MADV_COLLAPSE
    /// Smaller pools stay on small pages, whose memory is taken as it is needed.
    private static let bytesForHugePages = 32 << 20
    private static let framesOfALook: UInt32 = 8
    /// What another thread brings in at once.
    private static let bytesAhead = 16 << 20

    /// - Parameters:
    ///   - bytes: what the pool aims to stay within.
    ///   - ceiling: frames at most, dirty nodes included; beyond it `full` is thrown.
    init(pageSize: Int, bytes: Int, ceiling: Int? = nil, files: PageFiles) throws(EngineError) {
        self.pageSize = pageSize
        self.files = files
        capacity = max(bytes / pageSize, 16)
        maximum = ceiling ?? max(capacity * 4, 1 << 18)
        guard let memory = PoolMemory.reserve(frames: maximum + 1, pageSize: pageSize) else {
            throw EngineError(
                .full, "The buffer pool could not reserve \((maximum + 1) * pageSize) bytes of address space; choose a smaller pool.",
                errno: errno)
        }
        self.memory = memory
        unsafe base = unsafe memory.base
        precondition(MemoryLayout<FrameInfo>.stride == FrameInfo.size, "What the pool knows of a frame is to be one line.")
        unsafe infos = UnsafeMutableRawPointer.allocate(byteCount: (maximum + 1) * FrameInfo.size, alignment: FrameInfo.size)
            .bindMemory(to: FrameInfo.self, capacity: maximum + 1)
        unsafe infos.initialize(to: FrameInfo())  // number 0 is "no frame"; the others follow at their first use
    }

    deinit {
        let end = Int(state.withLock { $0.end })
        prefaulter.stop()
        memory.giveUp(framesUsed: end)
        unsafe infos.deinitialize(count: end)
        unsafe infos.deallocate()
    }

    @inline(__always)
    func page(_ frame: UInt32) -> Page { unsafe Page(base + Int(frame) * pageSize) }

    /// True if the frame holds the page of this address now. Only meaningful inside an epoch.
    @inline(__always)
    func holds(_ frame: UInt32, _ address: UInt64) -> Bool {
        guard unsafe infos[Int(frame)].diskAddress.load(ordering: .acquiring) == address else { return false }
        epochs.point("a page that was found")
        noteUse(of: frame)
        return true
    }

    /// Keeps the clock from taking the frame's page out of use soon.
    @inline(__always)
    func noteUse(of frame: UInt32) {
        if unsafe !infos[Int(frame)].isRecent.load(ordering: .relaxed) {
            unsafe infos[Int(frame)].isRecent.store(true, ordering: .relaxed)
        }
    }

    @inline(__always)
    func generation(_ frame: UInt32) -> UInt32 {
        unsafe infos[Int(frame)].generation.load(ordering: .acquiring)
    }

    /// A copy is as trustworthy as what it was copied from.
    func inheritVerification(of frame: UInt32, to copy: UInt32) {
        let serial = unsafe infos[Int(frame)].verifiedFor.load(ordering: .acquiring)
        unsafe infos[Int(copy)].verifiedFor.store(serial, ordering: .relaxed)
    }

    /// The reference to a frame's page on disk, if it is there.
    func diskReference(_ frame: UInt32) -> (address: UInt64, stamp: UInt64)? {
        let address = unsafe infos[Int(frame)].diskAddress.load(ordering: .acquiring)
        return address == 0 ? nil : (address, unsafe infos[Int(frame)].stamp)
    }

    // MARK: Taking and giving back frames

    /// A frame for a new node of transaction `birth`; its content is undefined.
    func allocate(birth: UInt64) throws(EngineError) -> UInt32 {
        let frame = state.withLock { state in takeFrame(&state) }
        guard let frame else {
            throw EngineError(
                .full,
                "The transaction needs more memory than the buffer pool's limit of \(maximum) pages; use smaller transactions or a larger pool."
            )
        }
        unsafe infos[Int(frame)].birth = birth
        unsafe infos[Int(frame)].verifiedFor.store(birth == 0 ? 0 : .max, ordering: .relaxed)
        unsafe infos[Int(frame)].shape.store(0, ordering: .relaxed)
        unsafe infos[Int(frame)].death = .max
        unsafe infos[Int(frame)].stamp = 0
        return frame
    }

    private func takeFrame(_ state: inout State) -> UInt32? {
        if state.inUse >= capacity { makeRoom(&state) }
        if let frame = state.free.popLast() { return frame }
        if state.limbo.count >= FramePool.reclaimedAtOnce { reclaim(&state) }
        if let frame = state.free.popLast() ?? state.cold.popLast() { return frame }
        guard state.end <= UInt32(maximum) else {
            sweep(&state, wanted: 32)
            reclaim(&state)
            return state.free.popLast()
        }
        prefault(&state)
        unsafe (infos + Int(state.end)).initialize(to: FrameInfo())
        state.end += 1
        return state.end - 1
    }

    /// Takes pages out of use rather than more frames into use than the pool aims for.
    ///
    /// While a reader is stopped within its epoch, as on a busy machine, others take frames beyond the aim. Their memory goes back later.
    private func makeRoom(_ state: inout State) {
        guard state.patience == 0 else { return state.patience -= 1 }
        sweep(&state, wanted: 32)
        reclaim(&state)
        if state.free.count > capacity / 8 { giveBack(&state, downTo: state.inUse + capacity / 16) }
    }

    /// Maps the next frames in one call: the first touch of a page costs a fault each otherwise. A pool that goes on growing has
    /// the frames after these brought in by another thread, as far as it aims to go.
    private func prefault(_ state: inout State) {
        // Not the first, and few at first: whoever opens a store for one look reads some pages, and memory takes longer to clear than they to read.
        guard state.end >= FramePool.framesOfALook else { return }
        let left = Int(state.prefaulted) - Int(state.end)
        let ahead = min(FramePool.bytesAhead / pageSize, capacity - Int(state.prefaulted))
        if left < ahead / 2, Int(state.end) * pageSize >= FramePool.bytesAhead, Cores.count > 1,
            unsafe prefaulter.begin(base + Int(state.prefaulted) * pageSize, ahead * pageSize)
        {
            state.prefaulted += UInt32(ahead)
        }
        guard state.end >= state.prefaulted else { return }
        useHugePages(&state)
        let most = min(UInt32(min(64, capacity / 4)), UInt32(maximum) + 1 - state.end)
        let count = min(state.end, most)
        unsafe Prefaulter.populate(base + Int(state.end) * pageSize, Int(count) * pageSize)
        state.prefaulted = state.end + count
    }

    /// Once the pool is larger than a huge page it is worth having them. Costs nothing where it is refused: the pool works the
    /// same with small pages.
    private func useHugePages(_ state: inout State) {
        guard !state.hasHugePages, capacity * pageSize >= FramePool.bytesForHugePages,
            Int(state.end + 64) * pageSize > FramePool.hugePageBytes
        else { return }
        state.hasHugePages = true
        _ = unsafe madvise(base, (maximum + 1) * pageSize, FramePool.adviseHugePages)
        _ = unsafe madvise(base, FramePool.hugePageBytes, FramePool.collapseToHugePage)
    }

    /// Moves frames from limbo to the free list once no reader can still see them.
    private func reclaim(_ state: inout State) {
        guard !state.limbo.isEmpty else { return }
        let oldest = epochs.oldestReader()
        var kept = 0
        for entry in state.limbo {
            if entry.epoch < oldest {
                state.free.append(entry.frame)
            } else {
                state.limbo[kept] = entry
                kept += 1
            }
        }
        state.limbo.removeLast(state.limbo.count - kept)
    }

    /// The clock: takes up to `wanted` pages that were not read lately out of use.
    private func sweep(_ state: inout State, wanted: Int) {
        var found = 0
        var steps = 2 * Int(state.end)
        while found < wanted, steps > 0 {
            steps -= 1
            state.hand = state.hand + 1 < state.end ? state.hand + 1 : 1
            let frame = state.hand
            guard unsafe infos[Int(frame)].isEvictable else { continue }
            if unsafe infos[Int(frame)].isRecent.exchange(false, ordering: .relaxed) { continue }
            withdraw(frame, &state)
            found += 1
        }
        if found < wanted { state.patience = capacity / 4 }
    }

    /// Unpublishes a frame and puts it in limbo.
    private func withdraw(_ frame: UInt32, _ state: inout State) {
        let address = unsafe infos[Int(frame)].diskAddress.load(ordering: .relaxed)
        if address != 0 {
            unsafe infos[Int(frame)].diskAddress.store(0, ordering: .sequentiallyConsistent)
            state.table[address] = nil
        }
        unsafe infos[Int(frame)].isEvictable = false
        unsafe infos[Int(frame)].generation.wrappingAdd(1, ordering: .sequentiallyConsistent)
        state.limbo.append((frame, epochs.stamp()))
    }

    /// Gives back frames that still hold what they held when they were retired.
    func release(_ retired: [RetiredFrame]) {
        guard !retired.isEmpty else { return }
        state.withLock { state in
            for item in retired where holds(item) { withdraw(item.frame, &state) }
        }
    }

    /// True if a frame still holds what was retired; of pages, if nothing in memory names the frame either.
    private func holds(_ item: RetiredFrame) -> Bool {
        guard item.address != 0 else { return generation(item.frame) == item.generation }
        let info = unsafe infos + Int(item.frame)
        return unsafe info.pointee.isEvictable && info.pointee.diskAddress.load(ordering: .relaxed) == item.address
    }

    /// What a transaction retired is not replaced after all: the transaction is undone.
    func revive(_ retired: [RetiredFrame]) {
        for item in retired where item.address == 0 { unsafe infos[Int(item.frame)].death = .max }
    }

    /// Gives back a frame that nobody else ever saw.
    func discard(_ frame: UInt32) {
        unsafe infos[Int(frame)].generation.wrappingAdd(1, ordering: .sequentiallyConsistent)
        state.withLock { $0.free.append(frame) }
    }

    /// Gives the memory of free frames back to the system, down to what the pool aims for or, if more, to a quarter above what is in use.
    ///
    /// Nodes that wait for a checkpoint, or for a reader of an old version, may need far more for a while. Frames stay where they are; one
    /// that is taken again costs a fault.
    func trim() {
        state.withLock { state in
            if state.inUse > capacity { sweep(&state, wanted: state.inUse - capacity) }
            reclaim(&state)
            giveBack(&state, downTo: max(capacity, state.inUse + capacity / 4))
        }
    }

    /// Gives the memory of the highest free frames back, so that no more than so many frames have memory.
    private func giveBack(_ state: inout State, downTo count: Int) {
        let excess = min(Int(state.end) - 1 - state.cold.count - count, state.free.count)
        guard excess > 0 else { return }
        state.free.sort(by: >)
        giveBack(state.free.prefix(excess))
        state.cold.append(contentsOf: state.free.prefix(excess))
        state.cold.sort(by: >)
        state.free.removeFirst(excess)
    }

    /// - Parameter frames: Free ones, descending.
    private func giveBack(_ frames: ArraySlice<UInt32>) {
        var rest = frames
        while let last = rest.first {
            var first = last
            rest = rest.dropFirst()
            while let next = rest.first, next + 1 == first {
                first = next
                rest = rest.dropFirst()
            }
            // Whole pages of the system only: those at the ends may hold frames in use.
            let unit = Int(getpagesize())
            let start = (Int(first) * pageSize + unit - 1) / unit * unit
            let end = (Int(last) + 1) * pageSize / unit * unit
            if start < end { _ = unsafe madvise(base + start, end - start, MADV_DONTNEED) }
        }
    }

    /// Takes cached pages out of use that a transaction has replaced: whoever needs one again reads it again. So a change of
    /// a whole tree does not touch as much fresh memory, which costs far more than copying into warm memory does.
    func evict(_ frames: [UInt32]) {
        state.withLock { state in
            for frame in frames where unsafe infos[Int(frame)].isEvictable { withdraw(frame, &state) }
        }
    }

    // MARK: Pages from disk

    /// The frame that holds the page of an address; nil if none does.
    func frame(holding address: UInt64) -> UInt32? { state.withLock { $0.table[address] } }

    /// Publishes a page that was read into a new frame. Returns the frame to use: another one if another thread was faster.
    func admit(_ frame: UInt32, address: UInt64, stamp: UInt64) -> UInt32 {
        unsafe infos[Int(frame)].stamp = stamp
        return state.withLock { state in
            if let other = state.table[address] {
                state.free.append(frame)
                return other
            }
            state.table[address] = frame
            unsafe infos[Int(frame)].isEvictable = true
            unsafe infos[Int(frame)].diskAddress.store(address, ordering: .releasing)
            return frame
        }
    }

    /// A node has been written: it may be found by its address from now on, and evicted unless `isPinned`.
    func markWritten(_ frame: UInt32, address: UInt64, stamp: UInt64, isPinned: Bool) {
        unsafe infos[Int(frame)].stamp = stamp
        state.withLock { state in
            state.table[address] = frame
            unsafe infos[Int(frame)].isEvictable = !isPinned
            unsafe infos[Int(frame)].diskAddress.store(address, ordering: .releasing)
        }
    }

    /// Lets written nodes be evicted: nothing in memory names them by frame any more.
    func unpin(_ frames: [UInt32]) {
        state.withLock { _ in
            for frame in frames where unsafe infos[Int(frame)].diskAddress.load(ordering: .relaxed) != 0 {
                unsafe infos[Int(frame)].isEvictable = true
            }
        }
    }

    /// True if so many more frames can be had now, whatever readers hold; others may take them first.
    func hasRoom(for count: Int) -> Bool {
        state.withLock { $0.free.count + $0.cold.count + maximum + 1 - Int($0.end) >= count }
    }

    /// True when three quarters of the frames that there may ever be hold something that cannot be evicted.
    var isShort: Bool { state.withLock { $0.inUse - $0.table.count > maximum / 4 * 3 } }

    /// Frames of nodes that are on no disk yet, and of old ones that somebody may still read.
    var unwritten: Int { state.withLock { $0.inUse - $0.table.count } }

    /// Frames in use and pages that could be evicted.
    var usage: (inUse: Int, cached: Int) { state.withLock { ($0.inUse, $0.table.count) } }
}

extension PageReference {
    /// True for a node that is in memory only.
    var isInMemory: Bool { address >> 63 != 0 }
    var frame: UInt32 { UInt32(truncatingIfNeeded: address) }

    init(frame: UInt32, count: UInt64) {
        self.init(address: 1 << 63 | UInt64(frame), stamp: 0, count: count)
    }

    static func describe(_ address: UInt64) -> String {
        address >> 63 != 0
            ? "frame \(UInt32(truncatingIfNeeded: address))"
            : "file \(address >> 32), offset \((address & 0xFFFF_FFFF) * 8)"
    }
}
