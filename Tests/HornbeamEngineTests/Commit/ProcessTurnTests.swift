import Glibc
import HornbeamThreads
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The turn of engines with background threads, on the disk of the system.
@Suite struct ProcessTurnTests {
    private static func options(_ configure: (inout EngineOptions) -> Void = { _ in }) -> EngineOptions {
        SharedStoreTests.sharing(EngineOracle.smallest) { options in
            options.usesBackgroundThread = true
            options.busyTimeout = .seconds(300)
            configure(&options)
        }
    }

    private static func number(_ transaction: WriteTransaction) throws -> UInt64 {
        try transaction.value("count")?.reversed().reduce(0) { $0 << 8 | UInt64($1) } ?? 0
    }

    private static func increment(_ engine: Engine) throws {
        let transaction = try engine.begin()
        let next = try number(transaction) + 1
        try transaction.setValue("count", (0..<8).map { UInt8(truncatingIfNeeded: next >> (8 * $0)) })
        _ = try transaction.commit()
    }

    /// Executes in this process what forked children execute, so that they find the metadata of all types. A child that makes metadata waits
    /// forever if another thread of this process was making some at the fork.
    private static let preparation = Result {
        let folder = TemporaryFolder()
        let engines = try (0..<2).map { _ in try Engine.open(folder.path + "/s", options: options()) }
        for _ in 0..<3 { for engine in engines { try increment(engine) } }
        for engine in engines { _ = try engine.refresh() }
        for engine in engines { try engine.close() }
        #expect(throws: EngineError.self) { try engines[0].begin() }
    }

