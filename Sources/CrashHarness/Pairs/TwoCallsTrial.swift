import HornbeamEngine
import HornbeamSimulation

/// Two calls of a small workload fail, at all pairs of positions. The store is opened again if necessary. Then no acknowledged commit may be
/// missing, neither in the next process nor after a power failure.
struct TwoCallsTrial {
    /// The failures of the two calls.
    struct Kind {
        var name: String
        var first: FaultRule.Effect
        var second: FaultRule.Effect
        var calls: Set<FileSystemCall> = FileSystemCall.changing
    }

    static let kinds = [
        Kind(name: "EIO twice", first: .fail(.inputOutput), second: .fail(.inputOutput)),
        Kind(name: "ENOSPC twice", first: .short, second: .short, calls: [.write]),
        Kind(name: "ENOSPC, then EIO", first: .fail(.full), second: .fail(.inputOutput)),
        Kind(name: "failed syncs that keep the new", first: .failSyncKeepingNew, second: .failSyncKeepingNew, calls: [.sync]),
        Kind(name: "failed syncs, old and new", first: .failSyncRevertingToOld, second: .failSyncKeepingNew, calls: [.sync]),
    ]

    let workload: SimulatedWorkload
    let kind: Kind
    /// The number of calls that succeed before the first failure.
    let first: Int
    /// The number of calls before the second failure, including the one that failed first.
    let second: Int

    var name: String { "\(kind.name) at calls \(first) and \(second)" }

    static func all(of workload: SimulatedWorkload, _ run: Run) throws {
        for kind in kinds {
            var first = 0
            while try row(of: workload, kind, first, run) { first += 1 }
            run.cover("kinds of two failing calls", kind.name)
        }
        run.add("workloads failed at every two calls")
    }

    /// Runs all second failures for a first one. Returns false if the workload has no call with the index `first`.
    private static func row(of workload: SimulatedWorkload, _ kind: Kind, _ first: Int, _ run: Run) throws -> Bool {
        var second = first + 1
        while true {
            let fired = try TwoCallsTrial(workload: workload, kind: kind, first: first, second: second).perform(run)
            guard fired == 2 else { return fired > 0 }
            second += 1
        }
    }

    /// Runs the trial, and returns the number of calls that failed.
    private func perform(_ run: Run) throws -> Int {
        let disk = SimulatedDisk()
        try Engine.open(EngineOracle.path, fileSystem: disk, options: workload.oracle.options).close()
        let faults = FaultInjector(disk)
        faults.add(FaultRule(kind.first, calls: kind.calls, after: first))
        faults.add(FaultRule(kind.second, calls: kind.calls, after: second))
        let isSelected = PairsMode.includes(name, run)
        if isSelected { run.beginPart(name) }
        try attempt(on: faults, disk)
        let fired = faults.firedCount
        guard isSelected, fired > 0 else { return fired }
        run.add("two failing calls", fired == 2 ? 1 : 0)
        faults.removeRules()
        try judge(disk, run)
        return fired
    }

    /// Runs the workload. Then a second process continues it.
    private func attempt(on faults: FaultInjector, _ disk: SimulatedDisk) throws {
        var engine: Engine?
        do { try workload.perform(on: faults, marking: disk, &engine) } catch is EngineError {}
        if let engine { do throws(EngineError) { try engine.close() } catch {} }
        engine = nil
        do {
            try workload.oracle.continueAfterFault(on: faults, .commitsAndCloses, marking: disk)
        } catch let error as EngineError {
            // While calls fail, an error is expected. A wrong result is always a finding.
            guard [.inputOutput, .full, .durabilityLost].contains(error.code) else { throw error }
        }
    }

    /// Judges the disk as the process left it, and after a power failure at the end.
    private func judge(_ disk: SimulatedDisk, _ run: Run) throws {
        var enumerator = CrashEnumerator(seed: workload.oracle.seed)
        enumerator.subsetsUpTo = 1
        enumerator.randomImagesPerPoint = 1
        try PairsMode.crash(disk, after: name, from: disk.operationCount, enumerator, run, workload.oracle.judgeSampled)
        let commitBounds = disk.commitBounds
        let live = name + " > as the process left it"
        guard run.includes(live) else { return }
        try run.beginCase(live, as: PairsMode.unit)
        try workload.oracle.judge(
            CrashEnumerator.Image(
                disk: disk.copy(), acknowledged: commitBounds.acknowledged, submitted: commitBounds.submitted, name: live, depth: 0))
    }
}
