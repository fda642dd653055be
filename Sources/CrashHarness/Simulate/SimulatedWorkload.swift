import HornbeamEngine

/// What is done to a simulated disk before it crashes: sizes and steps follow from a seed.
struct SimulatedWorkload {
    enum Step {
        case commit(Durability)
        case checkpoint
        case reopen
    }

    let oracle: EngineOracle
    let steps: [Step]
    /// All subsets are tried where at most this many pieces are unsynced.
    let subsetsUpTo: Int

    init(seed: UInt64) {
        var random = SimulationRandom(seed: seed)
        let count = Int.random(in: 8...40, using: &random)
        subsetsUpTo = [4, 5, 6, 12].randomElement(using: &random)!
        let isLazy = Bool.random(using: &random)
        var steps: [Step] = []
        for _ in 0..<count {
            let lazy = isLazy && Int.random(in: 0..<3, using: &random) == 0
            // The delay is never over: a sync that depended on the clock would make no two runs alike.
            steps.append(.commit(lazy ? .lazy(maxDelay: .seconds(1_000_000)) : .full))
            if Int.random(in: 0..<12, using: &random) == 0 { steps.append(.checkpoint) }
            if Int.random(in: 0..<20, using: &random) == 0 { steps.append(.reopen) }
        }
        self.steps = steps
        oracle = EngineOracle(
            seed: seed, transactions: UInt64(count) + 3, bigEvery: [5, 9, 1000].randomElement(using: &random)!,
            options: Self.sizes(&random))
    }

    private static func sizes(_ random: inout SimulationRandom) -> EngineOptions {
        var options = EngineOracle.smallest
        options.pageSize = [512, 512, 1024, 4096].randomElement(using: &random)!
        options.poolBytes = options.pageSize * [16, 32, 64].randomElement(using: &random)!
        options.checkpointLogBytes = [4000, 12_000, 60_000].randomElement(using: &random)!
        options.attachThreshold = [2000, 5000, 1 << 20].randomElement(using: &random)!
        let segment = [12288, 16384, 32768].randomElement(using: &random)!
        options.log = LogOptions(firstSegmentBytes: segment, largestSegmentBytes: segment * 2)
        return options
    }

    func perform(on disk: SimulatedDisk) throws {
        try perform(on: disk, marking: disk)
    }

    /// Runs all steps; `disk` is told of what was submitted and promised, `fileSystem` may be a faulty layer over it.
    func perform(on fileSystem: any FileSystem, marking disk: SimulatedDisk) throws {
        var engine = try Engine.open(EngineOracle.path, fileSystem: fileSystem, options: oracle.options)
        for step in steps {
            switch step {
            case .commit(let durability): try oracle.commitNext(to: engine, durability, disk: disk)
            case .checkpoint:
                try engine.checkpoint()
                disk.mark(.acknowledged(engine.latest.rawValue))
            case .reopen:
                try engine.close()
                disk.mark(.acknowledged(engine.latest.rawValue))
                engine = try Engine.open(EngineOracle.path, fileSystem: fileSystem, options: oracle.options)
            }
        }
    }
}