    @Test("engines and their threads count without losing a commit", arguments: [(2, 1), (3, 2)])
    func enginesCount(engines count: Int, threads: Int) throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let engines = try (0..<count).map { _ in try Engine.open(path, options: Self.options()) }
        let problems = Guarded<[String]>([])
        Cores.share(count * threads) { part in
            do { for _ in 0..<60 { try Self.increment(engines[part % count]) } } catch {
                problems.withLock { $0.append("\(error)") }
            }
        }
        #expect(problems.withLock { $0 } == [])
        let transaction = try engines[0].begin()
        #expect(try Self.number(transaction) == UInt64(60 * count * threads))
        transaction.abort()
        for engine in engines { try engine.close() }
    }

    /// The kernel takes all locks of a descriptor for those of one owner, so a closing thread could take the turn that another thread of its process
    /// waited for and released.
    @Test func aTurnThatIsGrantedLateIsNotReleasedBesideTheClosingThread() throws {
        for _ in 0..<20 {
            let folder = TemporaryFolder()
            let path = folder.path + "/s"
            let first = try Engine.open(path, options: Self.options())
            try Self.increment(first)
            let isFree = Guarded(false)
            // Called at the first sync of `meta` by the closing engine, which must have the turn then.
            let disk = FaultInjector(PosixFileSystem()) {
                usleep(20_000)
                let meta = Glibc.open(path + "/meta", O_RDWR)
                defer { close(meta) }
                if (try? PosixFileLock.isHeld(meta, path, bytes: 1..<2)) == false { isFree.withLock { $0 = true } }
            }
            let second = try Engine.open(path, fileSystem: disk, options: Self.options { $0.busyTimeout = .milliseconds(20) })
            let transaction = try first.begin()
            let error = #expect(throws: EngineError.self) { try second.begin() }
            #expect(error?.code == .busy)
            disk.add(FaultRule(.lie, calls: [.sync], kind: .meta))
            first.sharedLock?.release()  // the first process dies
            try second.close()
            #expect(!isFree.withLock { $0 })
            transaction.abort()
        }
    }

    /// The waits for events have no limit, so an event of the other process ends each of them.
    @Test("commits and requests of other processes arrive by events, without polling", .timeLimit(.minutes(20)))
    func commitsAndRequestsArriveByEvents() throws {
        let folder = TemporaryFolder()
        let engines = try (0..<2).map { _ in
            var fileSystem = PosixFileSystem()
            fileSystem.eventWaitMax = -1
            return try Engine.open(folder.path + "/s", fileSystem: fileSystem, options: Self.options())
        }
        let known = Guarded(TransactionNumber.zero)
        engines[1].follow { [weak engine = engines[1]] _ throws(EngineError) in
            let newest = engine?.latest ?? .zero
            known.withLock { $0 = newest }
        }
        let end = ContinuousClock.now + .seconds(600)
        for _ in 0..<20 {
            try Self.increment(engines[0])
            let newest = engines[0].latest
            while known.withLock({ $0 < newest }), ContinuousClock.now < end { usleep(1000) }
            #expect(known.withLock { $0 >= newest })
            // Now the thread of the follower waits, or is about to.
            usleep(20_000)
        }
        // The holder is idle when the other one asks for the turn.
        for number in 0..<20 {
            try Self.increment(engines[number % 2])
            usleep(2000)
        }
        for engine in engines { try engine.close() }
    }

    /// While a process keeps the turn for several transactions, its thread that syncs lazy commits did nothing as soon as another process waited.
    @Test func lazyCommitsAreSyncedWhileAnotherProcessWaits() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: Self.options())
        let second = try Engine.open(path, options: Self.options { $0.busyTimeout = .milliseconds(1500) })
        try Self.increment(first)
        try first.holdTurn()
        let isSynced = Guarded(false)
        Cores.share(2) { part in
            if part == 1 { _ = try? second.begin() } else {
                while first.sharing?.turn.isRequested == false { usleep(1000) }
                do {
                    let transaction = try first.begin()
                    try transaction.setValue("a", [1])
                    _ = try transaction.commit(.lazy(maxDelay: .milliseconds(20)))
                } catch { Issue.record(error) }
                usleep(500_000)
                if let log = first.state.withLock({ $0.log }), log.durable == log.end.position { isSynced.withLock { $0 = true } }
            }
        }
        #expect(isSynced.withLock { $0 })
        first.releaseTurn()
        for engine in [first, second] { try engine.close() }
    }

    /// The hand-over could not sync the lazy commit and reported no error. A thread that waited for that sync waited for ever.
    @Test func aStoreWhoseFolderIsMovedBeforeTheHandOverFails() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let options = Self.options { $0.usesBackgroundThread = false }
        let first = try Engine.open(path, options: options)
        let second = try Engine.open(path, options: options)
        try first.holdTurn()
        let transaction = try first.begin()
        try transaction.setValue("a", [1])
        _ = try transaction.commit(.lazy(maxDelay: .seconds(1000)))
        #expect(rename(path, folder.path + "/elsewhere") == 0)
        first.releaseTurn()
        #expect(#expect(throws: EngineError.self) { try second.begin() }?.code == .durabilityLost)
        let failure = try #require(first.failure)
        #expect(failure.code == .durabilityLost)
        #expect(#expect(throws: EngineError.self) { try first.waitUntilDurable(first.latest) }?.code == .durabilityLost)
        for engine in [first, second] { #expect(throws: EngineError.self) { try engine.close() } }
    }

    @Test(.timeLimit(.minutes(20))) func anEngineIsClosedWhileItsThreadHoldsTheTurn() throws {
        let folder = TemporaryFolder()
        let engines = try (0..<2).map { _ in try Engine.open(folder.path + "/s", options: Self.options()) }
        for engine in engines {
            try Self.increment(engine)
            try engine.holdTurn()
            try engine.close()
            engine.releaseTurn()
        }
    }

    @Test func processesThatWriteWithoutPauseKeepARequestedTurnForSeveralTransactions() throws {
        let locks = SharedMemoryLocks()
        let changes = Guarded(0)
        let turns = (0..<2).map { number in
            let turn = ProcessTurn(locks.join("s") { true }, path: "s", usesThread: true, limit: 300_000_000_000)
            turn.start(.init(takeOver: { changes.withLock { $0 += 1 } }, handOver: {}, catchUp: { false }), isHeld: false)
            return turn
        }
        let users = 20_000
        let failures = Guarded(0)
        Cores.share(2) { part in
            for _ in 0..<users {
                do throws(EngineError) {
                    try turns[part].enter()
                    turns[part].exit()
                } catch { failures.withLock { $0 += 1 } }
            }
        }
        for turn in turns { #expect(turn.end() != nil) }
        #expect(failures.withLock { $0 } == 0)
        // The second process has to take the turn at least once.
        #expect((2..<users / 10).contains(changes.withLock { $0 }))
    }

    /// The time limit ended before the thread could take the free turn.
    @Test func aFreeTurnIsTakenWithATimeLimitOfZero() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: Self.options())
        try Self.increment(first)
        let second = try Engine.open(path, options: Self.options { $0.busyTimeout = .zero })
        try first.close()
        var attempts = 0
        while second.latest.rawValue < 2, attempts < 200 {
            attempts += 1
            do { try Self.increment(second) } catch let error as EngineError where error.code == .busy {}
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
        let first = try Engine.open(path, options: Self.options())
        let second = try Engine.open(path, options: Self.options { $0.busyTimeout = .milliseconds(20) })
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

    @Test("processes take turns after the file `lock` was removed, and make it again")
    func theLockFileIsRemoved() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let engines = try (0..<2).map { _ in try Engine.open(path, options: Self.options()) }
        try Self.increment(engines[0])
        for number in 0..<6 {
            if number % 2 == 0 { #expect(unlink(path + "/lock") == 0) }
            try Self.increment(engines[1 - number % 2])
        }
        #expect(access(path + "/lock", F_OK) == 0)
        let transaction = try engines[1].begin()
        #expect(try Self.number(transaction) == 7)
        transaction.abort()
        for engine in engines { try engine.close() }
    }

    /// The process kept the turn and did not see the requests of others.
    @Test func aProcessWithoutAThreadKeepsNoTurn() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let isRefused = Guarded(true)
        let mayStart: @Sendable () -> Bool = { isRefused.withLock { !$0 } }
        let first = try Engine.open(path, options: Self.options { $0.mayStartThread = mayStart })
        let second = try Engine.open(path, options: Self.options { $0.busyTimeout = .seconds(20) })
        try Self.increment(second)
        #expect(#expect(throws: EngineError.self) { try Self.increment(first) }?.code == .inputOutput)
        isRefused.withLock { $0 = false }
        try Self.increment(first)
        try Self.increment(second)
        let transaction = try first.begin()
        #expect(try Self.number(transaction) == 3)
        transaction.abort()
        for engine in [first, second] { try engine.close() }
    }

    /// The computation of the end of the wait overflowed, so the longest limit ended at once.
    @Test(arguments: [Duration.seconds(Int64.max), .seconds(10_000_000_000)]) func theLongestLimitsDoNotEndAtOnce(limit: Duration) throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: Self.options())
        let second = try Engine.open(path, options: Self.options { $0.busyTimeout = limit })
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

    @Test func theProcessWithTheTurnIsNamed() throws {
        try Self.preparation.get()
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        try Engine.open(path, options: Self.options()).close()
        var begun: [Int32] = [-1, -1]
        var ended: [Int32] = [-1, -1]
        #expect(pipe(&begun) == 0)
        #expect(pipe(&ended) == 0)
        let child = try Fork.start {
            do {
                close(ended[1])
                let engine = try Engine.open(path, options: Self.options())
                let transaction = try engine.begin()
                var byte: UInt8 = 0
                _ = Glibc.write(begun[1], &byte, 1)
                // Until the parent closes the pipe.
                _ = Glibc.read(ended[0], &byte, 1)
                transaction.abort()
                try engine.close()
                return 0
            } catch { return 2 }
        }
        close(begun[1])
        var byte: UInt8 = 0
        #expect(Glibc.read(begun[0], &byte, 1) == 1)
        let engine = try Engine.open(path, options: Self.options { $0.busyTimeout = .milliseconds(50) })
        let busy = #expect(throws: EngineError.self) { try engine.begin() }
        #expect(busy?.code == .busy)
        #expect(busy?.message == "Process \(child) writes the store and did not hand over the turn in time. Try again, or raise the time limit.")
        close(ended[1])
        #expect(Fork.end(child) == 0)
        try engine.close()
        for descriptor in [begun[0], ended[0]] { close(descriptor) }
    }

    @Test("saves that wait together throw busy together, at the limit of the first one")
    func queuedSavesAreBusyTogether() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: Self.options())
        let second = try Engine.open(path, options: Self.options { $0.busyTimeout = .seconds(3) })
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

    @Test func aProcessThatIsKilledFreesTheTurn() throws {
        try Self.preparation.get()
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        for round in 1...5 as ClosedRange<UInt64> {
            let child = try Fork.start {
                do {
                    let engine = try Engine.open(path, options: Self.options())
                    try Self.increment(engine)
                    let transaction = try engine.begin()
                    try transaction.setValue("other", [1])
                    kill(getpid(), SIGKILL)
                    return 1
                } catch { return 2 }
            }
            #expect(Fork.end(child) == -1)
            let engine = try Engine.open(path, options: Self.options())
            let transaction = try engine.begin()
            #expect(try Self.number(transaction) == round)
            #expect(try transaction.value("other") == nil)
            transaction.abort()
            try engine.close()
        }
    }

    @Test("processes count beside this one, and are killed", arguments: [false, true])
    func processesCount(areKilled: Bool) throws {
        try Self.preparation.get()
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        try Engine.open(path, options: Self.options()).close()
        let children = try (0..<3).map { _ in
            try Fork.start {
                do {
                    let engine = try Engine.open(path, options: Self.options())
                    for _ in 0..<(areKilled ? 1_000_000 : 50) { try Self.increment(engine) }
                    try engine.close()
                    return 0
                } catch { return 2 }
            }
        }
        let engine = try Engine.open(path, options: Self.options())
        for _ in 0..<50 { try Self.increment(engine) }
        if areKilled { for child in children { kill(child, SIGKILL) } }
        for child in children { #expect(Fork.end(child) == (areKilled ? -1 : 0)) }
        let transaction = try engine.begin()
        let count = try Self.number(transaction)
        #expect(areKilled ? count >= 50 : count == 200)
        transaction.abort()
        try engine.close()
    }

    @Test("a forked child has no place in the turn, and does not keep that of its parent")
    func aForkedChildHasNoTurn() throws {
        try Self.preparation.get()
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let parent = try Engine.open(path, options: Self.options())
        try Self.increment(parent)
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let child = try Fork.start {
            do { _ = try parent.begin() } catch {
                guard (error as? EngineError)?.code == .closed else { return 2 }
                do { _ = try parent.refresh() } catch {
                    // The child lives until the parent closes the pipe.
                    close(ends[1])
                    var byte: UInt8 = 0
                    _ = Glibc.read(ends[0], &byte, 1)
                    return (error as? EngineError)?.code == .closed ? 0 : 3
                }
            }
            return 1
        }
        let other = try Engine.open(path, options: Self.options())
        try Self.increment(other)
        try Self.increment(parent)
        close(ends[1])
        #expect(Fork.end(child) == 0)
        let transaction = try other.begin()
        #expect(try Self.number(transaction) == 3)
        transaction.abort()
        try parent.close()
        try other.close()
        close(ends[0])
    }

    /// Threads of one process may use the turn that it keeps, also while another process asks for it.
    @Test func aProcessThatKeepsTheTurnMakesSeveralTransactions() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: Self.options())
        let second = try Engine.open(path, options: Self.options { $0.busyTimeout = .milliseconds(50) })
        try first.holdTurn()
        for _ in 0..<3 {
            try Self.increment(first)
            #expect(#expect(throws: EngineError.self) { try Self.increment(second) }?.code == .busy)
        }
        first.releaseTurn()
        let third = try Engine.open(path, options: Self.options())
        try Self.increment(third)
        let transaction = try third.begin()
        #expect(try Self.number(transaction) == 4)
        transaction.abort()
        for engine in [first, second, third] { try engine.close() }
    }
}
