import HornbeamEngine

/// A sync of a workload fails, once or until the process ends. The cache keeps the new bytes or reverts to the old ones. The
/// store is opened again if necessary and continues. Then a power failure is simulated at every later operation.
struct FailedSyncTrial {
    let workload: SimulatedWorkload
    let site: SyncSite
    let keepsNew: Bool
    let isSticky: Bool
    /// The number of successful syncs of the site before the failure.
    let index: Int

    var name: String {
        let cache = keepsNew ? "keeps the new" : "brings back the old"
        return "sync \(site.rawValue) \(index)\(isSticky ? " and all after" : "") fails and \(cache)"
    }

    /// The sites of an engine's syncs, except those of creation and backup, which fail before there is data to lose.
    static let sites: [SyncSite] = [
        .commits, .segmentEnd, .segmentHeader, .segmentName, .pages, .largeValues, .pageFileNames, .meta,
    ]

    static func all(of workload: SimulatedWorkload, _ seed: UInt64, _ run: Run) throws {
        // Each seed begins with another site, because a short run ends before the last site.
        let first = Int(seed / 2 % UInt64(sites.count))
        for site in sites[first...] + sites[..<first] {
            for keepsNew in [true, false] {
                for isSticky in [false, true] {
                    var index = 0
                    while try FailedSyncTrial(workload: workload, site: site, keepsNew: keepsNew, isSticky: isSticky, index: index)
                        .perform(seed, run)
                    {
                        run.cover("sync call sites", site.rawValue)
                        index += 1
                    }
                }
            }
        }
        run.add("workloads failed at every sync")
    }

    /// False when the workload has no further such sync.
    private func perform(_ seed: UInt64, _ run: Run) throws -> Bool {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        var engine: Engine? = try Engine.open(EngineOracle.path, fileSystem: faults, options: workload.oracle.options)
        // The store exists; its creation may fail without a loss.
        try engine?.close()
        engine = nil
        let start = disk.operationCount
        faults.add(
            FaultRule(keepsNew ? .failSyncKeepingNew : .failSyncRevertingToOld, site: site, after: index, isSticky: isSticky))
        let isAskedFor = PairsMode.includes(name, run)
        if isAskedFor { run.doing(name) }
        do { try workload.perform(on: faults, marking: disk, &engine) } catch is EngineError {}
        if let engine { do throws(EngineError) { try engine.close() } catch {} }
        engine = nil
        guard faults.firedCount > 0 else { return false }
        guard isAskedFor else { return true }
        run.add("failing syncs")
        faults.removeRules()
        let endings = EngineOracle.Ending.allCases
        try workload.oracle.goOn(on: disk, endings[(index + (isSticky ? 1 : 0)) % endings.count], marking: disk)
        try PairsMode.crash(
            disk, after: name, from: disk.firstFailedSync ?? start, PairsMode.enumerator(seed: seed), run,
            workload.oracle.judgeOneOfMany)
        return true
    }
}
