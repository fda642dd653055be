import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore

/// The steps of an object graph on a simulated disk.
struct GraphWorkload: Sendable {
    static let path = "graph.hornbeam"

    private let model: ManagedObjectModel
    private let seed: UInt64
    let steps: Int

    init(seed: UInt64) throws {
        model = try TrialModel.make()
        self.seed = seed
        steps = 7 + Int(seed / 8 % 5)
    }

    func open(_ fileSystem: any FileSystem, at path: String = GraphWorkload.path) throws -> PersistentContainer {
        let store = try Store.open(.directory(path), model: model, options: options(fileSystem))
        return try PersistentContainer.over(store, classes: TrialModel.classes)
    }

    func options(_ fileSystem: any FileSystem) -> Store.Options {
        var options = Store.Options()
        options.fileSystem = fileSystem
        options.backgroundCheckpoints = false
        options.poolBytes = 1 << 18
        options.engine.pageSize = 2048
        options.engine.frameCeiling = 4000
        options.engine.checkpointLogBytes = seed % 16 < 8 ? 30_000 : 200_000
        options.engine.log = LogOptions(firstSegmentBytes: 32_768, largestSegmentBytes: 65_536)
        return options
    }

    func perform(on disk: SimulatedDisk) throws {
        let container = try open(disk)
        try container.performAndWait { context in
            for step in 1...steps {
                disk.mark(.submitted(UInt64(step)))
                try GraphTrial.perform(step, in: context)
                disk.mark(.acknowledged(UInt64(step)))
            }
        }
        try container.close()
    }

    /// Opens a store after a crash. It must have the complete state of a step between the last acknowledged and the last submitted one, and accept
    /// new saves.
    func judge(_ image: CrashEnumerator.Image) throws {
        let container = try open(image.disk)
        image.disk.mark(.recovered)
        try container.performAndWait { context in
            let step = try GraphTrial.newestStep(in: context)
            guard step >= image.acknowledged, step <= max(image.submitted, image.acknowledged) else {
                throw Finding("the store has recovered step \(step)")
            }
            var oracle = GraphOracle()
            oracle.advance(to: step)
            try GraphTrial.expect(oracle, in: context)
            try GraphTrial.perform(step + 1, in: context)
            oracle.advance(to: step + 1)
            try GraphTrial.expect(oracle, in: context)
        }
        let report = try container.openStore().check()
        guard report.isSound else { throw Finding(report.description) }
        try container.close()
    }
}
