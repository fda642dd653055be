// The buffer pool: numbered frames of one page each, in one anonymous mapping.
//
// A frame contains either a page from a page file, which has a disk address and may be evicted, or a node that a transaction
// made. A node has no disk address; it stays in memory until it is freed or a checkpoint has written it. Readers find a
// page through a hint and compare the frame's disk address inside an epoch. They lock the pool only if the hint is wrong.
//
// Invariants:
// - `table` contains exactly the frames whose disk address is set.
// - A frame gets other content after limbo, or when no thread sees it.
// - A frame's generation changes when its content is unpublished, and again before it gets other content: readers that have found the former content may
//   read the generation until they leave their epochs.

import Glibc
import HornbeamThreads
import Synchronization

@safe final class FramePool: Sendable {
    let pageSize: Int
    /// The goal for the number of frames in use. Nodes that are not written yet may exceed it.
    let capacity: Int
    let epochs = Epochs()
    /// A number that is added to the transaction in hints for rows, so that a hint from another pool is invalid. A program may still have such
    /// hints after it has closed a store and opened it again.
    let mark = FramePool.poolsMade.wrappingAdd(1, ordering: .relaxed).newValue &* 0x9E37_79B9
    private static let poolsMade = Atomic<UInt64>(0)
    let files: PageFiles
    let maximum: Int
    private let memory: PoolMemory
    let prefaulter = Prefaulter()
    nonisolated(unsafe) let base: UnsafeMutableRawPointer  // fixed at init
    nonisolated(unsafe) let infos: UnsafeMutablePointer<FrameInfo>  // fixed at init; cells as FrameInfo says
    let state = Guarded(State())

    struct State {
        var free: [UInt32] = []
        /// Free frames whose memory was returned to the system; highest first.
        var freeWithoutMemory: [UInt32] = []
        var limbo: [(frame: UInt32, epoch: UInt64)] = []
        var table: [UInt64: UInt32] = [:]
        /// Frames 1 ..< `end` have been used at least once.
        var end: UInt32 = 1
        var prefaulted: UInt32 = 1
        var hasHugePages = false
        var clockHand: UInt32 = 1
        /// The number of allocations before the clock runs again, after it found too few pages.
        var allocationsUntilClock = 0
        /// The number of frames whose memory is used outside of the pool.
        var reserved = 0
        var inUse: Int { Int(end) - 1 - free.count - freeWithoutMemory.count - limbo.count }
    }

    /// The number of frames in limbo at which they are reclaimed. Reading the epochs of all threads takes too long for fewer frames.
    private static let reclaimedAtOnce = 16

