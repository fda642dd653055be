import HornbeamEngine

/// A store small enough to damage every bit of it, with what damage can be made of: itself at an earlier time, and a
/// store of its own kind.
struct SmallStore {
    typealias Files = [String: [UInt8]]

    let oracle: EngineOracle
    let disk: SimulatedDisk
    let newest: UInt64
    let files: Files
    /// The same store, half as old.
    let earlier: Files
    let other: Files
    private let otherOracle: EngineOracle

    init(seed: UInt64) throws {
        let workload = Self.workload(seed)
        oracle = workload.oracle
        let disk = SimulatedDisk()
        var engine: Engine?
        var earlier: Files = [:]
        try workload.perform(on: disk, marking: disk, &engine, beforeStep: { step in
            if step == workload.steps.count / 2 { earlier = disk.files }
        })
        newest = workload.newest
        // As a crash leaves it, or as closing does.
        if seed % 3 == 0 { try engine?.close() }
        engine = nil
        self.disk = disk.copy()
        files = disk.files
        self.earlier = earlier
        let other = SimulatedDisk()
        let otherWorkload = Self.workload(seed &+ 0x5EED)
        otherOracle = otherWorkload.oracle
        try otherWorkload.perform(on: other, marking: other)
        self.other = other.files
    }

    private static func workload(_ seed: UInt64) -> SimulatedWorkload {
        var sizes = EngineOracle.smallest
        sizes.log = LogOptions(firstSegmentBytes: 12_288, largestSegmentBytes: 12_288)
        return SimulatedWorkload(seed: seed, length: 8...14, sizes: sizes)
    }

    /// What a damaged store turned out to be.
    enum Outcome: Hashable {
        case right
        case older
        /// So many files came from the other store that this is it.
        case other
        case error(EngineError.Code)

        var figure: String {
            switch self {
            case .right: "right answers"
            case .older: "older complete states"
            case .other: "complete states of the other store"
            case .error(let code): "errors \(code.rawValue)"
            }
        }
    }

    /// Opens what is left and reads everything.
    ///
    /// Throws for anything else than the content after some transaction, or an error that says what is damaged.
    func judge(_ damaged: SimulatedDisk) throws -> Outcome {
        do {
            let engine = try Engine.open(EngineOracle.path, fileSystem: damaged, options: oracle.options)
            let snapshot = try engine.snapshot()
            let found = try oracle.newest(in: snapshot)
            let digest = try oracle.digest(snapshot)
            if found <= newest, digest == oracle.digests[Int(found)] { return found == newest ? .right : .older }
            if found <= otherOracle.last, digest == otherOracle.digests[Int(found)] { return .other }
            throw Finding("a wrong answer: the content is not that after transaction \(found)")
        } catch let error as EngineError {
            guard [.damaged, .logDamaged, .notAStore, .newerFormat].contains(error.code) else {
                throw Finding("an error that names no damage: \(error)")
            }
            return .error(error.code)
        }
    }
}
