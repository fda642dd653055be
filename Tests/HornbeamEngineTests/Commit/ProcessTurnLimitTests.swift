import Glibc
import HornbeamThreads
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The time limit of a transaction that waits for the turn of a process.
@Suite struct ProcessTurnLimitTests {
    /// The time limit ended before the thread could take the free turn.
    @Test func aFreeTurnIsTakenWithATimeLimitOfZero() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: ProcessTurnTests.options())
        try ProcessTurnTests.increment(first)
        let second = try Engine.open(path, options: ProcessTurnTests.options { $0.busyTimeout = .zero })
        try first.close()
        var attempts = 0
        while second.latest.rawValue < 2, attempts < 200 {
            attempts += 1
            do { try ProcessTurnTests.increment(second) } catch let error as EngineError where error.code == .busy {}
        }
        #expect(second.latest.rawValue == 2)
        try second.close()
    }

    /// The process had the turn and read the commits of others, and its transaction threw `busy`.
    @Test func theTimeLimitDoesNotIncludeReadingTheCommitsOfOthers() throws {
        let locks = SharedMemoryLocks()
        let turn = ProcessTurn(locks.join("s") { true }, path: "s", usesThread: true, limit: 1_000_000_000)
        turn.start(.init(takeOver: { usleep(1_500_000) }, handOver: {}, catchUp: { false }), isHeld: false)
        try turn.enter()
        turn.exit()
        #expect(turn.end() == true)
    }

    @Test func aHolderThatDoesNotHandOverIsNamed() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: ProcessTurnTests.options())
        let second = try Engine.open(path, options: ProcessTurnTests.options { $0.busyTimeout = .milliseconds(20) })
        let transaction = try first.begin()
        let busy = #expect(throws: EngineError.self) { try second.begin() }
        #expect(busy?.code == .busy)
        #expect(
            busy?.message
                == "Another process writes the store and did not hand over the turn in time. Try again, or raise the time limit.")
        try transaction.setValue("a", [1])
        _ = try transaction.commit()
        try first.close()
        try second.close()
    }

    /// The computation of the end of the wait overflowed, so the longest limit ended at once.
    @Test(arguments: [Duration.seconds(Int64.max), .seconds(10_000_000_000)]) func theLongestLimitsDoNotEndAtOnce(limit: Duration) throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: ProcessTurnTests.options())
        let second = try Engine.open(path, options: ProcessTurnTests.options { $0.busyTimeout = limit })
        nonisolated(unsafe) let transaction = try first.begin()  // committed by one thread
        try transaction.setValue("a", [1])
        let problems = Guarded<[String]>([])
        Cores.share(2) { part in
            do {
                if part == 1 { return try second.begin().abort() }
                usleep(50_000)
                _ = try transaction.commit()
            } catch { problems.withLock { $0.append("\(error)") } }
        }
        #expect(problems.withLock { $0 } == [])
        for engine in [first, second] { try engine.close() }
    }

    @Test("saves that wait together throw busy together, at the limit of the first one")
    func queuedSavesAreBusyTogether() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: ProcessTurnTests.options())
        let second = try Engine.open(path, options: ProcessTurnTests.options { $0.busyTimeout = .seconds(3) })
        let turn = try #require(second.sharing?.turn)
        let transaction = try first.begin()
        let errors = Guarded<[EngineError.Code?]>([])
        Cores.share(3) { part in
            // The first one leads and waits for the turn; the others wait for it.
            while part > 0, errors.withLock({ $0.isEmpty }), turn.monitor.withLock({ turn.state.waiters }) == 0 { usleep(1000) }
            do {
                _ = try second.queue.commit(.full, isShared: true, begin: { try second.begin() }) { transaction in
                    try transaction.setValue("\(part)", [1])
                    return nil
                }
            } catch { errors.withLock { $0.append((error as? EngineError)?.code) } }
        }
        #expect(errors.withLock { $0 } == [.busy, .busy, .busy])
        #expect(turn.monitor.withLock { turn.state.arrivals } == 1)
        transaction.abort()
        for engine in [first, second] { try engine.close() }
    }
}
