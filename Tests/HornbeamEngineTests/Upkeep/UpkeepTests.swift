import HornbeamThreads
import Synchronization
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Writers, big transactions, checkpoints, a full disk and closing, all beside each other.
@Suite struct UpkeepTests {
    private func makeStore(_ fileSystem: any FileSystem = MemoryFileSystem()) throws -> TestStore {
        try TestStore(pageSize: 512, fileSystem: fileSystem) { options in
            options.usesBackgroundThread = true
            options.checkpointLogBytes = 4000
            options.attachThreshold = 6000
            options.poolBytes = 24 * 512
        }
    }

    /// The acknowledged commits.
    private final class Promises: Sendable {
        let kept = Guarded<[[UInt8]]>([])
        let failures = Guarded<[EngineError.Code]>([])
    }

    private func write(_ engine: Engine, _ writer: Int, rounds: Int, _ promises: Promises) {
        for round in 0..<rounds {
            let count = round % 7 == writer ? 120 : 3
            let keys = (0..<count).map { Array("\(writer) \(round) \($0)".utf8) }
            do throws(EngineError) {
                let transaction = try engine.begin()
                let tree = transaction.tree(named: "t")!
                for key in keys { try transaction.put(key, key + key, in: tree) }
                if round % 3 == 2 { _ = try transaction.delete(Array("\(writer) \(round - 1) 0".utf8), from: tree) }
                _ = try transaction.commit()
                promises.kept.withLock { kept in
                    kept += keys
                    if round % 3 == 2 { kept.removeAll { $0 == Array("\(writer) \(round - 1) 0".utf8) } }
                }
            } catch { promises.failures.withLock { $0.append(error.code) } }
        }
    }

    private func expect(_ promises: Promises, in engine: Engine) throws {
        let snapshot = try engine.snapshot()
        let index = try snapshot.index(snapshot.tree(named: "t")!)
        for key in promises.kept.withLock({ $0 }) { #expect(try index.get(key) == key + key) }
        #expect(try engine.check().problems == [])
    }

    @Test func bigTransactionsAndCheckpointsGoSideBySide() async throws {
        let store = try makeStore()
        try store.write { _ = try $0.createIndex(named: "t") }
        let engine = store.engine
        let promises = Promises()
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<3 { group.addTask { write(engine, writer, rounds: 40, promises) } }
            group.addTask { for _ in 0..<20 { try? engine.checkpoint() } }
        }
        #expect(promises.failures.withLock { $0 } == [])
        try expect(promises, in: engine)
        try store.reopen()
        try expect(promises, in: store.engine)
    }

