import Glibc
import HornbeamThreads
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Several engines that write one store in turns.
@Suite struct SharedStoreTests {
    static func sharing(_ options: EngineOptions, _ configure: (inout EngineOptions) -> Void = { _ in }) -> EngineOptions {
        var options = options
        options.isShared = true
        configure(&options)
        return options
    }

    static func open(_ count: Int, _ disk: any FileSystem, _ options: EngineOptions) throws -> [Engine] {
        try (0..<count).map { _ in try Engine.open(EngineOracle.path, fileSystem: disk, options: options) }
    }

    @Test("engines commit in turns", arguments: [(2, 1), (2, 3), (3, 2), (4, 7), (2, 20)])
    func enginesCommitInTurns(count: Int, step: Int) throws {
        let oracle = EngineOracle(transactions: 160, options: Self.sharing(EngineOracle.smallest))
        let disk = MemoryFileSystem()
        let engines = try Self.open(count, disk, oracle.options)
        var turn = 0
        while try oracle.newest(in: engines[turn].snapshot()) < 160 {
            turn = (turn + 1) % count
            for _ in 0..<step where try oracle.newest(in: engines[turn].snapshot()) < 160 {
                try oracle.commitNext(to: engines[turn], disk: nil)
            }
            try oracle.expectContent(engines[turn])
        }
        for engine in engines {
            _ = try engine.refresh()
            #expect(try oracle.newest(in: engine.snapshot()) == 160)
            try oracle.expectContent(engine)
        }
        // A check counts the live bytes of the version that the process writes.
        for engine in engines { try engine.close() }
        let alone = try Engine.open(EngineOracle.path, fileSystem: disk, options: EngineOracle.smallest)
        try oracle.expectSound(alone)
        #expect(try oracle.newest(in: alone.snapshot()) == 160)
        try alone.close()
        #expect(try disk.list(EngineOracle.path).allSatisfy { $0 == "meta" || $0 == "lock" || $0.hasPrefix("pages-") })
    }

    @Test("an engine that refreshes follows the others", arguments: 1...20)
    func enginesFollow(_ step: UInt64) throws {
        let oracle = EngineOracle(transactions: 80, options: Self.sharing(EngineOracle.smallest))
        let engines = try Self.open(2, MemoryFileSystem(), oracle.options)
        try oracle.commit(to: engines[0], through: step)
        _ = try engines[1].refresh()
        let old = try engines[1].snapshot()
        while try oracle.newest(in: engines[1].snapshot()) + step < 80 {
            try oracle.commit(to: engines[0], through: oracle.newest(in: engines[0].snapshot()) + step)
            #expect(try engines[1].refresh())
            #expect(try !engines[1].refresh())
            #expect(engines[0].latest == engines[1].latest)
            try oracle.expectContent(engines[1])
        }
        #expect(try oracle.digest(old) == oracle.digests[Int(step)], "files that another engine removes stay readable")
    }

    private static func put(_ key: UInt8, _ transaction: WriteTransaction) throws {
        let index = try transaction.tree(named: "blobs") ?? transaction.createIndex(named: "blobs")
        try transaction.put([key], [UInt8](repeating: key, count: 5000), in: index)
    }

    private static func commit(_ key: UInt8, to engine: Engine) throws {
        let transaction = try engine.begin()
        try put(key, transaction)
        _ = try transaction.commit()
    }

    /// A process makes a page file, aborts, removes the file and dies. The next one gives its file the same number, since no checkpoint has counted it.
    @Test("a process that has opened a removed file reads the later file with its number", arguments: [false, true])
    func numbersOfRemovedFiles(isReadOnly: Bool) throws {
        let disk = SimulatedDisk()
        let options = Self.sharing(EngineOracle.smallest)
        let first = try Self.open(1, disk, options)[0]
        try Self.commit(1, to: first)
        try first.close()
        let dying = try Self.open(1, disk, options)[0]
        let before = try disk.list(EngineOracle.path)
        let transaction = try dying.begin()
        try Self.put(2, transaction)
        let new = try #require(try disk.list(EngineOracle.path).first { !before.contains($0) && $0.hasPrefix("pages-") })
        let reader = try Self.open(1, disk, isReadOnly ? Self.reading : options)[0]
        try disk.remove(EngineOracle.path + "/" + new)
        dying.sharedLock?.release()
        let next = try Self.open(1, disk, options)[0]
        try Self.commit(3, to: next)
        #expect(try disk.list(EngineOracle.path).contains(new))
        #expect(try reader.refresh())
        let snapshot = try reader.snapshot()
        let index = try #require(snapshot.tree(named: "blobs"))
        #expect(try snapshot.index(index).get([3]) == [UInt8](repeating: 3, count: 5000))
        for engine in [reader, next] { try engine.close() }
        withExtendedLifetime((dying, transaction)) {}
    }

    private static let reading: EngineOptions = {
        var options = EngineOracle.smallest
        options.isReadOnly = true
        return options
    }()

