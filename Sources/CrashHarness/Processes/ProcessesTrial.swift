import Foundation
import HornbeamEngine

/// A store on the real disk that several processes write in turns at engine level while some of them are killed and stopped.
final class ProcessesTrial {
    private let seed: UInt64
    private let path: String
    private var content = CommittedContent()

    init(seed: UInt64, folder: URL) {
        self.seed = seed
        path = folder.appendingPathComponent("shared-\(seed).hornbeam").path
    }

    /// The transactions of all processes. Small pages and logs, so that checkpoints and new segments are frequent.
    static func workload(_ seed: UInt64) -> EngineOracle {
        let alone = KillTrial.engineWorkload(seed)
        var options = alone.options
        options.usesBackgroundThread = true
        options.isShared = true
        options.busyTimeout = .seconds(120)
        return EngineOracle(seed: seed, transactions: 2, bigEvery: 23, options: options)
    }

    /// Starts processes, kills and stops some of them, kills all, and verifies the store.
    func run(_ trial: ProcessesMode.Trial) throws -> ProcessesMode.Outcome {
        let group = ProcessGroup(of: path) { [seed, path] number in
            [ProcessesChild.command, "--path", path, "--seed", String(seed), "--role", number == 0 ? "reopens" : "writes"]
        }
        defer { _ = group.end() }
        try trial.disturb(group)
        let acknowledged = group.end().compactMap { UInt64($0) }.max() ?? 0
        let commits = try verify(processes: trial.processes, max(acknowledged, content.transaction))
        return .init(kills: group.killCount, stops: group.stopCount, holderStops: group.holderStopCount, commits: commits)
    }

    /// Each process may have committed one transaction without a report. Returns the number of commits since the last verification.
    private func verify(processes count: Int, _ acknowledged: UInt64) throws -> Int {
        var options = Self.workload(seed).options
        options.isShared = Bool.random()
        let oracle = Self.workload(seed)
        let engine = try Engine.open(path, options: options)
        let found = try oracle.newest(in: engine.snapshot())
        guard found >= acknowledged else { throw Finding("\(acknowledged) was acknowledged and the store ends with \(found)") }
        guard found <= acknowledged + UInt64(count) else { throw Finding("the store ends with \(found) and \(acknowledged) was the last report") }
        let before = content.transaction
        try content.verify(engine, at: found, oracle)
        return Int(found - before)
    }
}
