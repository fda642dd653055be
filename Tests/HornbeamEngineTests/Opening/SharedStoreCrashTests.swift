import HornbeamThreads
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Engines that share a store: power failures, processes that die, and threads in chosen orders.
@Suite struct SharedStoreCrashTests {
    private static let options = SharedStoreTests.sharing(EngineOracle.smallest)

    @Test func everyCrashKeepsTheCommitsOfAllEngines() throws {
        let oracle = EngineOracle(seed: 3, transactions: 28, options: Self.options)
        var enumerator = CrashEnumerator(seed: 7)
        enumerator.subsetsUpTo = 2
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 5
        let report = try enumerator.run(
            workload: { disk in
                let engines = try SharedStoreTests.open(2, disk, oracle.options)
                for number in 1...24 as ClosedRange<UInt64> { try oracle.commit(to: engines[Int(number / 2 % 2)], through: number, disk: disk) }
                for engine in engines { try engine.close() }
            },
            verify: { image in
                guard try image.disk.exists("s.hornbeam/meta") || image.acknowledged > 0 else { return }
                // Another process has just opened the store and has not had the turn: a record from before the crash must have no effect.
                let other = try image.disk.share("s.hornbeam/meta", recordingHolderIn: "s.hornbeam/lock")
                try oracle.judge(image)
                other.release()
            })
        #expect(report.images > 100)
    }

    /// One engine dies at a call of the file system; every third call is tried. The other one continues, and a new engine joins it.
    @Test("an engine dies at a call of the file system; the other one goes on", arguments: 0..<4)
    func deathAtACall(part: Int) throws {
        let oracle = EngineOracle(seed: 11, transactions: 60, options: Self.options)
        var after = part
        while true {
            let disk = SimulatedDisk()
            let survivor = try SharedStoreTests.open(1, disk, oracle.options)[0]
            try oracle.commit(to: survivor, through: 4)
            let faults = FaultInjector(disk)
            faults.add(FaultRule(.fail(.inputOutput), after: after, isSticky: true))
            let (engine, acknowledged) = Self.runUntilDeath(oracle, faults)
            let died = faults.firedCount > 0
            engine?.sharing?.turn.lock.release()
            try Self.goOn(oracle, survivor, disk, acknowledged: max(acknowledged, 4), "dies after call \(after)")
            withExtendedLifetime(engine) {}
            if !died { break }
            after += 12
        }
        #expect(after > 60)
    }

    /// The first engine dies at a call of its opening or of a commit. The second one, which recovers the store, dies at each twelfth call.
    @Test("an engine dies while it recovers the store after the death of another one", arguments: 0..<4, [25, 45, 80])
    func deathDuringRecovery(part: Int, first: Int) throws {
        let oracle = EngineOracle(seed: 13, transactions: 60, options: Self.options)
        var after = part
        while true {
            let disk = SimulatedDisk()
            let survivor = try SharedStoreTests.open(1, disk, oracle.options)[0]
            try oracle.commit(to: survivor, through: 4)
            var acknowledged: UInt64 = 4
            var dead: [Engine?] = []
            var died = false
            for calls in [first, after] {
                let faults = FaultInjector(disk)
                faults.add(FaultRule(.fail(.inputOutput), after: calls, isSticky: true))
                let (engine, newest) = Self.runUntilDeath(oracle, faults)
                acknowledged = max(acknowledged, newest)
                engine?.sharing?.turn.lock.release()
                dead.append(engine)
                died = faults.firedCount > 0
            }
            try Self.goOn(oracle, survivor, disk, acknowledged: acknowledged, "they die after calls \(first) and \(after)")
            withExtendedLifetime(dead) {}
            if !died { break }
            after += 12
        }
        #expect(after > 24)
    }

    /// The process with the failed sync is alive: it hands the turn over without a record.
    @Test(
        "a sync of one engine fails; the other one continues with all acknowledged commits",
        arguments: [FaultRule.Effect.failSyncKeepingNew, .failSyncRevertingToOld])
    func failedSync(effect: FaultRule.Effect) throws {
        let oracle = EngineOracle(seed: 17, transactions: 60, options: Self.options)
        var after = 0
        while true {
            let disk = SimulatedDisk()
            let survivor = try SharedStoreTests.open(1, disk, oracle.options)[0]
            try oracle.commit(to: survivor, through: 4)
            let faults = FaultInjector(disk)
            faults.add(FaultRule(effect, calls: [.sync, .syncDirectory], after: after))
            let (engine, acknowledged) = Self.runUntilDeath(oracle, faults)
            try survivor.begin().abort()
            engine?.sharing?.turn.lock.release()
            try Self.goOn(oracle, survivor, disk, acknowledged: max(acknowledged, 4), "sync \(after) fails")
            withExtendedLifetime(engine) {}
            if faults.firedCount == 0 { break }
            after += 1
        }
        #expect(after > 10)
    }

