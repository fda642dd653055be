import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore

/// A process that makes a backup of a store, or salvages it, is killed at every operation. The next process makes the copy again at the same
/// path. Then the power fails at every operation of the next process.
///
/// The source must stay complete. At the path of the copy there must be a complete copy or nothing, and a second copy over a complete one
/// must be refused.
struct KilledCopyTrial {
    enum Kind: String, CaseIterable { case backup, salvage }

    private static let target = "copy.hornbeam"

    let workload: GraphWorkload
    let kind: Kind
    let seed: UInt64
    /// Only one operation out of this number is tried in a round. Other seeds try the others.
    var stride = 4
    /// Of the operations of the next process, the power fails after one out of this number.
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
            run.beginPart(name)
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

    /// The next process makes the copy again. It must succeed after an incomplete copy, and be refused if there is a complete one.
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

    /// Opens the copy, which must contain all steps.
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
