import Foundation
import Hornbeam
import HornbeamEngine
import HornbeamStore

/// A store on the real disk. The process that writes to it is killed repeatedly.
final class KillTrial {
    let level: KillChild.Level
    let seed: UInt64
    let path: String
    private var acknowledged: UInt64 = 0
    private var content = CommittedContent()
    private var graph = GraphOracle()

    init(level: KillChild.Level, seed: UInt64, folder: URL) {
        self.level = level
        self.seed = seed
        path = folder.appendingPathComponent("killed-\(seed).hornbeam").path
    }

    /// Uses small pages and logs, so that kills often interrupt checkpoints and rotations of the log.
    static func engineWorkload(_ seed: UInt64) -> EngineOracle {
        var options = EngineOracle.smallest
        options.pageSize = seed % 5 == 0 ? 4096 : 512
        options.checkpointLogBytes = seed % 7 == 0 ? 1 << 20 : 40_000
        options.log = LogOptions(firstSegmentBytes: 16384, largestSegmentBytes: 131_072)
        return EngineOracle(seed: seed, transactions: 2, bigEvery: 23, options: options)
    }

    /// Runs a child, kills it at a random moment, and verifies the store. Returns the number of commits acknowledged since the last kill.
    func killOnce() throws -> Int {
        let before = acknowledged
        if let last = try KilledProcess(level, path, seed).run().compactMap({ UInt64($0) }).last { acknowledged = max(acknowledged, last) }
        switch level {
        case .engine: try verifyEngine()
        case .graph: try verifyGraph()
        case .migration: preconditionFailure("Migrations have a trial of their own.")
        }
        return Int(acknowledged - before)
    }

    // MARK: Verifying

    /// Checks the number of the newest commit. One commit may be durable without a report, because the kill came between the two.
    private func accept(_ found: UInt64) throws {
        guard found >= acknowledged else { throw Finding("\(acknowledged) was acknowledged and the store ends with \(found)") }
        guard found <= acknowledged + 1 else { throw Finding("the store ends with \(found) and \(acknowledged) was the last report") }
        acknowledged = found
    }

    private func verifyEngine() throws {
        let oracle = Self.engineWorkload(seed)
        let engine = try Engine.open(path, options: oracle.options)
        let found = try oracle.newest(in: engine.snapshot())
        try accept(found)
        try content.verify(engine, at: found, oracle)
    }

    private func verifyGraph() throws {
        let container = try PersistentContainer.open(
            at: URL(fileURLWithPath: path), model: try TrialModel.make(), classes: TrialModel.classes)
        try container.performAndWait { context in
            try accept(UInt64(try GraphTrial.newestStep(in: context)))
            graph.advance(to: Int(acknowledged))
            try GraphTrial.expect(graph, in: context)
        }
        let report = try container.openStore().check()
        guard report.isSound else { throw Finding(report.description) }
        try container.close()
    }
}
