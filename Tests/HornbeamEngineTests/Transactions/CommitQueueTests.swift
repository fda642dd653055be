import Glibc
import HornbeamThreads
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Work of several threads in groups: each is executed once and has the result that it has alone.
@Suite struct CommitQueueTests {
    private struct Mistake: Error {}

    private func store(_ disk: SimulatedDisk) throws -> TestStore {
        let store = try TestStore(fileSystem: disk)
        try store.write { _ = try $0.createIndex(named: "t") }
        return store
    }

    private static func put(_ key: UInt8) -> CommitQueue.Work {
        { transaction in
            try transaction.put([key], [key], in: transaction.tree(named: "t")!)
            return nil
        }
    }

    private static func keys(_ engine: Engine) throws -> [UInt8] {
        var keys: [UInt8] = []
        let snapshot = try engine.snapshot()
        try snapshot.index(snapshot.tree(named: "t")!).forEach(in: KeyRange()) { (key, _) throws(EngineError) -> Bool in
            keys.append(key[0])
            return true
        }
        return keys
    }

    @Test(arguments: [false, true])
    func refusedWorkReportsItsErrorAndHasNoEffect(isShared: Bool) throws {
        let store = try store(SimulatedDisk())
        let engine = store.engine
        let base = engine.latest
        let refusal = #expect(throws: RefusedWork.self) {
            try engine.queue.commit(.full, isShared: isShared, begin: engine.begin) { transaction in
                _ = try Self.put(1)(transaction)
                throw Mistake()
            }
        }
        #expect(refusal?.base == base && refusal?.error is Mistake)
        #expect(throws: Mistake.self) {
            try engine.queue.commit(.full, isShared: isShared, begin: { throw Mistake() }, Self.put(1))
        }
        let number = try engine.queue.commit(.full, isShared: isShared, begin: engine.begin, Self.put(2))
        #expect(number == base.next && engine.latest == number)
        #expect(try Self.keys(engine) == [2])
        let unchanged = try engine.queue.commit(.full, isShared: isShared, begin: engine.begin) { _ in nil }
        #expect(unchanged == number, "work without changes has no number of its own")
    }

    /// Otherwise each waiting thread would wait for another process as long as the one before it.
    @Test func workThatWaitsForALeaderThatCannotBeginGetsItsError() throws {
        let store = try store(SimulatedDisk())
        let queue = store.engine.queue
        let errors = Guarded<[any Error]>([])
        Cores.share(3) { part in
            do {
                _ = try queue.commit(
                    .full, isShared: true,
                    begin: {
                        // The leader fails when the others wait.
                        while queue.waitingCount < 2 { usleep(100) }
                        throw Mistake()
                    }, Self.put(UInt8(part)))
            } catch { errors.withLock { $0.append(error) } }
        }
        #expect(errors.withLock { $0.count { $0 is Mistake } } == 3)
        _ = try queue.commit(.full, isShared: true, begin: store.engine.begin, Self.put(9))
        #expect(try Self.keys(store.engine) == [9])
    }

    @Test func workThatJoinsAFailingGroupIsAnsweredWithIt() throws {
        let store = try store(SimulatedDisk())
        let transaction = try store.engine.begin()
        let group = CommitGroup(transaction)
        let members = [UInt8(1), 2].map { key in
            let member = QueuedWork()
            member.set(Self.put(key), .full)
            return member
        }
        try group.execute(members[0])
        // As if a page with the entries to change were unreadable.
        transaction.hasFailed = true
        #expect(throws: (any Error).self) { try group.execute(members[1]) }
        #expect(group.members.elementsEqual(members) { $0 === $1 })
        group.abort()
        #expect(try Self.keys(store.engine).isEmpty)
    }

    @Test func afterAFailureOfTheLogAllMembersAreInDoubt() throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let store = try TestStore(fileSystem: faults)
        try store.write { _ = try $0.createIndex(named: "t") }
        faults.add(FaultRule(.failSyncKeepingNew, calls: [.sync], kind: .log, isSticky: true))
        for isShared in [true, false] {
            do {
                _ = try store.engine.queue.commit(.full, isShared: isShared, begin: store.engine.begin, Self.put(1))
                Issue.record("nothing can be acknowledged")
            } catch let failed as FailedCommit {
                #expect(failed.error.code == .durabilityLost)
            } catch let error as EngineError {
                #expect(!isShared && error.code == .durabilityLost, "the second cannot begin")
            }
        }
    }

    /// Three threads put keys; the work of key 11 fails; a further thread writes without the queue.
    @Test(arguments: 0..<40 as Range<UInt64>)
    func groupedWorkIsAsIfAlone(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for _ in 0..<4 {
            let preemptions = (0..<Int.random(in: 0...5, using: &random)).map { _ in
                Schedule.Preemption(point: Int.random(in: 0..<160, using: &random), target: Int.random(in: 0..<3, using: &random))
            }
            let schedule = Schedule(preemptions: preemptions, seed: UInt64.random(in: 0..<1 << 20, using: &random))
            let problems = try run(schedule)
            #expect(problems.isEmpty, "seed \(seed), schedule \(schedule)")
        }
    }

    private func run(_ schedule: Schedule) throws -> [String] {
        let disk = SimulatedDisk()
        let store = try store(disk)
        let engine = store.engine
        let reported = Guarded<[UInt64]>([])
        let given = Guarded<[UInt64: UInt8]>([:])
        let problems = Guarded<[String]>([])
        let parts = (0..<3 as Range<UInt8>).map { thread in
            Interleaving.Part("\(thread)") {
                for round in 0..<3 as Range<UInt8> {
                    let key = thread * 10 + round
                    do {
                        let number = try engine.queue.commit(.full, isShared: true, begin: engine.begin) { transaction in
                            if key == 11 { throw Mistake() }
                            _ = try Self.put(key)(transaction)
                            return { number in reported.withLock { $0.append(number.rawValue) } }
                        }
                        given.withLock { $0[number.rawValue] = key }
                        if engine.latest < number { problems.withLock { $0.append("\(key) returned before it was published") } }
                        if key == 11 { problems.withLock { $0.append("refused work was committed") } }
                    } catch let refusal as RefusedWork where refusal.error is Mistake && key == 11 {}
                }
            }
        }
        let other = Interleaving.Part("other") {
            let transaction = try engine.begin()
            _ = try Self.put(200)(transaction)
            _ = try transaction.commit()
            try engine.checkpoint()
        }
        let result = Interleaving(schedule).run(parts + [other])
        if let stopReason = result.stopReason { return [stopReason] }
        var found = problems.withLock(\.self) + result.failures.map { "\($0.name) failed: \($0.error)" }
        let numbers = given.withLock { $0.keys.sorted() }
        if numbers.count != 8 { found.append("\(numbers.count) numbers for 8 transactions") }
        if reported.withLock(\.self) != numbers { found.append("published \(reported.withLock(\.self)), returned \(numbers)") }
        let expected = (given.withLock { Array($0.values) } + [200]).sorted()
        // Without a close: what was acknowledged is in the log.
        for engine in [engine, try TestStore(fileSystem: disk.copy()).engine] where try Self.keys(engine) != expected {
            found.append("the keys are \(try Self.keys(engine))")
        }
        return found
    }

    @Test func aGroupIsAsDurableAsItsStrongestMember() {
        #expect(CommitGroup.durability(of: [.lazy(maxDelay: .zero), .full]) == .full)
        #expect(CommitGroup.durability(of: [.lazy(maxDelay: .seconds(2)), .lazy(maxDelay: .seconds(1))]) == .lazy(maxDelay: .seconds(1)))
    }
}