    /// - Parameters:
    ///   - bytes: The goal for the memory in use.
    ///   - ceiling: The maximum number of frames, including dirty nodes. Allocating more throws `full`.
    init(pageSize: Int, bytes: Int, ceiling: Int? = nil, files: PageFiles) throws(EngineError) {
        self.pageSize = pageSize
        self.files = files
        capacity = max(bytes / pageSize, 16)
        maximum = ceiling ?? max(capacity * 4, 1 << 18)
        guard let memory = PoolMemory.reserve(frames: maximum + 1, pageSize: pageSize) else {
            throw EngineError(
                .full, "The buffer pool could not reserve address space for \(maximum + 1) pages of \(pageSize) bytes; choose a smaller pool.",
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
        memory.saveOrUnmap(framesUsed: end)
        unsafe infos.deinitialize(count: end)
        unsafe infos.deallocate()
    }

    @inline(__always)
    func page(_ frame: UInt32) -> Page { unsafe Page(base + Int(frame) * pageSize) }

    /// True if the frame contains the page of this address now. The result is valid inside an epoch only.
    @inline(__always)
    func holds(_ frame: UInt32, _ address: UInt64) -> Bool {
        guard unsafe infos[Int(frame)].diskAddress.load(ordering: .acquiring) == address else { return false }
        epochs.point("a page that was found")
        recordUse(of: frame)
        return true
    }

    /// Marks the frame as recently used, for the clock.
    @inline(__always)
    func recordUse(of frame: UInt32) {
        if unsafe !infos[Int(frame)].isRecent.load(ordering: .relaxed) {
            unsafe infos[Int(frame)].isRecent.store(true, ordering: .relaxed)
        }
    }

    @inline(__always)
    func generation(_ frame: UInt32) -> UInt32 {
        unsafe infos[Int(frame)].generation.load(ordering: .acquiring)
    }

    /// Marks the copy of a node as verified like its original.
    func inheritVerification(of frame: UInt32, to copy: UInt32) {
        let serial = unsafe infos[Int(frame)].verifiedFor.load(ordering: .acquiring)
        unsafe infos[Int(copy)].verifiedFor.store(serial, ordering: .relaxed)
    }

    /// The disk address and stamp of a frame's page; nil if it is not on disk.
    func diskReference(_ frame: UInt32) -> (address: UInt64, stamp: UInt64)? {
        let address = unsafe infos[Int(frame)].diskAddress.load(ordering: .acquiring)
        return address == 0 ? nil : (address, unsafe infos[Int(frame)].stamp)
    }

    // MARK: Allocating and freeing frames

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
        setNew(frame, birth: birth)
        return frame
    }

    /// Prepares the record of a frame for a new node.
    func setNew(_ frame: UInt32, birth: UInt64) {
        unsafe infos[Int(frame)].birth = birth
        unsafe infos[Int(frame)].verifiedFor.store(birth == 0 ? 0 : .max, ordering: .relaxed)
        unsafe infos[Int(frame)].shape.store(0, ordering: .relaxed)
        unsafe infos[Int(frame)].death = .max
        unsafe infos[Int(frame)].stamp = 0
    }

    private func takeFrame(_ state: inout State) -> UInt32? {
        if state.inUse + state.reserved >= capacity { makeRoom(&state) }
        if let frame = state.free.popLast() { return frame }
        if state.limbo.count >= FramePool.reclaimedAtOnce { reclaim(&state) }
        if let frame = state.free.popLast() ?? state.freeWithoutMemory.popLast() { return frame }
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

    /// Reduces the goal for the frames in use, because as much memory is used outside of the pool. Returns memory to the system for it.
    func reserve(bytes: Int) {
        state.withLock { state in
            state.reserved += bytes / pageSize
            let excess = state.inUse + state.reserved - capacity
            if excess > 0 { runClock(&state, wanted: excess) }
            reclaim(&state)
            returnMemory(&state, downTo: max(capacity - state.reserved, state.inUse))
        }
    }

    func endReserving(bytes: Int) { state.withLock { $0.reserved -= bytes / pageSize } }

    /// Releases the frames that still contain their retired content.
    func release(_ retired: [RetiredFrame]) {
        guard !retired.isEmpty else { return }
        state.withLock { state in
            for item in retired where holds(item) { unpublish(item.frame, &state) }
        }
    }

    /// True if a frame still contains its retired content. A page must also be evictable, so that no node in memory refers to its frame.
    private func holds(_ item: RetiredFrame) -> Bool {
        guard item.address != 0 else { return generation(item.frame) == item.generation }
        let info = unsafe infos + Int(item.frame)
        return unsafe info.pointee.isEvictable && info.pointee.diskAddress.load(ordering: .relaxed) == item.address
    }

    /// Cancels the retirement of nodes that an undone transaction had replaced.
    func cancelRetirement(_ retired: [RetiredFrame]) {
        for item in retired where item.address == 0 { unsafe infos[Int(item.frame)].death = .max }
    }

    /// Frees a frame whose content no other thread has seen.
    func discard(_ frame: UInt32) {
        unsafe infos[Int(frame)].generation.wrappingAdd(1, ordering: .sequentiallyConsistent)
        state.withLock { $0.free.append(frame) }
    }

    /// Returns the memory of free frames to the system. Frames with memory remain up to the pool's goal, or up to the frames in use plus a
    /// quarter of the goal, if that is more.
    ///
    /// Nodes that wait for a checkpoint, or for a reader of an old version, may need much more memory for a while. The frames remain free; the
    /// next access to one is a page fault.
    func trim() {
        state.withLock { state in
            let goal = capacity - state.reserved
            if state.inUse > goal { runClock(&state, wanted: state.inUse - goal) }
            reclaim(&state)
            returnMemory(&state, downTo: max(goal, state.inUse + capacity / 4))
        }
    }

    // MARK: Pages from disk

    /// The frame with the page of an address; nil if it is not in the pool.
    func frame(holding address: UInt64) -> UInt32? { state.withLock { $0.table[address] } }

    /// Publishes a page that was read into a new frame, and returns the frame. If another thread has published the page already, frees the
    /// given frame and returns the other one.
    func admit(_ frame: UInt32, address: UInt64, stamp: UInt64) -> UInt32 {
        unsafe infos[Int(frame)].stamp = stamp
        return state.withLock { state in
            assert(address != 0 && address >> 63 == 0, "A page that was read has an address in a page file.")
            if let other = state.table[address] {
                state.free.append(frame)
                return other
            }
            publish(frame, address, &state)
            return frame
        }
    }

    func publish(_ frame: UInt32, _ address: UInt64, _ state: inout State) {
        state.table[address] = frame
        unsafe infos[Int(frame)].isEvictable = true
        unsafe infos[Int(frame)].diskAddress.store(address, ordering: .releasing)
    }

    /// Publishes a written node under its disk address. It may be evicted from now on unless `isPinned`.
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

    /// Permits the eviction of written nodes. Called when no node in memory refers to their frames.
    func unpin(_ frames: [UInt32]) {
        state.withLock { _ in
            for frame in frames where unsafe infos[Int(frame)].diskAddress.load(ordering: .relaxed) != 0 {
                unsafe infos[Int(frame)].isEvictable = true
            }
        }
    }

    /// True if `count` frames are free now, without eviction. Other threads may use them before the caller.
    func hasRoom(for count: Int) -> Bool {
        state.withLock { $0.free.count + $0.freeWithoutMemory.count + maximum + 1 - Int($0.end) >= count }
    }

    /// True when three quarters of the maximum number of frames cannot be evicted.
    var isShort: Bool { state.withLock { $0.inUse - $0.table.count > maximum / 4 * 3 } }

    /// The number of frames with nodes that are not on disk yet, or with old nodes that readers may need.
    var unwritten: Int { state.withLock { $0.inUse - $0.table.count } }

    /// The number of frames in use, and of those with a page that is on disk.
    var usage: (inUse: Int, cached: Int) { state.withLock { ($0.inUse, $0.table.count) } }
}
