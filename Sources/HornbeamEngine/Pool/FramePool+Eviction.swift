// Room in the pool: the clock evicts pages, and limbo holds their frames until no reader can see them.

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

    /// Unpublishes a frame and puts it in limbo.
    func unpublish(_ frame: UInt32, _ state: inout State) {
        assert(frame > 0 && frame < state.end, "A frame in use has been taken before.")
        let address = unsafe infos[Int(frame)].diskAddress.load(ordering: .relaxed)
        if address != 0 {
            unsafe infos[Int(frame)].diskAddress.store(0, ordering: .sequentiallyConsistent)
            state.table[address] = nil
        }
        unsafe infos[Int(frame)].isEvictable = false
        unsafe infos[Int(frame)].generation.wrappingAdd(1, ordering: .sequentiallyConsistent)
        let stamp = epochs.stamp()
        assert(state.limbo.last.map { $0.epoch < stamp } ?? true, "Frames come into limbo in the order of their stamps.")
        state.limbo.append((frame, stamp))
    }
}
