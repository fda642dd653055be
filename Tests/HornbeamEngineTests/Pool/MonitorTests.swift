import Testing

@testable import HornbeamEngine
@testable import HornbeamThreads

@Suite struct MonitorTests {
    /// A deadline of one clock given to a wait by another ends at once, or in decades.
    @Test(.timeLimit(.minutes(20)))
    func aWaitEndsAfterItsTime() {
        let monitor = Monitor()
        let start = ContinuousClock.now
        for _ in 0..<5 { monitor.withLock { monitor.wait(.progress, milliseconds: 20) } }
        #expect(ContinuousClock.now - start >= .milliseconds(90))
    }
}
