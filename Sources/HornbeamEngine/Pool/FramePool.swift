// The buffer pool: frames of one page each in one anonymous mapping, named by number.
//
// A frame holds a page read from a page file (it has a disk address and may be evicted) or a node made by a
// transaction (no disk address; it stays until it is freed or has been written by a checkpoint). Readers find a
// page through a hint and compare the frame's disk address inside an epoch; only a miss takes the lock.
//
// Invariants:
// - `table` names exactly the frames whose disk address is set.
// - A frame's generation changes whenever its content is replaced or removed.
// - Frames leave use through limbo unless no other thread ever saw them.

import Glibc
import HornbeamThreads
import Synchronization

/// The pool's record of a frame: one cache line. Fields that readers access are atomic; the others belong to the writer or the lock.
struct FrameInfo: ~Copyable {
    static let size = 64

    /// The page's address in the page files; 0 while the frame is free or its node is in memory only.
    let diskAddress = Atomic<UInt64>(0)
    /// The serial number of the layouts that the leaf was verified against; `.max` for nodes of this process. A page from disk is verified when
    /// it is first read as part of a table.
    let verifiedFor = Atomic<UInt64>(0)
    /// The cached header of a table leaf (CachedLeafHeader); `shape` is 0 when there is none.
    let firstKey = Atomic<UInt64>(0)
    let shape = Atomic<UInt64>(0)
    /// The transaction that made the node; 0 for pages from disk. Written before other threads see the frame.
    var birth: UInt64 = 0
    /// The transaction that replaced the node; guarded by the writer's turn.
    var death = UInt64.max
    /// The stamp of the reference to the page, once it has a disk address.
    var stamp: UInt64 = 0
    /// Changes each time the frame gets other content.
    let generation = Atomic<UInt32>(1)
    let bitmaps = Atomic<UInt16>(0)
    /// Set by readers, cleared by the clock.
    let isRecent = Atomic<Bool>(false)
    /// Guarded by the pool's lock.
    var isEvictable = false
}

