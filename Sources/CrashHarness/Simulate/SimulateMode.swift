import HornbeamEngine
import HornbeamSimulation

/// Crashes workloads at every operation on a simulated disk, or makes every call fail, and judges the resulting stores.
///
/// Of eight seeds, five crash the engine, one crashes a backup, one makes calls fail, and one uses object graphs. Every tenth of the seeds for
/// the engine crashes a migration instead, or makes its calls fail; some of these migrations have a stage with code. With `--only migrations`,
/// all seeds do so.
enum SimulateMode: Mode {
    static let name = "simulate"
    static let summary = "crashes and failing calls on a simulated disk, recovered and judged"
    static let unit = "crash images"
    static let nested = "nested images"
    static let extras = ["only"]

    static func round(_ seed: UInt64, _ run: Run) throws {
        if try run.isForMigrations || (seed % 8 == 4 && seed / 8 % 2 == 1) {
            if seed / 16 % 8 == 3 { return try MigrationFaultTrial.all(seed: seed, run) }
            return try crash(MigrationTrial(seed: seed), seed, run)
        }
        switch seed % 8 {
        case 5: try crash(BackupTrial(seed: seed), seed, run)
        case 6: try FaultTrial.all(of: SimulatedWorkload(seed: seed, length: 6...14), run)
        case 7:
            let workload = try GraphWorkload(seed: seed)
            switch seed / 8 % 8 {
            case 3: try GraphFaultTrial.all(of: workload, run)
            case 7: try TwoStoreFaultTrial.all(run)
            default: try crash(workload, seed, run)
            }
        default: try crash(SimulatedWorkload(seed: seed), seed, run)
        }
    }

    private static func crash(_ workload: SimulatedWorkload, _ seed: UInt64, _ run: Run) throws {
        let disk = SimulatedDisk()
        try workload.perform(on: disk, marking: disk)
        var enumerator = CrashEnumerator(seed: seed)
        enumerator.subsetsUpTo = workload.subsetsUpTo
        try crash(disk, enumerator, run, workload.oracle.judge)
    }

    private static func crash(_ trial: BackupTrial, _ seed: UInt64, _ run: Run) throws {
        let disk = SimulatedDisk()
        try trial.perform(on: disk, marking: disk)
        var enumerator = CrashEnumerator(seed: seed)
        enumerator.subsetsUpTo = trial.workload.subsetsUpTo
        run.add("backups crashed")
        try crash(disk, enumerator, run, trial.judge)
    }

    private static func crash(_ trial: MigrationTrial, _ seed: UInt64, _ run: Run) throws {
        let disk = try trial.perform()
        var enumerator = CrashEnumerator(seed: seed)
        enumerator.subsetsUpTo = 3
        enumerator.randomImagesPerPoint = 1
        let hasCode = trial.next.stage != nil
        run.add(hasCode ? "stages with code crashed" : "migrations crashed")
        try crash(disk, enumerator, run) { image in
            if image.depth == 0 { run.add("crash images of \(hasCode ? "stages with code" : "migrations")") }
            try trial.judge(image)
        }
    }

    private static func crash(_ workload: GraphWorkload, _ seed: UInt64, _ run: Run) throws {
        let disk = SimulatedDisk()
        try workload.perform(on: disk)
        var enumerator = CrashEnumerator(seed: seed)
        enumerator.subsetsUpTo = 3
        enumerator.randomImagesPerPoint = 1
        run.add("object graphs crashed")
        try crash(disk, enumerator, run, workload.judge)
    }

    /// Judges every image that the enumerator makes of a disk. Crashes some of the images again during recovery.
    static func crash(
        _ disk: SimulatedDisk, _ enumerator: CrashEnumerator, _ run: Run, _ judge: (CrashEnumerator.Image) throws -> Void
    ) throws {
        var enumerator = enumerator
        enumerator.nestingDepth = 3
        enumerator.nestedImagesPerImage = 1
        enumerator.nestingStride = 12
        enumerator.only = run.options.replay
        do {
            let report = try enumerator.crash(disk) { image in
                try run.beginCase(image.name, as: image.depth == 0 ? unit : nested)
                try judge(image)
            }
            run.add("crash points", report.points)
        } catch let failure as CrashEnumerator.Failure where failure.cause is Run.Finished {
            throw failure.cause
        }
    }
}
