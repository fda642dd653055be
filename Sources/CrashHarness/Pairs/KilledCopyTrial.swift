import Hornbeam
import HornbeamEngine
import HornbeamStore

/// A process that makes a backup of a store, or salvages it, is killed at every operation. The next process makes the copy again in the same
/// place, and then the power fails at every one of its operations.
///
/// The source stays whole. The place of the copy holds a whole copy or nothing, and a second copy over a whole one is refused.
struct KilledCopyTrial {
    enum Kind: String, CaseIterable { case backup, salvage }

    private static let target = "copy.hornbeam"

    let workload: GraphWorkload
    let kind: Kind
    let seed: UInt64
    /// Of so many operations one is tried in a round; the others are left to other seeds.
    var stride = 4
    /// Of so many operations of the next process, after one the power fails.
    var crashStride = 3

    static func all(_ seed: UInt64, _ run: Run) throws {
        for kind in Kind.allCases {
            try KilledCopyTrial(workload: GraphWorkload(seed: seed), kind: kind, seed: seed).perform(run)
            run.cover("kinds of killed copies", kind.rawValue)
        }
    }

    func perform(_ run: Run) throws {
        let disk = SimulatedDisk()
        try workload.perform(on: disk)
        let start = disk.operationCount
        try copy(on: disk)
        for point in start...disk.operationCount where (point + Int(seed / 8)) % stride == 0 {
            let name = "\(kind.rawValue) killed at \(point)"
            guard PairsMode.includes(name, run) else { continue }
            run.doing(name)
            run.add("copies that were killed")
            let killed = disk.killed(after: point)
            try copyAgain(on: killed)
            var enumerator = PairsMode.enumerator(seed: seed)
            enumerator.subsetsUpTo = 1
            enumerator.stride = crashStride
            try PairsMode.crash(killed, after: name, enumerator, run, judge)
        }
    }

    private func copy(on disk: SimulatedDisk) throws {
        switch kind {
        case .backup:
            let container = try workload.open(disk)
            _ = try container.openStore().backup(to: Self.target)
            try container.close()
        case .salvage: _ = try Store.salvage(GraphWorkload.path, to: Self.target, options: workload.options(disk))
        }
    }

    /// The next process: a whole copy is left alone, and anything else of the first process is no hindrance.
    private func copyAgain(on disk: SimulatedDisk) throws {
        let isThere = try disk.exists(Self.target)
        do {
            try copy(on: disk)
            if isThere { throw Finding("a second copy was made over the first one") }
        } catch let error as HornbeamError {
            guard isThere, error.code == .notAStore else { throw Finding("the second copy: \(error)") }
        }
        try judgeCopy(on: disk.copy())
    }

    private func judge(_ image: CrashEnumerator.Image) throws {
        if try image.disk.exists(Self.target) { try judgeCopy(on: image.disk) }
        try workload.judge(image)
    }

    /// Opens the copy, which holds every step.
    private func judgeCopy(on disk: SimulatedDisk) throws {
        let container = try workload.open(disk, at: Self.target)
        try container.performAndWait { context in
            let step = try GraphTrial.newestStep(in: context)
            guard step == workload.steps else { throw Finding("the copy ends with step \(step)") }
            var oracle = GraphOracle()
            oracle.advance(to: step)
            try GraphTrial.expect(oracle, in: context)
        }
        let report = try container.openStore().check()
        guard report.isSound else { throw Finding("the copy: \(report.description)") }
        try container.close()
    }
}