@safe final class FramePool: Sendable {
    let pageSize: Int
    /// The goal for the number of frames in use; nodes that are not written yet may exceed it.
    let capacity: Int
    let epochs = Epochs()
    /// Added to the transaction in locations of rows, so that a location from another pool is not accepted: a store may be closed and opened
    /// again, or moved, while its objects are held.
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
        /// Allocations to skip before the clock runs again, after it found nothing.
        var patience = 0
        var inUse: Int { Int(end) - 1 - free.count - cold.count - limbo.count }
    }

    /// Frames in limbo from which on asking all threads for their epochs pays.
    private static let reclaimedAtOnce = 16

    /// A lookup beyond the reach of the processor's translation buffer walks the page tables, twice on a virtual machine. Pages of 2 MiB keep a
    /// large pool within reach.
    private static let hugePageBytes = PoolMemory.hugePageBytes
    private static let adviseHugePages: Int32 = 14  // MADV_HUGEPAGE
    private static let collapseToHugePage: Int32 = 25  // MADV_COLLAPSE
    /// Smaller pools use small pages, which take memory only as they are used.
    private static let bytesForHugePages = 32 << 20
    private static let framesOfALook: UInt32 = 8
    /// Bytes that another thread populates at once.
    private static let bytesAhead = 16 << 20

    /// - Parameters:
    ///   - bytes: The goal for the memory in use.
    ///   - ceiling: The maximum number of frames, dirty nodes included; beyond it `full` is thrown.
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
        precondition(MemoryLayout<FrameInfo>.stride == FrameInfo.size, "The pool's record of a frame takes one cache line.")
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

    /// Marks the frame as recently used, for the clock.
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

    /// A copy has the verification of its original.
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
        assert(unsafe infos[Int(frame)].diskAddress.load(ordering: .relaxed) == 0, "A free frame holds no page.")
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
            runClock(&state, wanted: 32)
            reclaim(&state)
            return state.free.popLast()
        }
        prefault(&state)
        unsafe (infos + Int(state.end)).initialize(to: FrameInfo())
        state.end += 1
        return state.end - 1
    }

    /// Evicts pages when the frames in use reach the pool's goal.
    ///
    /// While a reader is suspended within its epoch, frames beyond the goal come into use. Their memory is released later.
    private func makeRoom(_ state: inout State) {
        guard state.patience == 0 else { return state.patience -= 1 }
        runClock(&state, wanted: 32)
        reclaim(&state)
        if state.free.count > capacity / 8 { giveBack(&state, downTo: state.inUse + capacity / 16) }
    }

    /// Maps the next frames in one call, since the first touch of each page costs a fault. For a growing pool, another thread populates the
    /// frames after these, up to the pool's goal.
    private func prefault(_ state: inout State) {
        // None for the first frames and few for the next: a short opening reads some pages, and clearing memory takes longer than reading them.
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

    /// Asks for huge pages once the pool is larger than one. If the system refuses, the pool works the same with small pages.
    private func useHugePages(_ state: inout State) {
        guard !state.hasHugePages, capacity * pageSize >= FramePool.bytesForHugePages,
            Int(state.end + 64) * pageSize > FramePool.hugePageBytes
        else { return }
        state.hasHugePages = true
        _ = unsafe madvise(base, (maximum + 1) * pageSize, FramePool.adviseHugePages)
        _ = unsafe madvise(base, FramePool.hugePageBytes, FramePool.collapseToHugePage)
    }

    /// Moves frames from limbo to the free list when no reader can see them any more.
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

    /// The clock: evicts up to `wanted` pages that were not used recently.
    private func runClock(_ state: inout State, wanted: Int) {
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
        assert(frame > 0 && frame < state.end, "A frame in use has been taken before.")
        let address = unsafe infos[Int(frame)].diskAddress.load(ordering: .relaxed)
        if address != 0 {
            unsafe infos[Int(frame)].diskAddress.store(0, ordering: .sequentiallyConsistent)
            state.table[address] = nil
        }
        unsafe infos[Int(frame)].isEvictable = false
        unsafe infos[Int(frame)].generation.wrappingAdd(1, ordering: .sequentiallyConsistent)
        state.limbo.append((frame, epochs.stamp()))
    }

    /// Releases the frames that still hold their retired content.
    func release(_ retired: [RetiredFrame]) {
        guard !retired.isEmpty else { return }
        state.withLock { state in
            for item in retired where holds(item) { withdraw(item.frame, &state) }
        }
    }

    /// True if a frame still holds its retired content; for pages, only if nothing in memory names the frame either.
    private func holds(_ item: RetiredFrame) -> Bool {
        guard item.address != 0 else { return generation(item.frame) == item.generation }
        let info = unsafe infos + Int(item.frame)
        return unsafe info.pointee.isEvictable && info.pointee.diskAddress.load(ordering: .relaxed) == item.address
    }

    /// Cancels retirements of an undone transaction.
    func revive(_ retired: [RetiredFrame]) {
        for item in retired where item.address == 0 { unsafe infos[Int(item.frame)].death = .max }
    }

    /// Frees a frame that no other thread ever saw.
    func discard(_ frame: UInt32) {
        unsafe infos[Int(frame)].generation.wrappingAdd(1, ordering: .sequentiallyConsistent)
        state.withLock { $0.free.append(frame) }
    }

    /// Returns the memory of free frames to the system, down to the pool's goal or, if that is more, a quarter above the frames in use.
    ///
    /// Nodes that wait for a checkpoint, or for a reader of an old version, may need far more memory for a while. The frames remain; using one
    /// again costs a fault.
    func trim() {
        state.withLock { state in
            if state.inUse > capacity { runClock(&state, wanted: state.inUse - capacity) }
            reclaim(&state)
            giveBack(&state, downTo: max(capacity, state.inUse + capacity / 4))
        }
    }

    /// Returns the memory of the highest free frames, so that at most `count` frames have memory.
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
            // Only whole pages of the system: the pages at the ends may hold frames in use.
            let unit = Int(getpagesize())
            let start = (Int(first) * pageSize + unit - 1) / unit * unit
            let end = (Int(last) + 1) * pageSize / unit * unit
            if start < end { _ = unsafe madvise(base + start, end - start, MADV_DONTNEED) }
        }
    }

    /// Evicts cached pages that a transaction has replaced; a reader that needs one reads it again. So a change of a whole tree reuses warm
    /// memory. Untouched memory costs far more than a copy.
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
            assert(address != 0 && address >> 63 == 0, "A page that was read has an address in a page file.")
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

    /// Publishes a written node under its address. It may be evicted from now on unless `isPinned`.
    func markWritten(_ frame: UInt32, address: UInt64, stamp: UInt64, isPinned: Bool) {
        assert(address != 0 && address >> 63 == 0, "A written node has an address in a page file.")
        assert(unsafe infos[Int(frame)].birth > 0, "A transaction made the node.")
        unsafe infos[Int(frame)].stamp = stamp
        state.withLock { state in
            state.table[address] = frame
            unsafe infos[Int(frame)].isEvictable = !isPinned
            unsafe infos[Int(frame)].diskAddress.store(address, ordering: .releasing)
        }
    }

    /// Permits the eviction of written nodes: nothing in memory names them by frame any more.
    func unpin(_ frames: [UInt32]) {
        state.withLock { _ in
            for frame in frames where unsafe infos[Int(frame)].diskAddress.load(ordering: .relaxed) != 0 {
                unsafe infos[Int(frame)].isEvictable = true
            }
        }
    }

    /// True if that many frames are available now, whatever readers hold. Other threads may take them first.
    func hasRoom(for count: Int) -> Bool {
        state.withLock { $0.free.count + $0.cold.count + maximum + 1 - Int($0.end) >= count }
    }

    /// True when three quarters of the maximum number of frames cannot be evicted.
    var isShort: Bool { state.withLock { $0.inUse - $0.table.count > maximum / 4 * 3 } }

    /// Frames of nodes that are not on disk yet, and of old nodes that readers may need.
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
