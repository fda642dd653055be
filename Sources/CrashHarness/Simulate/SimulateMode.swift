import HornbeamEngine

/// Crashes a workload at every operation on a simulated disk and opens what may be left.
enum SimulateMode: Mode {
    static let name = "simulate"
    static let summary = "crash images of a simulated disk, recovered and judged"
    static let unit = "crash images"

    static func round(_ seed: UInt64, _ run: Run) throws {
        let workload = SimulatedWorkload(seed: seed)
        let disk = SimulatedDisk()
        try workload.perform(on: disk)
        var enumerator = CrashEnumerator(seed: seed)
        enumerator.subsetsUpTo = workload.subsetsUpTo
        enumerator.only = run.options.replay
        do {
            let report = try enumerator.crash(disk) { image in
                if image.depth == 0 { try run.trying(image.name) } else { run.add("nested images") }
                try workload.oracle.judge(image)
            }
            run.add("crash points", report.points)
        } catch let failure as CrashEnumerator.Failure where failure.cause is Run.IsOver {
            throw failure.cause
        }
    }
}
