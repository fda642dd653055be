import Foundation
import Synchronization
import Testing

@testable import HornbeamEngine

@Suite(.timeLimit(.minutes(20))) struct EpochTests {
    /// Threads that all read at once; each starts a nested read.
    @Test("no reader is overlooked and none waits, however many threads there are", arguments: [1, 4, 128], [1, 8, 128, 200, 1000])
    func noReaderIsOverlooked(firstCount: Int, readers: Int) {
        let epochs = Epochs(firstCount: firstCount)
        let (inside, nested) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let (onward, outward, outside) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        for _ in 0..<readers {
            Thread.detachNewThread {
                let outer = epochs.enter()
                inside.signal()
                onward.wait()
                // A read inside of a read does not end it.
                epochs.leave(epochs.enter())
                nested.signal()
                outward.wait()
                epochs.leave(outer)
                outside.signal()
            }
        }
        for _ in 0..<readers { inside.wait() }
        for _ in 0..<readers { onward.signal() }
        for _ in 0..<readers { nested.wait() }
        let stamp = epochs.stamp()
        for _ in 0..<readers {
            #expect(epochs.oldestReader() <= stamp)
            outward.signal()
            outside.wait()
        }
        #expect(epochs.oldestReader() == .max)
    }

    @Test("a reader that enters after a frame was retired does not delay its reuse")
    func laterReadersKeepNothing() {
        let epochs = Epochs()
        let stamp = epochs.stamp()
        let reader = epochs.enter()
        #expect(epochs.oldestReader() > stamp)
        epochs.leave(reader)
    }

    @Test("a reader that is visible without a barrier keeps frames without one")
    func aVisibleReaderNeedsNoBarrier() {
        final class Count: Sendable { let value = Atomic(0) }
        let barriers = Count()
        let epochs = Epochs(hasBarrier: true, putBarrier: {
            barriers.value.add(1, ordering: .relaxed)
            return 0
        })
        let reader = epochs.enter()
        let stamp = epochs.stamp()
        let visible = epochs.oldestVisibleReader()
        #expect(visible <= stamp)
        #expect(barriers.value.load(ordering: .relaxed) == 0)
        #expect(epochs.oldestReader() <= visible)
        #expect(barriers.value.load(ordering: .relaxed) == 1)
        epochs.leave(reader)
        #expect(epochs.oldestVisibleReader() == .max)
    }

    @Test("a kernel that refuses a barrier costs a pause, and no reader is overlooked after it")
    func aRefusedBarrierIsDoneWithout() {
        let epochs = Epochs(hasBarrier: true, putBarrier: { -1 }, pauseNanoseconds: 50_000_000)
        let stamp = epochs.stamp()
        #expect(epochs.oldestReader() == 0, "nothing may be reused while it is not known who reads")
        usleep(60_000)
        #expect(epochs.oldestReader() > stamp)
        let reader = epochs.enter()
        let later = epochs.stamp()
        #expect(epochs.oldestReader() <= later)
        epochs.leave(reader)
        #expect(epochs.oldestReader() == .max)
    }
}
