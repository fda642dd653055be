import Glibc
import HornbeamThreads
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The turn of engines with background threads, on the disk of the system.
@Suite struct ProcessTurnTests {
    static func options(_ configure: (inout EngineOptions) -> Void = { _ in }) -> EngineOptions {
        SharedStoreTests.sharing(EngineOracle.smallest) { options in
            options.usesBackgroundThread = true
            options.busyTimeout = .seconds(300)
            configure(&options)
        }
    }

    static func number(_ transaction: WriteTransaction) throws -> UInt64 {
        try transaction.value("count")?.reversed().reduce(0) { $0 << 8 | UInt64($1) } ?? 0
    }

    static func increment(_ engine: Engine) throws {
        let transaction = try engine.begin()
        let next = try number(transaction) + 1
        try transaction.setValue("count", (0..<8).map { UInt8(truncatingIfNeeded: next >> (8 * $0)) })
        _ = try transaction.commit()
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
