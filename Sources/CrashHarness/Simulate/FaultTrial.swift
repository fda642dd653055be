import HornbeamEngine

/// One call of a workload fails, or every call from it on; afterwards no acknowledged commit is missing.
struct FaultTrial {
    /// A kind of failure, and the calls that can fail with it.
    struct Kind {
        var name: String
        var effect: FaultRule.Effect
        var calls: Set<FileSystemCall>
    }

    static let kinds: [Kind] = {
        // A failed close cannot be handled, and the engine ignores it.
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
    /// The number of successful matching calls before the failure.
    let index: Int
    let isSticky: Bool

    var name: String { "\(kind.name) \(isSticky ? "from" : "at") call \(index)" }

    /// Every kind of failure at every call, once and permanently.
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

    /// False when the workload has no further such call.
    private func run(_ run: Run) throws -> Bool {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        faults.add(FaultRule(kind.effect, calls: kind.calls, after: index, isSticky: isSticky))
        let isAskedFor = run.includes(name) || run.options.replay?.hasPrefix(name + " > ") == true
        if isAskedFor { try run.trying(name, as: "failing calls") }
        var engine: Engine?
        var failure: EngineError?
        do { try workload.perform(on: faults, marking: disk, &engine) } catch let error as EngineError { failure = error }
        guard faults.firedCount > 0 else { return false }
        guard isAskedFor else { return true }
        faults.removeRules()
        try goOn(engine, after: failure, disk)
        engine = nil
        try judge(disk, run)
        return true
    }

    /// Data that could be read must stay readable; a store that is not poisoned must accept further commits.
    private func goOn(_ engine: Engine?, after failure: EngineError?, _ disk: SimulatedDisk) throws {
        guard let engine else { return }
        try workload.oracle.expectSound(engine)
        do throws(EngineError) {
            try engine.checkpoint()
        } catch {
            guard failure != nil, error.code == .durabilityLost else { throw error }
            return
        }
        // After a commit that failed before its trees were changed, a checkpoint does not wait for a sync.
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

    /// Judges the disk as the process left it, and after crashes at some moments.
    private func judge(_ disk: SimulatedDisk, _ run: Run) throws {
        let oracle = workload.oracle
        let bounds = disk.promises
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
                try run.trying(name + " > " + image.name)
                try isLying ? oracle.judgeAfterLies(image) : oracle.judge(image)
            }
        } catch let failure as CrashEnumerator.Failure where failure.cause is Run.IsOver {
            throw failure.cause
        }
    }
}
