import HornbeamEngine
import HornbeamSimulation

/// Tests each sync site in turn: while its syncs have no effect, a crash must lose or damage data. Otherwise the sync is unnecessary,
/// or the harness does not detect its absence.
enum SyncsMode: Mode {
    static let name = "syncs"
    static let summary = "each sync site of the engine skipped in turn; a crash must then lose data"
    static let unit = "removed syncs"

    /// The number of workloads to try. If none of them loses data, the sync is unnecessary.
    static let workloadsMax: UInt64 = 60

    static func round(_ seed: UInt64, _ run: Run) throws {
        for site in SyncSite.allCases where run.includes(site.rawValue) {
            try run.beginCase(site.rawValue)
            guard let loss = try loss(without: site, from: seed, run) else {
                throw Finding("nothing was lost without the sync \(site.rawValue) in \(workloadsMax) workloads")
            }
            run.cover("sync call sites", site.rawValue)
            if run.options.replay != nil { Terminal.printLine("without \(site.rawValue): \(loss)") }
        }
        run.add("rounds over all sites")
    }

    /// The first failed image in a workload for which the syncs of a site succeed without effect.
    static func loss(without site: SyncSite, from seed: UInt64, _ run: Run) throws -> CrashEnumerator.Failure? {
        for attempt in 0..<workloadsMax {
            let trial = site == .backup ? BackupTrial(seed: seed &+ attempt) : nil
            let workload = trial?.workload ?? SimulatedWorkload(seed: seed &+ attempt)
            let disk = SimulatedDisk()
            let faults = FaultInjector(disk)
            faults.add(FaultRule(.lie, site: site, isSticky: true))
            try trial?.perform(on: faults, marking: disk) ?? workload.perform(on: faults, marking: disk)
            guard faults.firedCount > 0 else { continue }
            var enumerator = CrashEnumerator(seed: seed &+ attempt)
            enumerator.subsetsUpTo = 3
            enumerator.randomImagesPerPoint = 0
            do {
                let report = try enumerator.crash(disk, verify: trial?.judge ?? workload.oracle.judge)
                run.add("images without a sync", report.images)
            } catch let failure as CrashEnumerator.Failure {
                return failure
            }
        }
        return nil
    }
}