    @Test func aFullDiskUndoesWhatItMustAndNoMore() async throws {
        let memory = MemoryFileSystem()
        let faults = FaultInjector(memory)
        let store = try makeStore(faults)
        try store.write { _ = try $0.createIndex(named: "t") }
        let engine = store.engine
        let promises = Promises()
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<3 { group.addTask { write(engine, writer, rounds: 40, promises) } }
            group.addTask {
                for round in 0..<12 {
                    faults.add(
                        FaultRule(.fail(.full), calls: FileSystemCall.changing, after: round * 3, isSticky: round % 2 == 0))
                    try? await Task.sleep(for: .milliseconds(3))
                    faults.removeRules()
                    try? await Task.sleep(for: .milliseconds(2))
                }
            }
        }
        faults.removeRules()
        let codes = Set(promises.failures.withLock { $0 })
        #expect(codes.isSubset(of: [.full, .durabilityLost]), "\(codes)")
        try? engine.close()
        let again = try Engine.open("test.hornbeam", fileSystem: memory, options: store.options)
        try expect(promises, in: again)
        try again.close()
    }

    @Test func closingWaitsForWritersAndLosesNothing() async throws {
        for round in 0..<5 {
            let memory = MemoryFileSystem()
            let store = try makeStore(memory)
            try store.write { _ = try $0.createIndex(named: "t") }
            let engine = store.engine
            let promises = Promises()
            await withTaskGroup(of: Void.self) { group in
                for writer in 0..<3 { group.addTask { write(engine, writer, rounds: 60, promises) } }
                group.addTask {
                    try? await Task.sleep(for: .milliseconds(2 + 3 * round))
                    try? engine.close()
                }
            }
            let again = try Engine.open("test.hornbeam", fileSystem: memory, options: store.options)
            try expect(promises, in: again)
            try again.close()
        }
    }

    @Test func lazyCommitsAreSyncedWithinTheirDelay() async throws {
        let faults = FaultInjector(MemoryFileSystem())
        let store = try TestStore(fileSystem: faults) { $0.usesBackgroundThread = true }
        try store.write { _ = try $0.createIndex(named: "t") }
        faults.resetCounts()
        let transaction = try store.engine.begin()
        try transaction.put([1], [2], in: transaction.tree(named: "t")!)
        _ = try transaction.commit(.lazy(maxDelay: .milliseconds(30)))
        #expect(faults.count(of: [.sync], kind: .log) == 0)
        let end = ContinuousClock.now + .seconds(60)
        while faults.count(of: [.sync], kind: .log) == 0, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(10)) }
        #expect(faults.count(of: [.sync], kind: .log) == 1)
        try store.engine.close()
    }

    private func hasUpkeepThreads(_ engine: Engine) -> Bool { engine.upkeepThreads.wereStarted }

    @Test func aLookAtAStoreWritesNothingAndStartsNoThread() throws {
        let faults = FaultInjector(MemoryFileSystem())
        let store = try makeStore(faults)
        try store.write { try $0.put([1], [2], in: $0.createIndex(named: "t")) }
        #expect(hasUpkeepThreads(store.engine))
        try store.engine.close()
        faults.resetCounts()
        try store.reopen()
        let snapshot = try store.engine.snapshot()
        #expect(try snapshot.index(snapshot.tree(named: "t")!).get([1]) == [2])
        try store.engine.close()
        #expect(!hasUpkeepThreads(store.engine))
        #expect(faults.count(of: FileSystemCall.changing) == 0)
        #expect(faults.count(of: [.list]) == 1, "all parts share one look at the folder")
    }

    @Test("the next clean close removes files that a crash left in the folder, even if nothing is written")
    func leftoversGo() throws {
        let disk = MemoryFileSystem()
        let crashed = try makeStore(disk)
        try crashed.write { try $0.put([1], [2], in: $0.createIndex(named: "t")) }
        crashed.engine.upkeepThreads.stop()
        let copy = MemoryFileSystem()
        try copy.createDirectory("test.hornbeam")
        for name in try disk.list("test.hornbeam") where name != "lock" { try Self.copy("test.hornbeam/\(name)", from: disk, to: copy) }
        for name in ["spare", "reserve"] where try !copy.exists("test.hornbeam/\(name)") {
            _ = try copy.open("test.hornbeam/\(name)", .create)
        }
        let store = try makeStore(copy)
        try store.engine.close()
        #expect(try copy.list("test.hornbeam").filter { !$0.hasPrefix("pages-") } == ["lock", "meta"])
    }

    private static func copy(_ path: String, from source: MemoryFileSystem, to target: MemoryFileSystem) throws {
        let file = try source.open(path, .read)
        var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
        _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        let other = try target.open(path, .create)
        try bytes.withUnsafeBytes { try other.write($0, at: 0) }
    }

    @Test func largeCommitsLeaveThePoolHalfFreeForTheNext() throws {
        let store = try TestStore(pageSize: 4096) { options in
            options.usesBackgroundThread = true
            options.poolBytes = 256 * 4096
        }
        let tree = try store.write { try $0.createIndex(named: "t") }
        let pool = store.engine.core.pool
        var random = SplitMix(seed: 14)
        var most = 0
        for _ in 0..<40 {
            try store.write { transaction in
                for _ in 0..<400 {
                    let key = withUnsafeBytes(of: UInt64.random(in: 0..<4000, using: &random).bigEndian) { Array($0) }
                    try transaction.put(key, [UInt8](repeating: key[7], count: 200), in: tree)
                }
            }
            // Read first: the background thread releases waiting nodes meanwhile, which then count in neither number.
            let waiting = store.engine.core.registry.waitingInMemory
            most = max(most, pool.unwritten - waiting)
        }
        #expect(pool.capacity == 256)
        #expect(most <= pool.capacity / 2, "\(most) nodes wait to be written")
        #expect(try store.engine.check().problems == [])
    }

    @Test func nodesThatOnlyAnOldSnapshotNeedsAskForNoCheckpoint() throws {
        let store = try TestStore(pageSize: 4096) { options in
            options.usesBackgroundThread = false
            options.poolBytes = 192 * 4096
        }
        let tree = try store.write { try $0.createIndex(named: "t") }
        func rewrite(_ round: UInt8) throws {
            try store.write { transaction in
                for number in 0..<1_000 {
                    try transaction.put(Array("key \(1_000 + number)".utf8), Array(repeating: round, count: 240), in: tree)
                }
            }
        }
        try rewrite(1)
        let held = try store.engine.snapshot()
        // From here on the pool holds the nodes of the snapshot beside the newest: more than half of it.
        try rewrite(2)
        let before = try store.engine.statistics()
        #expect(before.poolInUse - before.poolCached > 96, "\(before)")
        for round in 3...10 as ClosedRange<UInt8> { try rewrite(round) }
        #expect(try store.engine.statistics().checkpoints <= before.checkpoints + 2)
        let index = try held.index(tree)
        #expect(try index.get(Array("key 1500".utf8))?.first == 1)
        try store.engine.close()
    }
}

/// The system refuses threads: commits do the work of the threads.
@Suite struct WithoutThreadsTests {
    private final class Switch: Sendable {
        let isOn = Atomic(false)
    }

    private func hasUpkeepThreads(_ store: TestStore) -> Bool { store.engine.upkeepThreads.wereStarted }

    @Test("commits, lazy ones too, are durable in time, and checkpoints are made")
    func commitsDoTheUpkeep() throws {
        let store = try TestStore(pageSize: 512) { options in
            options.usesBackgroundThread = true
            options.mayStartThread = { false }
            options.checkpointLogBytes = 4000
            options.pageFileBytes = 8 << 10
        }
        for round in 0..<200 {
            let transaction = try store.engine.begin()
            try transaction.setValue("\(round % 20)", [UInt8](repeating: UInt8(round), count: 100))
            _ = try transaction.commit(.lazy(maxDelay: .seconds(3600)))
        }
        let statistics = store.engine.core.pipeline.statistics
        #expect(statistics.syncs >= 200, "a lazy commit does not wait for a thread that is not there")
        #expect(store.engine.checkpointer.statistics.checkpoints > 1)
        try store.engine.close()
    }

    @Test func theNextCommitTriesAgain() throws {
        let mayStart = Switch()
        let store = try TestStore(pageSize: 512) { options in
            options.usesBackgroundThread = true
            options.mayStartThread = { mayStart.isOn.load(ordering: .relaxed) }
        }
        try store.write { try $0.setValue("a", [1]) }
        #expect(!hasUpkeepThreads(store))
        mayStart.isOn.store(true, ordering: .relaxed)
        try store.write { try $0.setValue("b", [1]) }
        #expect(hasUpkeepThreads(store))
        try store.engine.close()
    }
}
