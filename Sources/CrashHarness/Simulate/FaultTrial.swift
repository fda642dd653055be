import HornbeamEngine
import HornbeamSimulation

/// One call of a workload fails, or all calls from it on. Afterwards, no acknowledged commit may be missing.
struct FaultTrial {
    /// A kind of failure, and the calls that can fail with it.
    struct Kind {
        var name: String
        var effect: FaultRule.Effect
        var calls: Set<FileSystemCall>
    }

    static let kinds: [Kind] = {
        // A failed close cannot be handled; the engine ignores it.
        let all = Set(FileSystemCall.allCases).subtracting([.close])
        let syncs: Set<FileSystemCall> = [.sync, .syncDirectory]
        return [
            Kind(name: "EIO", effect: .fail(.inputOutput), calls: all),
            Kind(name: "ENOSPC", effect: .fail(.full), calls: FileSystemCall.changing),
            Kind(name: "short write", effect: .short, calls: [.write]),
            Kind(name: "short read", effect: .short, calls: [.read]),
            Kind(name: "failed sync that keeps the new", effect: .failSyncKeepingNew, calls: syncs),
            Kind(name: "failed sync that brings back the old", effect: .failSyncRevertingToOld, calls: syncs),
            Kind(name: "sync without effect", effect: .lie, calls: syncs),
            Kind(name: "wrong bit in a read", effect: .flip, calls: [.read]),
        ]
    }()

    let workload: SimulatedWorkload
    let kind: Kind
    /// The number of matching calls that succeed before the failure.
    let index: Int
    let isSticky: Bool

    var name: String { "\(kind.name) \(isSticky ? "from" : "at") call \(index)" }

    /// Runs a trial for every kind of failure at every call, once for a single failure and once for a permanent one.
    static func all(of workload: SimulatedWorkload, _ run: Run) throws {
        for kind in kinds {
            for isSticky in [false, true] {
                var index = 0
                while true {
                    let trial = FaultTrial(workload: workload, kind: kind, index: index, isSticky: isSticky)
                    guard try trial.run(run) else { break }
                    index += 1
                }
                run.cover("fault kinds", "\(kind.name), \(isSticky ? "for good" : "once")")
            }
        }
        run.add("workloads failed at every call")
    }

    /// Returns false if the workload has no call with this index.
    private func run(_ run: Run) throws -> Bool {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        faults.add(FaultRule(kind.effect, calls: kind.calls, after: index, isSticky: isSticky))
        let isSelected = run.includes(name) || run.options.replay?.hasPrefix(name + " > ") == true
        if isSelected { try run.beginCase(name, as: "failing calls") }
        var engine: Engine?
        var failure: EngineError?
        do { try workload.perform(on: faults, marking: disk, &engine) } catch let error as EngineError { failure = error }
        guard faults.firedCount > 0 else { return false }
        guard isSelected else { return true }
        faults.removeRules()
        try continueAfterFault(engine, after: failure, disk)
        engine = nil
        try judge(disk, run)
        return true
    }

    /// Checks that the engine still works: readable data stays readable, and a store that is not poisoned accepts further commits.
    private func continueAfterFault(_ engine: Engine?, after failure: EngineError?, _ disk: SimulatedDisk) throws {
        guard let engine else { return }
        try workload.oracle.expectSound(engine)
        do throws(EngineError) {
            try engine.checkpoint()
        } catch {
            guard failure != nil, error.code == .durabilityLost else { throw error }
            return
        }
        // A commit can fail before it changes the trees. Then a checkpoint does not wait for its sync, and succeeds.
        if engine.failure != nil { return try expectRefusal(of: engine) }
        let next = try min(workload.oracle.newest(in: engine.snapshot()) + 2, workload.oracle.last)
        try workload.oracle.commit(to: engine, through: next, disk: disk)
        try workload.oracle.expectContent(engine)
        try engine.close()
    }

    private func expectRefusal(of engine: Engine) throws {
        do throws(EngineError) { _ = try engine.begin() } catch {
            guard error.code == .durabilityLost else { throw error }
            return
        }
        throw Finding("a poisoned store takes a transaction")
    }

    /// Judges the disk as the process left it, and after crashes at some operations.
    private func judge(_ disk: SimulatedDisk, _ run: Run) throws {
        let oracle = workload.oracle
        let bounds = disk.commitBounds
        let live = CrashEnumerator.Image(
            disk: disk.copy(), acknowledged: bounds.acknowledged, submitted: bounds.submitted, name: name, depth: 0)
        try oracle.judge(live)
        var isLying = false
        if case .lie = kind.effect { isLying = true }
        var enumerator = CrashEnumerator(seed: workload.oracle.seed &+ UInt64(index))
        enumerator.subsetsUpTo = 2
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 61
        if let replay = run.options.replay, replay.hasPrefix(name + " > ") {
            enumerator.only = String(replay.dropFirst(name.count + 3))
        }
        do {
            _ = try enumerator.crash(disk) { image in
                try run.beginCase(name + " > " + image.name)
                try isLying ? oracle.judgeAfterLies(image) : oracle.judge(image)
            }
        } catch let failure as CrashEnumerator.Failure where failure.cause is Run.Finished {
            throw failure.cause
        }
    }
}
