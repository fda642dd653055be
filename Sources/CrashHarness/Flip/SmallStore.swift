import HornbeamEngine

/// A store that can be damaged and then read.
protocol DamagedStore {
    var disk: SimulatedDisk { get }
    var sources: DamageSources { get }

    /// Opens the damaged store and reads everything.
    ///
    /// Throws unless the result is a complete state of the store, or an error that names the damage.
    func judge(_ damaged: SimulatedDisk) throws -> DamageOutcome
}

/// The result of reading a damaged store.
enum DamageOutcome: Hashable {
    case right
    case older
    /// So many files came from the other store that it is that one.
    case other
    case error(String)

    var figure: String {
        switch self {
        case .right: "right answers"
        case .older: "older complete states"
        case .other: "complete states of the other store"
        case .error(let code): "errors \(code)"
        }
    }
}

/// A store so small that every bit of it can be damaged.
struct SmallStore: DamagedStore {
    let oracle: EngineOracle
    let disk: SimulatedDisk
    let newest: UInt64
    let sources: DamageSources
    private let otherOracle: EngineOracle

    init(seed: UInt64) throws {
        let workload = Self.workload(seed)
        oracle = workload.oracle
        let disk = SimulatedDisk()
        var engine: Engine?
        var earlier: DamageSources.Files = [:]
        try workload.perform(on: disk, marking: disk, &engine, beforeStep: { step in
            if step == workload.steps.count / 2 { earlier = disk.files }
        })
        newest = workload.newest
        // Either closed, or as after a crash.
        if seed % 3 == 0 { try engine?.close() }
        engine = nil
        self.disk = disk.copy()
        let other = SimulatedDisk()
        let otherWorkload = Self.workload(seed &+ 0x5EED)
        otherOracle = otherWorkload.oracle
        try otherWorkload.perform(on: other, marking: other)
        sources = DamageSources(files: disk.files, earlier: earlier, other: other.files)
    }

    private static func workload(_ seed: UInt64) -> SimulatedWorkload {
        var sizes = EngineOracle.smallest
        sizes.log = LogOptions(firstSegmentBytes: 12_288, largestSegmentBytes: 12_288)
        return SimulatedWorkload(seed: seed, length: 8...14, sizes: sizes)
    }

    func judge(_ damaged: SimulatedDisk) throws -> DamageOutcome {
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
            return .error(error.code.rawValue)
        }
    }
}
