import HornbeamEngine
import HornbeamSimulation
import Synchronization

/// The engines that scheduled threads use, and the commits that were acknowledged to them. Several engines share the store.
final class ScheduledTrial: Sendable {
    private let oracle: EngineOracle
    private let engines: [Engine]
    private let disk: SimulatedDisk
    /// The newest transaction before the trial.
    private let newest: UInt64
    private let mayClose: Bool
    /// The newest transaction whose commit has returned.
    private let acknowledged: Atomic<UInt64>
    private let commits = Atomic<UInt64>(0)

    init(oracle: EngineOracle, engines: [Engine], disk: SimulatedDisk, newest: UInt64, mayClose: Bool) {
        self.oracle = oracle
        self.engines = engines
        self.disk = disk
        self.newest = newest
        self.mayClose = mayClose
        acknowledged = Atomic(newest)
    }

    // MARK: Actions of the threads

    /// Acts as the thread of a number, on one of the engines.
    func act(_ role: ScheduledWorkload.Role, number: Int, lazily: Durability) throws {
        let engine = engines[number % engines.count]
        do {
            switch role {
            case .writer(let count, let isLazy):
                for _ in 0..<count { try commit(engine, isLazy ? lazily : .full) }
            case .waverer:
                try abortChanges(engine)
                try commit(engine, .full)
            case .checkpoint(let count): for _ in 0..<count { try engine.checkpoint() }
            case .compactor: try engine.compact()
            case .upkeep(let count): for _ in 0..<count { engine.maintain() }
            case .reader(let count): try read(engine, count)
            case .closer: try engine.close()
            }
        } catch let error as EngineError where mayClose && error.code == .closed {
            // A closed store refuses calls; this is expected.
        }
    }

    private func commit(_ engine: Engine, _ durability: Durability) throws {
        let transaction = try engine.begin()
        let number = try oracle.next(for: transaction)
        disk.mark(.submitted(number))
        try oracle.change(transaction, number)
        _ = try transaction.commit(durability)
        if durability == .full { disk.mark(.acknowledged(number)) }
        acknowledged.max(number, ordering: .sequentiallyConsistent)
        commits.wrappingAdd(1, ordering: .sequentiallyConsistent)
    }

    /// Makes the changes of the next transaction and aborts it.
    private func abortChanges(_ engine: Engine) throws {
        let transaction = try engine.begin()
        try oracle.change(transaction, try oracle.next(for: transaction))
        transaction.abort()
    }

    private func read(_ engine: Engine, _ count: Int) throws {
        var last: UInt64 = 0
        for _ in 0..<count {
            let promised = acknowledged.load(ordering: .sequentiallyConsistent)
            _ = try engine.refresh()
            let snapshot = try engine.snapshot()
            let number = try oracle.newest(in: snapshot)
            guard number >= promised else { throw Finding("a reader sees \(number) after \(promised) was acknowledged") }
            guard number >= last else { throw Finding("a reader sees \(number) after \(last)") }
            last = number
            for _ in 0..<2 {
                guard try oracle.digest(snapshot) == oracle.digests[Int(number)] else {
                    throw Finding("a reader of transaction \(number) sees wrong content")
                }
            }
        }
    }

    // MARK: Judging

    /// Throws unless every acknowledged commit is present, the store passes the check, and it can be opened again.
    func judge() throws {
        let goal = newest + commits.load(ordering: .sequentiallyConsistent)
        if !mayClose {
            for engine in engines { try expect(goal, engine) }
            guard goal % 4 == 0 || engines.count > 1 else { return }
        }
        for engine in engines { try engine.close() }
        let again = try Engine.open(EngineOracle.path, fileSystem: disk, options: oracle.options)
        let found = try oracle.newest(in: again.snapshot())
        guard found >= acknowledged.load(ordering: .sequentiallyConsistent) else {
            throw Finding("reopening finds transaction \(found); \(goal) was acknowledged")
        }
        try oracle.expectSound(again)
        try again.close()
    }

    /// Throws unless the second engine finds all acknowledged commits after the death of the first one. It may also find the commit that was in progress.
    func judgeDeath() throws {
        let survivor = engines[1]
        let transaction = try survivor.begin()
        let found = try oracle.next(for: transaction) - 1
        transaction.abort()
        let (promised, made) = (acknowledged.load(ordering: .sequentiallyConsistent), commits.load(ordering: .sequentiallyConsistent))
        guard found >= promised, (newest + made ... newest + made + 1).contains(found) else {
            throw Finding("after the death of a process, transaction \(found) is the newest; \(promised) was acknowledged")
        }
        try oracle.expectContent(survivor)
        try survivor.close()
        let again = try Engine.open(EngineOracle.path, fileSystem: disk, options: oracle.options)
        guard try oracle.newest(in: again.snapshot()) == found else { throw Finding("reopening does not find transaction \(found)") }
        try oracle.expectSound(again)
        try again.close()
    }

    private func expect(_ goal: UInt64, _ engine: Engine) throws {
        _ = try engine.refresh()
        let found = try oracle.newest(in: engine.snapshot())
        guard found == goal else { throw Finding("the newest transaction is \(found), not \(goal)") }
        // The check also compares the live bytes of all files, which only the process with the turn counts.
        if engines.count > 1 { try oracle.expectContent(engine) } else { try oracle.expectSound(engine) }
    }
}
