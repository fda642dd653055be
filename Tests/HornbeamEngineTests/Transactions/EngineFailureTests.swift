import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Faults of the environment: every call that can fail does, and nothing acknowledged is lost.
@Suite struct EngineFailureTests {
    /// Runs the oracle's transactions on a disk that fails at one call; then opens the store without faults and verifies it.
    private func run(_ fault: FaultRule, oracle: EngineOracle) throws -> Bool {
        let memory = MemoryFileSystem()
        let faults = FaultInjector(memory)
        let engine = try Engine.open("s.hornbeam", fileSystem: faults, options: oracle.options)
        try oracle.commit(to: engine, through: 3)
        faults.add(fault)
        var failure: EngineError?
        do {
            try oracle.commit(to: engine, through: 22)
            try engine.checkpoint()
        } catch let error as EngineError { failure = error }
        let fired = faults.firedCount > 0
        let acknowledged = engine.latest
        // Readable content stays readable.
        try oracle.expectSound(engine)
        faults.removeRules()
        if failure?.code == .full {
            try oracle.commit(to: engine, through: acknowledged.rawValue + 2)
            try oracle.expectSound(engine)
        }
        try? engine.close()
        let again = try Engine.open("s.hornbeam", fileSystem: memory, options: oracle.options)
        #expect(again.latest >= acknowledged, "\(fault) lost acknowledged commits")
        try oracle.expectSound(again)
        try again.close()
        return fired
    }

    @Test(arguments: [EngineError.Code.inputOutput, .full], [false, true])
    func anErrorAtAnyCallLosesNothing(_ code: EngineError.Code, _ isSticky: Bool) throws {
        let oracle = EngineOracle(transactions: 30)
        var call = 0
        var fired = 0
        while try run(
            FaultRule(.fail(code), calls: FileSystemCall.changing, after: call, isSticky: isSticky), oracle: oracle)
        {
            fired += 1
            call += 1
        }
        #expect(fired > 20)
    }

