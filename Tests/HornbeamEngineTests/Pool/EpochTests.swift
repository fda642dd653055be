import Foundation
import Testing

@testable import HornbeamEngine

@Suite struct EpochTests {
    @Test("no reader is overlooked, whether threads have cells of their own or share them", arguments: [0, 4, 128], [1, 20])
    func noReaderIsOverlooked(ownCount: Int, readers: Int) {
        let epochs = Epochs(ownCount: ownCount)
        let (inside, onward, outside) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        for _ in 0..<readers {
            Thread.detachNewThread {
                let outer = epochs.enter()
                // A read inside of a read does not end it.
                epochs.leave(epochs.enter())
                inside.signal()
                onward.wait()
                epochs.leave(outer)
                outside.signal()
            }
        }
        for _ in 0..<readers { inside.wait() }
        let stamp = epochs.stamp()
        for _ in 0..<readers {
            #expect(epochs.oldestReader() <= stamp)
            onward.signal()
            outside.wait()
        }
        #expect(epochs.oldestReader() == .max)
    }

    @Test("a reader that enters after a frame was taken out of use does not keep it")
    func laterReadersKeepNothing() {
        let epochs = Epochs()
        let stamp = epochs.stamp()
        let reader = epochs.enter()
        #expect(epochs.oldestReader() > stamp)
        epochs.leave(reader)
    }
}
