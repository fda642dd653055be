import Testing

@testable import CrashHarness

/// Short runs of the modes with concurrent contexts; `Scripts/test-threads` runs them under ThreadSanitizer.
@Suite struct ContextModeTests {
    @Test("eight contexts save overlapping changes, and no update is lost without a report", arguments: [1, 2])
    func stress(seed: Int) throws {
        let options = try HarnessOptions(["stress", "--count", "1", "--seed", "\(seed)", "--steps", "15"])
        #expect(try Run(StressMode.self, options).perform() == 0)
    }

    @Test("a worker runs for the given time, and each of its increments is counted")
    func timedWorkers() throws {
        let stack = try StressStack(inMemory: true)
        defer { stack.remove() }
        let start = ContinuousClock.now
        let tally = try stack.worker(0, 1, 3, seconds: 0.3)
        #expect(ContinuousClock.now - start >= .milliseconds(300))
        #expect(tally.saves + tally.refused >= 3)
        try stack.judge(tally)
    }

    @Test("every step of the soak leaves a sound store with the rows that it should have")
    func soak() throws {
        let options = try HarnessOptions(["soak", "--count", "40", "--seed", "1", "--rows", "800"])
        #expect(try Run(SoakMode.self, options).perform() == 0)
    }

    @Test("growth is found, and a level stays one")
    func gauge() {
        var (level, growing) = (SoakGauge(), SoakGauge())
        for number in 0..<40 {
            level.note(SoakSample(resident: (100 << 20) + number % 3, stored: 10 << 20, openFiles: 9))
            growing.note(SoakSample(resident: 100 << 20, stored: (10 + 10 * number) << 20, openFiles: 9))
        }
        #expect(level.finding == nil)
        #expect(growing.finding?.description == "the store grew from 167772160 to 377487360")
    }
}
