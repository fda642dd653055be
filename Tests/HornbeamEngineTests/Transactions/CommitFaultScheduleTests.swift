import Glibc
import HornbeamThreads
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Commits of several threads while the log fails: the result that each thread receives agrees with the state that an opening finds.
@Suite struct CommitFaultScheduleTests {
    /// 400 seeds, or as many as HORNBEAM_TEST_SEEDS names.
    private static let seeds = 0 ..< (getenv("HORNBEAM_TEST_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 400)

    private enum Answer: Equatable {
        case committed, inDoubt
        /// With the error.
        case refused(String)
    }

    private static func store(_ disk: SimulatedDisk, _ faults: FaultInjector) throws -> TestStore {
        let store = try TestStore(fileSystem: faults)
        try store.write { _ = try $0.createIndex(named: "t") }
        return store
    }

    /// Puts a key unless the store has it, as an insert with a unique key does.
    private static func putOnce(_ key: UInt8) -> CommitQueue.Work {
        { transaction in
            guard let tree = transaction.tree(named: "t"), try transaction.index(tree).get([key]) == nil else { return nil }
            try transaction.put([key], [key], in: tree)
            return nil
        }
    }

    private static func commit(_ engine: Engine, _ key: UInt8, isShared: Bool) -> Answer {
        do {
            _ = try engine.queue.commit(.full, isShared: isShared, begin: engine.begin, putOnce(key))
            return .committed
        } catch let failed as FailedCommit {
            return failed.error.code == .durabilityLost ? .inDoubt : .refused("\(failed)")
        } catch { return .refused("\(error)") }
    }

    private static func keys(_ disk: SimulatedDisk) throws -> Set<UInt8> {
        let engine = try TestStore(fileSystem: disk).engine
        let snapshot = try engine.snapshot()
        var keys: Set<UInt8> = []
        try snapshot.index(snapshot.tree(named: "t")!).forEach(in: KeyRange()) { (key, _) throws(EngineError) -> Bool in
            keys.insert(key[0])
            return true
        }
        return keys
    }

    /// The disk after a power failure that loses all bytes that are not synced.
    private static func afterPowerFailure(_ disk: SimulatedDisk) -> SimulatedDisk {
        let journal = disk.journal
        var model = CrashModel(journal)
        for operation in journal.operations { model.apply(operation) }
        return SimulatedDisk(model.image([CrashModel.Fate](repeating: .dropped, count: model.pieces.count)))
    }

    private static func schedule(_ random: inout SplitMix, threads: Int) -> Schedule {
        let preemptions = (0..<Int.random(in: 0...5, using: &random)).map { _ in
            Schedule.Preemption(point: Int.random(in: 0..<200, using: &random), target: Int.random(in: 0..<threads, using: &random))
        }
        return Schedule(preemptions: preemptions, seed: UInt64.random(in: 0..<1 << 20, using: &random))
    }

    @Test("a sync of the log that fails beside a close: no commit is refused that an opening may find", arguments: seeds)
    func failedSyncBesideClose(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for _ in 0..<4 {
            let disk = SimulatedDisk()
            let answers = Guarded<[UInt8: Answer]>([:])
            let faults = FaultInjector(disk)
            let engine = try Self.store(disk, faults).engine
            faults.add(FaultRule(.failSyncKeepingNew, calls: [.sync], kind: .log, after: Int.random(in: 0..<3, using: &random), isSticky: true))
            let isShared = Bool.random(using: &random)
            var parts = (0..<3 as Range<UInt8>).map { thread in
                Interleaving.Part("\(thread)") {
                    for round in 0..<2 as Range<UInt8> {
                        let key = thread * 10 + round
                        let answer = Self.commit(engine, key, isShared: isShared)
                        answers.withLock { $0[key] = answer }
                    }
                }
            }
            parts.append(Interleaving.Part("close") { try? engine.close() })
            let schedule = Self.schedule(&random, threads: 4)
            let result = Interleaving(schedule).run(parts)
            #expect(result.stopReason == nil && result.failures.isEmpty, "seed \(seed), schedule \(schedule)")
            let (killed, lost) = (try Self.keys(disk.copy()), try Self.keys(Self.afterPowerFailure(disk)))
            for (key, answer) in answers.withLock(\.self) {
                switch answer {
                case .committed: #expect(killed.contains(key) && lost.contains(key), "key \(key), seed \(seed), schedule \(schedule)")
                case .refused(let error):
                    #expect(!killed.contains(key) && !lost.contains(key), "key \(key) was refused: \(error); seed \(seed), schedule \(schedule)")
                case .inDoubt: break
                }
            }
        }
    }

    @Test("work that changes nothing is acknowledged only when what it read is durable", arguments: seeds)
    func unchangedWorkWaitsForItsBase(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for _ in 0..<4 {
            let disk = SimulatedDisk()
            let answers = Guarded<[Answer]>([])
            let faults = FaultInjector(disk)
            let engine = try Self.store(disk, faults).engine
            faults.add(
                FaultRule(.fail(.full), calls: [.write], kind: .log, after: Int.random(in: 0..<2, using: &random), isSticky: Bool.random(using: &random)))
            let isShared = Bool.random(using: &random)
            // All put the same key, so all but one change nothing.
            let parts = (0..<3).map { thread in
                Interleaving.Part("\(thread)") {
                    let answer = Self.commit(engine, 1, isShared: isShared)
                    answers.withLock { $0.append(answer) }
                }
            }
            let schedule = Self.schedule(&random, threads: 3)
            let result = Interleaving(schedule).run(parts)
            #expect(result.stopReason == nil && result.failures.isEmpty, "seed \(seed), schedule \(schedule)")
            let (killed, lost) = (try Self.keys(disk.copy()), try Self.keys(Self.afterPowerFailure(disk)))
            if answers.withLock({ $0.contains(.committed) }) {
                #expect(killed == [1] && lost == [1], "seed \(seed), schedule \(schedule)")
            }
        }
    }
}
