import HornbeamEngine
import Synchronization

/// The operations on a simulated disk before its crash. Sizes and steps are derived from a seed.
struct SimulatedWorkload {
    enum Step {
        case commit(Durability)
        case checkpoint
        case reopen
    }

    let oracle: EngineOracle
    let steps: [Step]
    /// The number of the last transaction.
    let newest: UInt64
    /// All subsets of the unsynced writes are tried when there are at most this many.
    let subsetsUpTo: Int

    init(seed: UInt64, length: ClosedRange<Int> = 8...40, sizes: EngineOptions? = nil) {
        var random = SimulationRandom(seed: seed)
        let count = Int.random(in: length, using: &random)
        subsetsUpTo = [4, 5, 6, 12].randomElement(using: &random)!
        let isLazy = Bool.random(using: &random)
        var steps: [Step] = []
        for _ in 0..<count {
            let lazy = isLazy && Int.random(in: 0..<3, using: &random) == 0
            // Infinite, because a sync that depends on the clock would make runs unrepeatable.
            steps.append(.commit(lazy ? .lazy(maxDelay: .seconds(1_000_000)) : .full))
            if Int.random(in: 0..<12, using: &random) == 0 { steps.append(.checkpoint) }
            if Int.random(in: 0..<20, using: &random) == 0 { steps.append(.reopen) }
        }
        self.steps = steps
        newest = UInt64(count)
        oracle = EngineOracle(
            seed: seed, transactions: UInt64(count) + 3, bigEvery: [5, 9, 1000].randomElement(using: &random)!,
            options: sizes ?? Self.sizes(&random))
    }

    private static func sizes(_ random: inout SimulationRandom) -> EngineOptions {
        var options = EngineOracle.smallest
        options.pageSize = [512, 512, 1024, 4096].randomElement(using: &random)!
        options.poolBytes = options.pageSize * [16, 32, 64].randomElement(using: &random)!
        options.checkpointLogBytes = [4000, 12_000, 60_000].randomElement(using: &random)!
        options.attachThreshold = [2000, 5000, 1 << 20].randomElement(using: &random)!
        options.slackBytes = [4000, 30_000, 1 << 20].randomElement(using: &random)!
        options.pageFileBytes = [8192, 65_536, 4 << 20].randomElement(using: &random)!
        let segment = [12288, 16384, 32768].randomElement(using: &random)!
        let salts = SaltSequence(seed: random.next())
        // Segments of one length are recycled after two checkpoints.
        let largest = segment * Int.random(in: 1...2, using: &random)
        options.log = LogOptions(firstSegmentBytes: segment, largestSegmentBytes: largest, salt: salts.next)
        return options
    }

    /// Runs all steps. Marks submitted and acknowledged commits on `disk`; `fileSystem` may be a faulty layer over it.
    func perform(on fileSystem: any FileSystem, marking disk: SimulatedDisk) throws {
        var engine: Engine?
        try perform(on: fileSystem, marking: disk, &engine)
    }

    /// Passes the engine that was open last to the caller, even after an error.
    func perform(
        on fileSystem: any FileSystem, marking disk: SimulatedDisk, _ engine: inout Engine?,
        beforeStep: (Int) -> Void = { _ in }
    ) throws {
        var open = try Engine.open(EngineOracle.path, fileSystem: fileSystem, options: oracle.options)
        engine = open
        for (number, step) in steps.enumerated() {
            beforeStep(number)
            switch step {
            case .commit(let durability): try oracle.commitNext(to: open, durability, disk: disk)
            case .checkpoint:
                try open.checkpoint()
                disk.mark(.acknowledged(try oracle.newest(in: open.snapshot())))
            case .reopen:
                engine = nil
                let newest = try oracle.newest(in: open.snapshot())
                try open.close()
                disk.mark(.acknowledged(newest))
                open = try Engine.open(EngineOracle.path, fileSystem: fileSystem, options: oracle.options)
                engine = open
            }
        }
    }
}

/// Salts of log segments from a seed, so that two runs write the same bytes.
private final class SaltSequence: Sendable {
    private let random: Mutex<SimulationRandom>

    init(seed: UInt64) { random = Mutex(SimulationRandom(seed: seed)) }

    @Sendable func next() -> UInt64 { random.withLock { $0.next() } }
}