    /// A closure in generic storage is wrapped by each access, so calling it would become slower with each turn.
    @Test func theFollowerIsCalledDirectlyAfterManyTurns() throws {
        let oracle = EngineOracle(transactions: 120, options: Self.sharing(EngineOracle.smallest))
        let engines = try Self.open(2, MemoryFileSystem(), oracle.options)
        let addresses = Guarded<[UInt]>([])
        engines[1].follow { _ throws(EngineError) in
            var local = 0
            let address = unsafe withUnsafePointer(to: &local) { UInt(bitPattern: $0) }
            addresses.withLock { $0.append(address) }
        }
        for number in 1...120 as ClosedRange<UInt64> { try oracle.commit(to: engines[Int(number % 2)], through: number) }
        let found = addresses.withLock { $0 }
        #expect(found.count == 60)
        #expect(Set(found.dropFirst()).count <= 2, "the depth of the stack does not change")
        for engine in engines { try engine.close() }
    }

    /// A read of the commits of others can fail after it has published some of them. The next read passed only the later ones to the follower.
    @Test("after a failed read the follower receives all commits", arguments: 0..<4, [false, true])
    func failedReadsHideNoCommit(part: Int, takesTurn: Bool) throws {
        let options = Self.sharing(EngineOracle.smallest) { options in
            options.checkpointLogBytes = 1 << 20
            options.attachThreshold = 2000
        }
        let oracle = EngineOracle(seed: 5, transactions: 12, bigEvery: 3, options: options)
        var after = part
        while true {
            let disk = SimulatedDisk()
            let writer = try Self.open(1, disk, options)[0]
            try oracle.commit(to: writer, through: 4)
            let faults = FaultInjector(disk)
            let engine = try Self.open(1, faults, options)[0]
            let first = engine.latest
            let received = Guarded<[(after: TransactionNumber, through: TransactionNumber)]>([])
            engine.follow { [weak engine] (followed) throws(EngineError) in
                let newest = engine?.latest ?? .zero
                received.withLock { $0.append((followed.after, newest)) }
            }
            try oracle.commit(to: writer, through: 8)
            faults.add(FaultRule(.fail(.inputOutput), after: after, isSticky: true))
            do { if takesTurn { try engine.begin().abort() } else { _ = try engine.refresh() } } catch {}
            faults.removeRules()
            try oracle.commit(to: writer, through: 10)
            _ = try engine.refresh()
            var known = first
            for commits in received.withLock({ $0 }) {
                #expect(commits.after == known, "call \(after)")
                known = commits.through
            }
            #expect(known == writer.latest, "call \(after)")
            try oracle.expectContent(engine)
            for engine in [engine, writer] { try engine.close() }
            if faults.firedCount == 0 { break }
            after += 4
        }
        #expect(after > 8)
    }

