import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Copies of stores that are being written.
@Suite struct BackupTests {
    private let oracle = EngineOracle(transactions: 130)

    @Test("a backup has the state of the last commit, for all positions of the log and the checkpoints", arguments: 1...60)
    func backupsHoldTheLastCommit(_ transactions: UInt64) throws {
        let disk = MemoryFileSystem()
        let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
        try oracle.commit(to: engine, through: transactions)
        var fractions: [Double] = []
        let report = try engine.backup(to: "copy.hornbeam") { progress throws(EngineError) in fractions.append(progress.fraction) }
        #expect(report.transaction.rawValue == transactions)
        #expect(fractions == fractions.sorted() && fractions.last == 1)
        #expect(try disk.list("copy.hornbeam").allSatisfy { $0 == "meta" || $0.hasPrefix("pages-") })
        try oracle.commit(to: engine, through: transactions + 3)
        let copy = try Engine.open("copy.hornbeam", fileSystem: disk, options: oracle.options)
        #expect(copy.latest.rawValue == transactions)
        #expect(copy.storeIdentifier == engine.storeIdentifier)
        try oracle.expectSound(copy)
        try oracle.commit(to: copy, through: transactions + 2)
        try oracle.expectSound(copy)
    }

    @Test func backupsOfReadersAndOfClosedStoresAreWhole() throws {
        let disk = MemoryFileSystem()
        let writer = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
        try oracle.commit(to: writer, through: 47)
        var options = oracle.options
        options.isReadOnly = true
        let reader = try Engine.open("s.hornbeam", fileSystem: disk, options: options)
        #expect(try reader.backup(to: "one.hornbeam").transaction.rawValue == 47)
        try writer.close()
        #expect(try reader.backup(to: "two.hornbeam").transaction.rawValue == 47)
        for name in ["one.hornbeam", "two.hornbeam"] {
            try oracle.expectSound(try Engine.open(name, fileSystem: disk, options: oracle.options))
        }
    }

    @Test func commitsGoOnWhileABackupIsMade() throws {
        let folder = TemporaryFolder()
        let engine = try Engine.open(folder.path + "/s.hornbeam", options: oracle.options)
        try oracle.commit(to: engine, through: 30)
        // Three checkpoints run while the first piece is copied, so the first files have been removed by then.
        let report = try engine.backup(to: folder.path + "/copy.hornbeam") { _ throws(EngineError) in
            guard engine.latest.rawValue == 30 else { return }
            for _ in 0..<3 {
                do {
                    try oracle.commit(to: engine, through: engine.latest.rawValue + 5)
                    try engine.checkpoint()
                } catch { throw EngineError(.inputOutput, "\(error)") }
            }
        }
        #expect(report.transaction.rawValue == 30)
        #expect(engine.latest.rawValue == 45)
        try oracle.expectSound(try Engine.open(folder.path + "/copy.hornbeam", options: oracle.options))
        try oracle.expectSound(engine)
    }

