import HornbeamEngine
import HornbeamSimulation
import HornbeamThreads

/// The threads of a schedule. A seed determines their roles and the number of their actions.
struct ScheduledWorkload: CustomStringConvertible {
    enum Role: Hashable {
        /// Commits this number of transactions, with lazy or full durability.
        case writer(Int, isLazy: Bool)
        /// Changes rows in a transaction and aborts it, then commits another one.
        case waverer
        case checkpoint(Int)
        /// Compacts the store, with checkpoints that follow each other without a commit between them.
        case compactor
        /// Runs the work of the background thread.
        case upkeep(Int)
        /// Opens this number of snapshots and reads each twice.
        case reader(Int)
        /// Closes the store during use.
        case closer

        var name: String {
            switch self {
            case .writer(_, let isLazy): isLazy ? "lazy writer" : "writer"
            case .waverer: "waverer"
            case .checkpoint: "checkpoint"
            case .compactor: "compactor"
            case .upkeep: "upkeep"
            case .reader: "reader"
            case .closer: "closer"
            }
        }

        /// The role without lazy commits, which other engines do not see before their sync.
        var durable: Role {
            if case .writer(let count, _) = self { return .writer(count, isLazy: false) }
            return self
        }

        var times: Int {
            switch self {
            case .writer(let count, _), .checkpoint(let count), .upkeep(let count), .reader(let count): count
            case .waverer, .compactor, .closer: 1
            }
        }
    }

    /// The result of one schedule.
    struct Result {
        let disk: SimulatedDisk
        let points: Int
        let switchCount: Int
        /// Every switch, one per line.
        let trace: String
    }

    let oracle: EngineOracle
    let roles: [Role]
    /// The number of engines. Several share the store, as processes do.
    let engineCount: Int
    /// A closed store with a few transactions.
    private let base: SimulatedDisk
    private let transactionsBefore: UInt64

    /// Practically infinite: pauses that depend on the clock would make runs unrepeatable.
    private static let lazily = Durability.lazy(maxDelay: .seconds(1_000_000))

    /// Derives the whole workload from a seed, except for the roles if they are given.
    /// `engines`: the number of engines that share the store; nil derives it from the seed.
    init(seed: UInt64, roles: [Role]? = nil, engines: Int? = nil) throws {
        var random = SimulationRandom(seed: seed)
        let drawn = Self.roles(&random)
        engineCount = engines ?? (roles == nil && seed % 4 == 3 ? 2 : 1)
        self.roles = (roles ?? drawn).map { [engineCount] in engineCount > 1 ? $0.durable : $0 }
        transactionsBefore = UInt64.random(in: 1...12, using: &random)
        var options = EngineOracle.smallest
        options.poolBytes = 16 * 512
        options.checkpointLogBytes = [2000, 6000, 1 << 20].randomElement(using: &random)!
        options.attachThreshold = [2000, 1 << 20].randomElement(using: &random)!
        let segment = [12288, 16384].randomElement(using: &random)!
        options.log = LogOptions(firstSegmentBytes: segment, largestSegmentBytes: segment)
        options.isShared = engineCount > 1
        oracle = EngineOracle(
            seed: seed, transactions: transactionsBefore + 12, bigEvery: [4, 1000, 1000].randomElement(using: &random)!,
            options: options)
        base = SimulatedDisk()
        let engine = try Engine.open(EngineOracle.path, fileSystem: base, options: options)
        try oracle.commit(to: engine, through: transactionsBefore)
        try engine.close()
    }

    private static func roles(_ random: inout SimulationRandom) -> [Role] {
        // Two threads with one action each have so few schedules that all can be run.
        let isTiny = Int.random(in: 0..<8, using: &random) == 0
        func times() -> Int { isTiny ? 1 : Int.random(in: 1...2, using: &random) }
        func writer() -> Role { .writer(times(), isLazy: Int.random(in: 0..<3, using: &random) == 0) }
        let second: [Role] = [
            writer(), .waverer, .checkpoint(times()), .compactor, .upkeep(times()), .reader(times()), .closer,
        ]
        if isTiny { return [writer(), second.randomElement(using: &random)!] }
        var roles = [writer(), second.randomElement(using: &random)!, .reader(times())]
        if Bool.random(using: &random) { roles.append(.checkpoint(1)) }
        if Bool.random(using: &random) { roles.append(second.dropLast().randomElement(using: &random)!) }
        return roles
    }

