import Hornbeam
import HornbeamEngine
import HornbeamStore

/// A process that makes a backup of a store, or salvages it, is killed at every operation. The next process makes the copy again at the same
/// path. Then a power failure is simulated at every operation of that process.
///
/// The source must stay intact. At the path of the copy there is a complete copy or nothing. A second copy at the path of a complete one throws.
struct KilledCopyTrial {
    enum Kind: String, CaseIterable { case backup, salvage }

    private static let target = "copy.hornbeam"

    let workload: GraphWorkload
    let kind: Kind
    let seed: UInt64
    /// Each round tests one of this number of operations. Other seeds test the others.
    var stride = 4
    /// In the next process, one of this number of operations is followed by a power failure.
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

    /// Makes the copy again in the next process. A complete copy of the first process is not changed. Incomplete files of it must not prevent
    /// the copy.
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

    /// Opens the copy, which must contain every step.
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