    /// The first commit after an opening finds no space for a segment, and the checkpoint that should free space has no log yet.
    @Test func aCheckpointBeforeTheFirstCommitNeedsNoLog() throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let oracle = EngineOracle(transactions: 12)
        let first = try Engine.open(EngineOracle.path, fileSystem: faults, options: oracle.options)
        try oracle.commit(to: first, through: 5, disk: disk)
        try first.close()
        disk.mark(.acknowledged(5))
        let engine = try Engine.open(EngineOracle.path, fileSystem: faults, options: oracle.options)
        let checkpoint = engine.checkpointer.latest.checkpoint
        faults.add(FaultRule(.fail(.full), calls: [.create], kind: .spare))
        #expect(message { try oracle.commitNext(to: engine, disk: disk) }.hasPrefix("full"))
        #expect(engine.checkpointer.latest.checkpoint > checkpoint)
        var enumerator = CrashEnumerator(seed: 1)
        _ = try enumerator.crash(disk) { try oracle.judge($0) }
        try oracle.judge(CrashEnumerator.Image(disk: disk.copy(), acknowledged: 5, submitted: 6, name: "live", depth: 0))
        faults.removeRules()
        try oracle.commitNext(to: engine, disk: disk)
        enumerator.stride = 7
        _ = try enumerator.crash(disk) { try oracle.judge($0) }
        try engine.close()
    }

    @Test func refusedCommitsLeaveNothingBehind() throws {
        let faults = FaultInjector(MemoryFileSystem())
        let oracle = EngineOracle(transactions: 10)
        // The first opening makes the store with a segment of the log; that of the second one is made by its first commit.
        try Engine.open("s.hornbeam", fileSystem: faults, options: oracle.options).close()
        let engine = try Engine.open("s.hornbeam", fileSystem: faults, options: oracle.options)
        faults.add(FaultRule(.fail(.full), calls: [.create], kind: .spare, isSticky: true))
        for _ in 0..<50 { #expect(message { try oracle.commitNext(to: engine, disk: nil) }.hasPrefix("full")) }
        #expect(engine.core.pipeline.undoneCount <= 1)
        faults.removeRules()
        try oracle.commit(to: engine, through: 4)
        try oracle.expectSound(engine)
        try engine.close()
    }

    @Test(arguments: [true, false])
    func aFailedSyncOfTheLogPoisonsTheStore(_ keepsNew: Bool) throws {
        let memory = MemoryFileSystem()
        let faults = FaultInjector(memory)
        let oracle = EngineOracle(transactions: 10)
        let engine = try Engine.open("s.hornbeam", fileSystem: faults, options: oracle.options)
        try oracle.commit(to: engine, through: 3)
        faults.add(
            FaultRule(
                keepsNew ? .failSyncKeepingNew : .failSyncRevertingToOld, calls: [.sync], kind: .log, after: 0,
                isSticky: false))
        #expect(throws: EngineError.self) { try oracle.commit(to: engine, through: 4) }
        let error = #expect(throws: EngineError.self) { _ = try engine.begin() }
        #expect(error?.code == .durabilityLost)
        #expect(engine.latest.rawValue == 3)
        try oracle.expectSound(engine)
        #expect(throws: EngineError.self) { try engine.close() }
        let again = try Engine.open("s.hornbeam", fileSystem: memory, options: oracle.options)
        #expect(again.latest.rawValue >= 3)
        try oracle.expectSound(again)
    }

    @Test func aSecondEngineIsRefused() throws {
        let disk = MemoryFileSystem()
        let store = try TestStore(fileSystem: disk)
        let error = #expect(throws: EngineError.self) {
            _ = try Engine.open("test.hornbeam", fileSystem: disk, options: store.options)
        }
        #expect(error?.code == .storeInUse)
        try store.reopen()
    }

    @Test func aFolderThatIsNoStoreIsRefused() throws {
        let disk = MemoryFileSystem()
        try disk.createDirectory("folder")
        let file = try disk.open("folder/something", .create)
        try file.close()
        let error = #expect(throws: EngineError.self) { _ = try Engine.open("folder", fileSystem: disk) }
        #expect(error?.code == .notAStore)
        var options = EngineOptions()
        options.createIfMissing = false
        let missing = #expect(throws: EngineError.self) {
            _ = try Engine.open("missing", fileSystem: disk, options: options)
        }
        #expect(missing?.description == "notAStore: There is no store at this path. [missing]")
    }

    @Test func aDamagedPageIsAnErrorThatNamesIt() throws {
        let disk = SimulatedDisk()
        let oracle = EngineOracle(transactions: 30)
        let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
        try oracle.commit(to: engine, through: 30)
        try engine.close()
        for path in disk.files.keys.filter({ $0.contains("pages-") }).sorted() {
            let copy = disk.copy()
            copy.damage(path) { bytes in for i in stride(from: 40, to: bytes.count, by: 97) { bytes[i] ^= 0x40 } }
            do {
                let damaged = try Engine.open("s.hornbeam", fileSystem: copy, options: oracle.options)
                let problems = try damaged.check().problems
                if problems.isEmpty { try oracle.expectSound(damaged) }
                for problem in problems { #expect(problem.contains("unreadable"), "\(problem)") }
                try damaged.close()
            } catch let error as EngineError {
                #expect([.damaged, .logDamaged].contains(error.code), "\(error)")
            }
        }
    }

    @Test func aClosedEngineRefuses() throws {
        let store = try TestStore()
        try store.write { _ = try $0.createIndex(named: "t") }
        let snapshot = try store.engine.snapshot()
        try store.engine.close()
        #expect(throws: EngineError.self) { _ = try store.engine.snapshot() }
        #expect(throws: EngineError.self) { _ = try store.engine.begin() }
        #expect(snapshot.tree(named: "t") != nil)
        try store.engine.close()
    }

    @Test func tooLargeKeysAndLayoutsAreRefused() throws {
        let store = try TestStore(pageSize: 1024)
        let transaction = try store.engine.begin()
        let tree = try transaction.createIndex(named: "t")
        let error = #expect(throws: EngineError.self) {
            try transaction.put([UInt8](repeating: 1, count: 200), [], in: tree)
        }
        #expect(error?.message == "A key of 200 bytes is too long for an index; the limit is 128.")
        let wide = ColumnLayout(columns: (1...40).map { Column(id: ColumnID($0), kind: .fixed16) })
        #expect(throws: EngineError.self) { _ = try transaction.createTable(named: "wide", layout: wide) }
        try transaction.put([1], [2], in: tree)
        _ = try transaction.commit()
    }
}
