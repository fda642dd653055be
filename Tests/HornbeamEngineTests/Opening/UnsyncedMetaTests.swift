import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// A `meta` that is in the cache of the operating system but not on the disk: no file is removed or overwritten because of it.
@Suite struct UnsyncedMetaTests {
    /// Opens and closes a new store, commits to it, and closes it while no sync of `meta` succeeds.
    private func closeWithoutMeta(_ oracle: EngineOracle, keepsNew: Bool, commits: UInt64) throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let engine = try Engine.open(EngineOracle.path, fileSystem: faults, options: oracle.options)
        try oracle.commit(to: engine, through: commits, disk: disk)
        faults.add(FaultRule(keepsNew ? .failSyncKeepingNew : .failSyncRevertingToOld, site: .meta, isSticky: true))
        #expect(throws: EngineError.self) { try engine.close() }
        return disk
    }

    @Test("a store whose close could not sync meta, opened and closed again, survives a power failure", arguments: [true, false])
    func theLogSurvivesAnUnsyncedMeta(keepsNew: Bool) throws {
        let oracle = EngineOracle(transactions: 10)
        let disk = try closeWithoutMeta(oracle, keepsNew: keepsNew, commits: 5)
        let start = disk.operationCount
        try Engine.open(EngineOracle.path, fileSystem: disk, options: oracle.options).close()
        var enumerator = CrashEnumerator(seed: 1)
        enumerator.start = start
        let report = try enumerator.crash(disk, verify: oracle.judge)
        #expect(report.images > 30)
    }

    @Test("commits after a close that could not sync meta survive a power failure", arguments: [true, false])
    func commitsAfterAnUnsyncedMetaSurvive(keepsNew: Bool) throws {
        let oracle = EngineOracle(transactions: 12)
        let disk = try closeWithoutMeta(oracle, keepsNew: keepsNew, commits: 5)
        let start = disk.operationCount
        let engine = try Engine.open(EngineOracle.path, fileSystem: disk, options: oracle.options)
        try oracle.commit(to: engine, through: 8, disk: disk)
        try engine.close()
        var enumerator = CrashEnumerator(seed: 2)
        enumerator.start = start
        enumerator.subsetsUpTo = 2
        _ = try enumerator.crash(disk, verify: oracle.judge)
    }

    @Test("a power failure during the recovery after a killed process loses no commit")
    func killsThatKeepTheCacheLoseNothing() throws {
        let oracle = EngineOracle(transactions: 8)
        let disk = SimulatedDisk()
        let engine = try Engine.open(EngineOracle.path, fileSystem: disk, options: oracle.options)
        try oracle.commit(to: engine, through: 3, disk: disk)
        try engine.close()
        disk.mark(.acknowledged(3))
        for point in disk.operationCount - 30...disk.operationCount {
            let killed = disk.killed(after: point)
            try oracle.continueAfterFault(on: killed, .closes, marking: killed)
            var enumerator = CrashEnumerator(seed: UInt64(point))
            enumerator.subsetsUpTo = 2
            _ = try enumerator.crash(killed, verify: oracle.judge)
        }
    }

    @Test("an opening after a clean close syncs nothing")
    func cleanOpeningsSyncNothing() throws {
        let oracle = EngineOracle(transactions: 4)
        let disk = SimulatedDisk()
        let engine = try Engine.open(EngineOracle.path, fileSystem: disk, options: oracle.options)
        try oracle.commit(to: engine, through: 3)
        try engine.close()
        let faults = FaultInjector(disk)
        try Engine.open(EngineOracle.path, fileSystem: faults, options: oracle.options).close()
        #expect(faults.count(of: [.sync, .syncDirectory, .create, .rename, .remove]) == 0)
        #expect(faults.count(of: [.write], kind: .meta) == 0)
    }
}