    /// After a checkpoint of another process, an engine starts again from it, with a registry of its own for the later versions.
    @Test(arguments: [false, true]) func locksRecordTheProgressOfEachProcess(afterCheckpoint: Bool) throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let oracle = EngineOracle(transactions: 20, options: Self.sharing(EngineOracle.smallest))
        let engines = try (0..<2).map { _ in try Engine.open(path, options: oracle.options) }
        try oracle.commit(to: engines[0], through: 6)
        _ = try engines[1].refresh()
        let old = try engines[1].snapshot()
        let checkpoint = engines[0].checkpointer.latest.checkpoint
        try oracle.commit(to: engines[0], through: 8)
        #expect(engines[0].checkpointer.latest.checkpoint == checkpoint)
        if afterCheckpoint { try engines[0].checkpoint() }
        #expect(try engines[1].refresh())
        let meta = Glibc.open(path + "/meta", O_RDWR)
        defer { close(meta) }
        func isLocked(_ bytes: Range<off_t>) throws -> Bool { try PosixFileLock.isHeld(meta, path, bytes: bytes) }
        let read = try #require(engines[1].readerPosition).place.withLock { $0.end.position.rawValue }
        #expect(try isLocked(1 << 60 + off_t(read >> 12) ..< 1 << 60 + off_t(read >> 12) + 1))
        #expect(try isLocked(1 << 61 ..< 1 << 62))
        withExtendedLifetime(old) {}
        for engine in engines { try engine.close() }
        #expect(try !isLocked(1 << 60 ..< 1 << 62))
    }

    @Test func aStoreIsSharedByAllOrByNone() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        var options = EngineOracle.smallest
        for fileSystem in [PosixFileSystem(), MemoryFileSystem()] as [any FileSystem] {
            let path = fileSystem is PosixFileSystem ? path : "s"
            options.isShared = false
            let alone = try Engine.open(path, fileSystem: fileSystem, options: options)
            options.isShared = true
            let refused = #expect(throws: EngineError.self) { try Engine.open(path, fileSystem: fileSystem, options: options) }
            #expect(refused?.code == .storeInUse)
            try alone.close()
            let shared = try Engine.open(path, fileSystem: fileSystem, options: options)
            let other = try Engine.open(path, fileSystem: fileSystem, options: options)
            options.isShared = false
            let second = #expect(throws: EngineError.self) { try Engine.open(path, fileSystem: fileSystem, options: options) }
            #expect(second?.code == .storeInUse)
            try other.close()
            try shared.close()
            try Engine.open(path, fileSystem: fileSystem, options: options).close()
        }
    }

    @Test func backupAndReadersWorkBesideSharers() throws {
        let oracle = EngineOracle(transactions: 60, options: Self.sharing(EngineOracle.smallest))
        let disk = MemoryFileSystem()
        let engines = try Self.open(2, disk, oracle.options)
        for number in 1...60 as ClosedRange<UInt64> {
            try oracle.commit(to: engines[Int(number % 2)], through: number)
            guard number % 7 == 0 else { continue }
            let report = try engines[Int(number / 7 % 2)].backup(to: "copy\(number)")
            let copy = try Engine.open("copy\(number)", fileSystem: disk, options: EngineOracle.smallest)
            #expect(report.transaction == copy.latest)
            try oracle.expectSound(copy)
            try copy.close()
            var reading = EngineOracle.smallest
            reading.isReadOnly = true
            let reader = try Engine.open(EngineOracle.path, fileSystem: disk, options: reading)
            #expect(try oracle.newest(in: reader.snapshot()) == number)
        }
        for engine in engines { try engine.close() }
    }

    @Test func compactionHandsOverLikeATransaction() throws {
        let oracle = EngineOracle(transactions: 90, options: Self.sharing(EngineOracle.smallest))
        let engines = try Self.open(2, MemoryFileSystem(), oracle.options)
        for number in 1...90 as ClosedRange<UInt64> {
            let engine = engines[Int(number / 3 % 2)]
            try oracle.commit(to: engine, through: number)
            if number % 10 == 0 { try engine.compact() }
            if number % 15 == 0 { try engines[0].checkpoint() }
        }
        for engine in engines {
            _ = try engine.refresh()
            try oracle.expectContent(engine)
            try engine.close()
        }
    }

    /// A checkpoint counts the prepared segment in `meta`. The next process continues in it, or in one of its number if it was removed: a gap in the
    /// numbers would be damage.
    @Test(arguments: [false, true]) func aPreparedSegmentLeavesNoGap(isRemoved: Bool) throws {
        var options = Self.sharing(EngineOracle.smallest)
        options.checkpointLogBytes = 1 << 20
        let oracle = EngineOracle(transactions: 90, bigEvery: 1000, options: options)
        let disk = MemoryFileSystem()
        let engines = try Self.open(2, disk, options)
        try oracle.commit(to: engines[0], through: 4)
        let turn = try #require(engines[0].sharing?.turn)
        try turn.enter()
        try oracle.change(engines[0])
        let log = try #require(engines[0].state.withLock { $0.log })
        try log.prepareSegment()
        try engines[0].checkpointer.run(log: log)
        let prepared = try #require(log.prepared.withLock { $0?.header.number.fileName })
        turn.exit()
        #expect(try disk.exists(EngineOracle.path + "/" + prepared))
        if isRemoved { try disk.remove(EngineOracle.path + "/" + prepared) }
        for number in 6...90 as ClosedRange<UInt64> { try oracle.commit(to: engines[Int(number / 40 % 2)], through: number) }
        // Both die.
        for engine in engines { engine.sharing?.turn.lock.release() }
        let alone = try Engine.open(EngineOracle.path, fileSystem: disk, options: EngineOracle.smallest)
        #expect(try oracle.newest(in: alone.snapshot()) == 90)
        try oracle.expectSound(alone)
        withExtendedLifetime(engines) {}
    }

    /// One engine closes and opens all the time while another one writes.
    @Test(arguments: 1...6) func openingAndClosingBesideAnother(_ step: UInt64) throws {
        let oracle = EngineOracle(transactions: 60, options: Self.sharing(EngineOracle.smallest))
        let disk = SimulatedDisk()
        let stays = try Self.open(1, disk, oracle.options)[0]
        var newest: UInt64 = 0
        while newest + 2 * step < 60 {
            newest += step
            try oracle.commit(to: stays, through: newest)
            let other = try Engine.open(EngineOracle.path, fileSystem: disk, options: oracle.options)
            #expect(try oracle.newest(in: other.snapshot()) == newest)
            newest += step
            try oracle.commit(to: other, through: newest)
            try oracle.expectContent(other)
            try other.close()
        }
        try stays.close()
        let alone = try Engine.open(EngineOracle.path, fileSystem: disk, options: EngineOracle.smallest)
        #expect(try oracle.newest(in: alone.snapshot()) == newest)
        try oracle.expectSound(alone)
    }
}

extension EngineOracle {
    /// Commits the next transaction of an engine whose caller is a user of the turn.
    fileprivate func change(_ engine: Engine) throws {
        let transaction = try engine.beginInTurn()
        try change(transaction, try next(for: transaction))
        _ = try transaction.commit()
    }
}
