// Room in the pool: the clock evicts pages, and limbo holds their frames until no reader can see them. A writer can take the frame of a page that it
// replaces.

import HornbeamThreads
import Synchronization

extension FramePool {
    /// Evicts pages when the frames in use reach the pool's goal.
    ///
    /// While a reader stays in its epoch for long, evicted frames stay in limbo and others come into use. Their memory is released later, except a few
    /// megabytes: scans by several threads that wait for the disk need them again at once, and a page fault costs more than reading a page.
    func makeRoom(_ state: inout State) {
        guard state.allocationsUntilClock == 0 else { return state.allocationsUntilClock -= 1 }
        runClock(&state, wanted: 32)
        reclaim(&state)
        let kept = max(capacity / 8 - state.reserved, FramePool.freeKept)
        if state.free.count > kept { returnMemory(&state, downTo: state.inUse + kept / 2) }
    }

    /// The number of free frames that keep their memory in a small pool.
    private static let freeKept = 256

    /// Moves the frames that no reader can see from limbo to the free list.
    func reclaim(_ state: inout State) {
        // Frames come into limbo in the order of their stamps. A barrier takes much longer than finding a reader that keeps the first of them, often
        // the caller itself.
        guard let first = state.limbo.first, first.epoch < epochs.oldestVisibleReader() else { return }
        let oldest = epochs.oldestReader()
        var kept = 0
        for entry in state.limbo {
            if entry.epoch < oldest {
                changeGeneration(entry.frame)
                state.free.append(entry.frame)
            } else {
                state.limbo[kept] = entry
                kept += 1
            }
        }
        state.limbo.removeLast(state.limbo.count - kept)
    }

    /// The clock: evicts up to `wanted` pages that were not used recently.
    func runClock(_ state: inout State, wanted: Int) {
        var found = 0
        var steps = 2 * Int(state.end)
        while found < wanted, steps > 0 {
            steps -= 1
            state.clockHand = state.clockHand + 1 < state.end ? state.clockHand + 1 : 1
            let frame = state.clockHand
            guard unsafe infos[Int(frame)].isEvictable else { continue }
            if unsafe infos[Int(frame)].isRecent.exchange(false, ordering: .relaxed) { continue }
            unpublish(frame, &state)
            found += 1
        }
        if found < wanted { state.allocationsUntilClock = capacity / 4 }
    }

    /// Evicts cached pages that a transaction has replaced. A reader that needs one reads it from disk again. So a change of a whole tree
    /// reuses memory. New memory costs page faults, which take much longer than a copy.
    func evict(pages addresses: [UInt64]) {
        state.withLock { state in
            for address in addresses {
                guard let frame = state.table[address], unsafe infos[Int(frame)].isEvictable else { continue }
                unpublish(frame, &state)
            }
        }
    }

    /// Unpublishes a frame and puts it in limbo.
    func unpublish(_ frame: UInt32, _ state: inout State) {
        let stamp = withdraw(frame, &state)
        assert(state.limbo.last.map { $0.epoch < stamp } ?? true, "Frames come into limbo in the order of their stamps.")
        state.limbo.append((frame, stamp))
    }

    /// Unpublishes a frame. The caller may use it for other content, with a further generation, when `oldestReader()` exceeds the returned stamp.
    private func withdraw(_ frame: UInt32, _ state: inout State) -> UInt64 {
        assert(frame > 0 && frame < state.end, "A frame in use has been taken before.")
        let address = unsafe infos[Int(frame)].diskAddress.load(ordering: .relaxed)
        if address != 0 {
            unsafe infos[Int(frame)].diskAddress.store(0, ordering: .sequentiallyConsistent)
            state.table[address] = nil
        }
        unsafe infos[Int(frame)].isEvictable = false
        changeGeneration(frame)
        return epochs.stamp()
    }

    private func changeGeneration(_ frame: UInt32) { unsafe infos[Int(frame)].generation.wrappingAdd(1, ordering: .sequentiallyConsistent) }

    // MARK: Taking frames

    /// Unpublishes cached pages, and returns their frames in the order of the addresses; nil for a page that is not cached. The frames keep their content
    /// until the caller changes it, adopts the frames or returns them. A reader that needs one of the pages reads it from disk again.
    ///
    /// `areUnseen` is false if a reader may still see the frames, perhaps the caller itself: then they must not be changed.
    func take(pages addresses: [UInt64]) -> (frames: [UInt32?], areUnseen: Bool) {
        var last: UInt64 = 0
        let frames: [UInt32?] = state.withLock { state in
            addresses.map { address in
                guard let frame = state.table[address], unsafe infos[Int(frame)].isEvictable else { return nil }
                last = withdraw(frame, &state)
                return frame
            }
        }
        // A barrier takes longer than finding a reader without one.
        let areUnseen = last < epochs.oldestVisibleReader() && last < epochs.oldestReader()
        if areUnseen { for case let frame? in frames { changeGeneration(frame) } }
        return (frames, areUnseen)
    }

    /// Makes a node of transaction `birth` from a verified page in a taken frame that no reader sees. It may have been changed.
    func adopt(_ frame: UInt32, birth: UInt64) {
        assert(unsafe infos[Int(frame)].diskAddress.load(ordering: .relaxed) == 0 && !infos[Int(frame)].isEvictable, "A taken frame is unpublished.")
        setNew(frame, birth: birth)
    }

    /// Returns taken frames that were not adopted, each with the address of its page if that is still its content. The page can be found again,
    /// unless another thread has read it meanwhile. Other frames go into limbo.
    func returnTaken(_ frames: [(frame: UInt32, page: UInt64?)]) {
        guard !frames.isEmpty else { return }
        state.withLock { state in
            for (frame, page) in frames {
                if let page, state.table[page] == nil { publish(frame, page, &state) } else { unpublish(frame, &state) }
            }
        }
    }
}
