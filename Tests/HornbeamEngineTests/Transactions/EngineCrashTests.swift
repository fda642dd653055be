import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The engine on a disk that crashes at every fifth operation; `crash-harness simulate` crashes at every one.
@Suite struct EngineCrashTests {
    @Test func bigTransactionsOfTheOracleWriteLeavesEarly() throws {
        let oracle = EngineOracle(transactions: 30)
        let engine = try Engine.open("s.hornbeam", fileSystem: MemoryFileSystem(), options: oracle.options)
        var buffered: [UInt64] = []
        var leafByLeaf: [UInt64] = []
        var filled: [UInt64] = []
        while try oracle.newest(in: engine.snapshot()) < 30 {
            let transaction = try engine.begin()
            let number = try oracle.next(for: transaction)
            try oracle.change(transaction, number)
            let writers = transaction.earlyLeaves?.leafWriters ?? [:]
            if writers.keys.contains(where: { $0 != transaction.tree(named: "table") }) { leafByLeaf.append(number) }
            if writers.keys.contains(where: { $0 == transaction.tree(named: "table") }) { filled.append(number) }
            _ = try transaction.commit()
            let snapshot = try engine.snapshot()
            guard let buffer = snapshot.tree(named: "index/insert-buffer"), try snapshot.index(buffer).count > 0 else { continue }
            buffered.append(try oracle.newest(in: snapshot))
        }
        #expect(buffered.count > 4, "transactions after which the buffer has entries: \(buffered)")
        #expect(leafByLeaf.count > 0, "transactions that put batches leaf by leaf: \(leafByLeaf)")
        #expect(filled.count > 1, "transactions that pack filled leaves of the table: \(filled)")
        try oracle.expectSound(engine)
    }

    @Test func crashesRecoverAPrefixThatHoldsAllAcknowledgedCommits() throws {
        let oracle = EngineOracle(transactions: 30)
        var enumerator = CrashEnumerator(seed: 1)
        enumerator.subsetsUpTo = 3
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 5
        let report = try enumerator.run(
            workload: { disk in
                let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
                try oracle.commit(to: engine, through: 18, disk: disk)
                try engine.checkpoint()
                try oracle.commit(to: engine, through: 20, disk: disk)
                try engine.close()
                let again = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
                try oracle.commit(to: again, through: 22, disk: disk)
            }, verify: oracle.judge)
        print("engine crashes: \(report)")
        #expect(report.images > 1000)
    }

    @Test func crashesWhileRecoveringLoseNothing() throws {
        let oracle = EngineOracle(transactions: 30)
        var enumerator = CrashEnumerator(seed: 2)
        enumerator.subsetsUpTo = 2
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 30
        enumerator.nestingDepth = 2
        let report = try enumerator.run(
            workload: { disk in
                let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
                try oracle.commit(to: engine, through: 20, disk: disk)
            }, verify: oracle.judge)
        print("crashes while recovering: \(report)")
        #expect(report.nestedImages > 100)
    }
}