    @Test func aCancelledBackupLeavesNothing() throws {
        let disk = MemoryFileSystem()
        let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
        try oracle.commit(to: engine, through: 20)
        let error = #expect(throws: EngineError.self) {
            try engine.backup(to: "copy.hornbeam") { _ throws(EngineError) in throw .workCancelled }
        }
        #expect(error?.description == "cancelled: The work was cancelled; nothing was changed.")
        #expect(try disk.list("").filter { $0 != "s.hornbeam" } == [])
    }

    @Test func aBackupReplacesNothing() throws {
        let disk = MemoryFileSystem()
        let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
        try oracle.commit(to: engine, through: 20)
        try engine.backup(to: "copy.hornbeam")
        let error = #expect(throws: EngineError.self) { try engine.backup(to: "copy.hornbeam") }
        #expect(
            error?.description
                == "notAStore: The folder contains files already. Choose another path. [copy.hornbeam]")
    }

    @Test("a backup that cannot write changes nothing in the store and leaves no file at its path", arguments: [FileSystemCall.create, .write, .sync, .rename])
    func failuresLeaveNothing(_ call: FileSystemCall) throws {
        for index in 0..<12 {
            let disk = SimulatedDisk()
            let injector = FaultInjector(disk)
            let engine = try Engine.open("s.hornbeam", fileSystem: injector, options: oracle.options)
            try oracle.commit(to: engine, through: 20)
            try engine.checkpoint()
            injector.add(FaultRule(.fail(.full), calls: [call], after: index))
            let backup = Result { try engine.backup(to: "copy.hornbeam") }
            injector.removeRules()
            if case .success = backup {
                try oracle.expectSound(try Engine.open("copy.hornbeam", fileSystem: disk, options: oracle.options))
            } else {
                #expect(try !disk.exists("copy.hornbeam"))
            }
            try oracle.expectSound(engine)
            try oracle.commit(to: engine, through: 22)
        }
    }

    @Test("the first writer of a copy syncs the copy's name, which may not be durable; later writers do not")
    func theNameOfACopyIsMadeDurable() throws {
        let faults = FaultInjector(SimulatedDisk())
        let engine = try Engine.open("s.hornbeam", fileSystem: faults, options: oracle.options)
        try oracle.commit(to: engine, through: 20)
        try engine.checkpoint()
        // The first sync is of the draft's name.
        faults.add(FaultRule(.fail(.inputOutput), site: .newStoreName, after: 1))
        #expect(throws: EngineError.self) { try engine.backup(to: "copy.hornbeam") }
        faults.removeRules()
        #expect(try faults.exists("copy.hornbeam"))
        faults.add(FaultRule(.fail(.inputOutput), site: .newStoreName, isSticky: true))
        #expect(throws: EngineError.self) { try Engine.open("copy.hornbeam", fileSystem: faults, options: oracle.options) }
        faults.removeRules()
        try Engine.open("copy.hornbeam", fileSystem: faults, options: oracle.options).close()
        faults.add(FaultRule(.fail(.inputOutput), site: .newStoreName, isSticky: true))
        try Engine.open("copy.hornbeam", fileSystem: faults, options: oracle.options).close()
    }

    @Test func aCopyWithoutTheLastAcknowledgedCommitIsNoBackup() throws {
        let disk = SimulatedDisk()
        let engine = try Engine.open("s", fileSystem: disk, options: OlderStateTests.options)
        for number in 1...3 {
            let transaction = try engine.begin()
            try transaction.setValue("n", Array("\(number)".utf8))
            _ = try transaction.commit()
        }
        disk.damage("s/wal-0000000000000001") { bytes in bytes[4096 + 2 * 4096 + 90] ^= 1 }
        let error = #expect(throws: EngineError.self) { try engine.backup(to: "copy") }
        #expect(
            error?.description == """
                logDamaged: The copy lacks acknowledged commits: its log ends at position @8192, and the log of the store was durable up to \
                @12288. No backup was made. Make it again. If the error remains, check the store for damage. [s]
                """)
        #expect(try disk.list("") == ["s"])
    }

    @Test func aCrashWhileABackupIsMadeLeavesAWholeOneOrNone() throws {
        let oracle = EngineOracle(transactions: 20)
        let disk = SimulatedDisk()
        let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
        try oracle.commit(to: engine, through: 12)
        let before = disk.copy()
        var enumerator = CrashEnumerator(seed: 7)
        enumerator.subsetsUpTo = 2
        enumerator.randomImagesPerPoint = 1
        var whole = 0
        let report = try enumerator.run(
            on: before,
            workload: { disk in
                let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
                try engine.backup(to: "copy.hornbeam")
            },
            verify: { image in
                try oracle.expectSound(try Engine.open("s.hornbeam", fileSystem: image.disk, options: oracle.options))
                guard try image.disk.exists("copy.hornbeam") else { return }
                let copy = try Engine.open("copy.hornbeam", fileSystem: image.disk, options: oracle.options)
                try oracle.expectSound(copy)
                guard copy.latest.rawValue == 12 else { throw Finding("the copy holds transaction \(copy.latest)") }
                whole += 1
            })
        #expect(whole > 0 && report.images > whole)
    }
}