    /// Opens an engine and commits up to transaction 13. The newest acknowledged transaction.
    private static func runUntilDeath(_ oracle: EngineOracle, _ faults: FaultInjector) -> (engine: Engine?, acknowledged: UInt64) {
        var acknowledged: UInt64 = 0
        guard let engine = try? Engine.open(EngineOracle.path, fileSystem: faults, options: oracle.options) else { return (nil, 0) }
        do {
            while acknowledged < 13 {
                try oracle.commitNext(to: engine, disk: nil)
                acknowledged = try oracle.newest(in: engine.snapshot())
            }
        } catch {}
        return (engine, acknowledged)
    }

    private static func goOn(_ oracle: EngineOracle, _ survivor: Engine, _ disk: SimulatedDisk, acknowledged: UInt64, _ place: String) throws {
        let transaction = try survivor.begin()
        let found = try oracle.next(for: transaction) - 1
        transaction.abort()
        guard found >= acknowledged, found <= 14 else { throw Finding("\(place): \(found) of \(acknowledged) commits") }
        try oracle.expectContent(survivor)
        try oracle.commit(to: survivor, through: found + 4)
        let other = try Engine.open(EngineOracle.path, fileSystem: disk, options: oracle.options)
        try oracle.commit(to: other, through: found + 8)
        try oracle.commit(to: survivor, through: found + 12)
        try oracle.expectContent(survivor)
        try other.close()
        try survivor.close()
        let alone = try Engine.open(EngineOracle.path, fileSystem: disk, options: EngineOracle.smallest)
        guard try oracle.newest(in: alone.snapshot()) == found + 12 else { throw Finding("\(place): commits are missing at the end") }
        try oracle.expectSound(alone)
        try alone.close()
    }

    @Test("two engines with two commits each, in orders of up to six preemptions", arguments: 0..<20 as Range<UInt64>)
    func schedules(seed: UInt64) throws {
        let oracle = EngineOracle(seed: seed, transactions: 12, bigEvery: 5, options: Self.options)
        var random = SplitMix(seed: seed)
        for _ in 0..<6 {
            let preemptions = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                Schedule.Preemption(point: Int.random(in: 0..<600, using: &random), target: Int.random(in: 0..<3, using: &random))
            }
            let schedule = Schedule(preemptions: preemptions.sorted { $0.point < $1.point }, seed: UInt64.random(in: 0..<1 << 20, using: &random))
            try Self.run(schedule, oracle)
        }
    }

    private static func run(_ schedule: Schedule, _ oracle: EngineOracle) throws {
        let disk = SimulatedDisk()
        let interleaving = Interleaving(schedule)
        let engines = try SharedStoreTests.open(2, disk, oracle.options)
        try oracle.commit(to: engines[0], through: 2)
        let parts = (0..<2).map { number in
            Interleaving.Part("writer \(number)") { for _ in 0..<2 { try oracle.commitNext(to: engines[number], disk: nil) } }
        }
        let reader = Interleaving.Part("reader") {
            for _ in 0..<2 {
                _ = try engines[1].refresh()
                try oracle.expectContent(engines[1])
            }
        }
        let outcome = interleaving.run(parts + [reader])
        let trace = outcome.switches.map(\.description).joined(separator: "\n")
        if let reason = outcome.stopReason { throw Finding("\(schedule): \(reason)\n\(trace)") }
        if let failure = outcome.failures.first { throw Finding("\(schedule): \(failure.name): \(failure.error)\n\(trace)") }
        for engine in engines { try engine.close() }
        let alone = try Engine.open(EngineOracle.path, fileSystem: disk, options: EngineOracle.smallest)
        guard try oracle.newest(in: alone.snapshot()) == 6 else { throw Finding("\(schedule): commits are missing\n\(trace)") }
        try oracle.expectSound(alone)
        try alone.close()
    }
}
