import HornbeamEngine
import Synchronization

/// One engine used by scheduled threads, and the commits acknowledged to them.
final class ScheduledTrial: Sendable {
    private let oracle: EngineOracle
    private let engine: Engine
    private let disk: SimulatedDisk
    /// The newest transaction before the trial.
    private let newest: UInt64
    private let mayClose: Bool
    /// The newest transaction whose commit has returned.
    private let acknowledged: Atomic<UInt64>
    private let commits = Atomic<UInt64>(0)

    init(oracle: EngineOracle, engine: Engine, disk: SimulatedDisk, newest: UInt64, mayClose: Bool) {
        self.oracle = oracle
        self.engine = engine
        self.disk = disk
        self.newest = newest
        self.mayClose = mayClose
        acknowledged = Atomic(newest)
    }

    // MARK: What the threads do

    func act(_ role: ScheduledWorkload.Role, lazily: Durability) throws {
        do {
            switch role {
            case .writer(let count, let isLazy):
                for _ in 0..<count { try commit(isLazy ? lazily : .full) }
            case .waverer:
                try waver()
                try commit(.full)
            case .checkpoint(let count): for _ in 0..<count { try engine.checkpoint() }
            case .upkeep(let count): for _ in 0..<count { engine.maintain() }
            case .reader(let count): try read(count)
            case .closer: try engine.close()
            }
        } catch let error as EngineError where mayClose && error.code == .closed {
            // The errors of a store that is closed during use.
        }
    }

    private func commit(_ durability: Durability) throws {
        let transaction = try engine.begin()
        let number = try oracle.next(for: transaction)
        disk.mark(.submitted(number))
        try oracle.change(transaction, number)
        _ = try transaction.commit(durability)
        if durability == .full { disk.mark(.acknowledged(number)) }
        acknowledged.max(number, ordering: .sequentiallyConsistent)
        commits.wrappingAdd(1, ordering: .sequentiallyConsistent)
    }

    /// Changes everything and aborts.
    private func waver() throws {
        let transaction = try engine.begin()
        try oracle.change(transaction, try oracle.next(for: transaction))
        transaction.abort()
    }

    private func read(_ count: Int) throws {
        var last: UInt64 = 0
        for _ in 0..<count {
            let promised = acknowledged.load(ordering: .sequentiallyConsistent)
            let snapshot = try engine.snapshot()
            let number = try oracle.newest(in: snapshot)
            guard number >= promised else { throw Finding("a reader sees \(number) after \(promised) was acknowledged") }
            guard number >= last else { throw Finding("a reader sees \(number) after \(last)") }
            last = number
            for _ in 0..<2 {
                guard try oracle.digest(snapshot) == oracle.digests[Int(number)] else {
                    throw Finding("a reader of transaction \(number) sees another content")
                }
            }
        }
    }

    // MARK: Afterwards

    /// Throws unless every acknowledged commit is present, and the store is intact and can be opened again.
    func judge() throws {
        let goal = newest + commits.load(ordering: .sequentiallyConsistent)
        if !mayClose {
            let found = try oracle.newest(in: engine.snapshot())
            guard found == goal else { throw Finding("the newest transaction is \(found), not \(goal)") }
            try oracle.expectSound(engine)
            guard goal % 4 == 0 else { return }
        }
        try engine.close()
        let again = try Engine.open(EngineOracle.path, fileSystem: disk, options: oracle.options)
        let found = try oracle.newest(in: again.snapshot())
        guard found >= acknowledged.load(ordering: .sequentiallyConsistent) else {
            throw Finding("reopening finds transaction \(found); \(goal) was acknowledged")
        }
        try oracle.expectSound(again)
        try again.close()
    }
}