    var threadCount: Int { roles.count }

    var description: String {
        roles.map { $0.times == 1 ? $0.name : "\($0.name) × \($0.times)" }.joined(separator: ", ") + (engineCount > 1 ? ", two engines" : "")
    }

    // MARK: Performing

    /// Runs the threads in the order of a schedule. Judges their results and the store.
    func perform(_ schedule: Schedule) throws -> Result {
        let disk = base.copy()
        disk.mark(.acknowledged(transactionsBefore))
        let interleaving = Interleaving(schedule)
        let engines = try (0..<engineCount).map { _ in try Engine.open(EngineOracle.path, fileSystem: disk, options: oracle.options) }
        let trial = ScheduledTrial(
            oracle: oracle, engines: engines, disk: disk, newest: transactionsBefore, mayClose: roles.contains(.closer))
        let parts = roles.enumerated().map { number, role in
            Interleaving.Part("\(number + 1) \(role.name)") { try trial.act(role, number: number, lazily: Self.lazily) }
        }
        let outcome = try run(parts, interleaving) { try trial.judge() }
        return Result(disk: disk, points: outcome.points, switchCount: outcome.switches.count, trace: outcome.trace)
    }

    /// Runs two engines in the order of a schedule. The first one dies at a call of the file system after `calls` others; the second one continues.
    /// Returns whether it died.
    func performDeath(_ schedule: Schedule, after calls: Int) throws -> Bool {
        let disk = base.copy()
        let dying = DyingEngine()
        let faults = FaultInjector(disk) { dying.releaseLocks() }
        let systems: [any FileSystem] = [faults, disk]
        let engines = try systems.map { try Engine.open(EngineOracle.path, fileSystem: $0, options: oracle.options) }
        dying.engine.withLock { $0 = engines[0] }
        // The engine, its file system and the closure refer to each other.
        defer { dying.engine.withLock { $0 = nil } }
        faults.add(FaultRule(.fail(.inputOutput), after: calls, isSticky: true))
        let trial = ScheduledTrial(oracle: oracle, engines: engines, disk: disk, newest: transactionsBefore, mayClose: false)
        let parts = roles.enumerated().map { number, role in
            Interleaving.Part("\(number + 1) \(role.name)") {
                do { try trial.act(role, number: number, lazily: Self.lazily) } catch {
                    guard number % 2 == 0, faults.firedCount > 0 else { throw error }
                }
            }
        }
        let died = { faults.firedCount > 0 }
        _ = try run(parts, Interleaving(schedule)) { if died() { try trial.judgeDeath() } }
        return died()
    }

    /// Runs the threads, and judges the result.
    private func run(_ parts: [Interleaving.Part], _ interleaving: Interleaving, _ judge: () throws -> Void) throws -> Interleaving.Outcome {
        let outcome = interleaving.run(parts)
        if let stopReason = outcome.stopReason { throw Finding("\(stopReason)\n\(outcome.trace)") }
        if let failure = outcome.failures.first { throw Finding("\(failure.name): \(failure.error)\n\(outcome.trace)") }
        do { try judge() } catch { throw Finding("\(error)\n\(outcome.trace)") }
        return outcome
    }

    /// Crashes the disk at each `stride`-th operation of a schedule, from the operation `start` on. Returns the number of images that were judged.
    func crash(_ disk: SimulatedDisk, start: Int = 0, stride: Int? = nil) throws -> Int {
        var enumerator = CrashEnumerator(seed: oracle.seed)
        enumerator.subsetsUpTo = 2
        enumerator.randomImagesPerPoint = 1
        enumerator.start = start
        enumerator.stride = stride ?? max(disk.operationCount / 4, 1)
        return try enumerator.crash(disk) { try oracle.judge($0) }.images
    }
}

extension Interleaving.Outcome {
    /// Every switch, one per line.
    fileprivate var trace: String { switches.map(\.description).joined(separator: "\n") }
}

/// The engine of a process that dies.
private final class DyingEngine: Sendable {
    let engine = Guarded<Engine?>(nil)

    /// The operating system releases the locks of a dead process.
    func releaseLocks() { engine.withLock { $0 }?.sharedLock?.release() }
}
