import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// A disk that refuses a group's own write, as one that copies on write does where blocks were set aside.
@Suite struct FullLogTests {
    enum Refusal: CaseIterable {
        case nothing, half
        var effect: FaultRule.Effect { self == .nothing ? .fail(.full) : .short }
    }

    /// An oracle whose groups take at most half a block each.
    private static func oracleOfSmallGroups() throws -> EngineOracle {
        for seed in 1 ... 200 as ClosedRange<UInt64> {
            let oracle = EngineOracle(seed: seed, transactions: 16, bigEvery: 100)
            let engine = try Engine.open(EngineOracle.path, fileSystem: MemoryFileSystem(), options: oracle.options)
            var largest = 0
            for number in 1 ... 16 as ClosedRange<UInt64> {
                let before = engine.core.pipeline.statistics.logBytes
                try oracle.commit(to: engine, through: number)
                largest = max(largest, engine.core.pipeline.statistics.logBytes - before)
            }
            try engine.close()
            if largest + LogFrame.groupFrameBytes + LogFrame.headerBytes <= LogFrame.blockBytes / 2 { return oracle }
        }
        throw Finding("No seed makes small groups only.")
    }

    /// The log's writes fail from some call on for a while; then the store is used further. Half of a small group's block is all of
    /// the group: it counts as written.
    @Test("a group that finds no space is refused, the store continues, and no crash restores the group",
        arguments: Refusal.allCases, [false, true])
    func aRefusedGroupIsWithdrawn(refusal: Refusal, isSticky: Bool) throws {
        var refused = 0
        for index in 0..<4 {
            let oracle = refusal == .half ? try Self.oracleOfSmallGroups() : EngineOracle(transactions: 16)
            let disk = SimulatedDisk()
            let faults = FaultInjector(disk)
            let engine = try Engine.open(EngineOracle.path, fileSystem: faults, options: oracle.options)
            try oracle.commit(to: engine, through: 4, disk: disk)
            faults.add(FaultRule(refusal.effect, calls: [.write], kind: .log, after: index, isSticky: isSticky))
            do { try oracle.commit(to: engine, through: 12, disk: disk) } catch let error as EngineError {
                #expect(error.code == .full, "\(error)")
                refused += 1
                let newest = disk.commitBounds.acknowledged
                var enumerator = CrashEnumerator(seed: 5)
                enumerator.start = disk.operationCount
                enumerator.subsetsUpTo = 2
                _ = try enumerator.crash(disk) { image in
                    let left = try Engine.open(EngineOracle.path, fileSystem: image.disk, options: oracle.options)
                    let found = try oracle.newest(in: left.snapshot())
                    guard found == newest else { throw Finding("transaction \(found) is there, \(newest) was the last promised") }
                }
            }
            faults.removeRules()
            #expect(engine.failure == nil)
            try oracle.commit(to: engine, through: 14, disk: disk)
            try oracle.expectSound(engine)
            try engine.close()
            var enumerator = CrashEnumerator(seed: 6)
            enumerator.subsetsUpTo = 1
            enumerator.stride = 13
            _ = try enumerator.crash(disk, verify: oracle.judgeSampled)
        }
        // A single failure refuses no group with a delete, which is repeated, and none that occurs during a preallocation.
        switch (refusal, isSticky) {
        case (.nothing, true): #expect(refused == 4)
        case (.nothing, false): #expect((1...4).contains(refused))
        case (.half, _): #expect(refused == 0)
        }
    }

    @Test("a group of several blocks of which half was written is withdrawn, and the next group overwrites it")
    func halfAGroupIsWithdrawn() throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let store = try TestStore(fileSystem: faults)
        let tree = try store.write { try $0.createIndex(named: "t") }
        var random = SplitMix(seed: 4)
        func putLarge() throws {
            try store.write { transaction in
                for n in 0..<60 {
                    try transaction.put([UInt8(n)], (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }, in: tree)
                }
            }
        }
        func expect(_ count: Int, from start: Int) throws {
            var enumerator = CrashEnumerator(seed: 8)
            enumerator.start = start
            _ = try enumerator.crash(disk) { image in
                let left = try Engine.open("test.hornbeam", fileSystem: image.disk, options: store.options)
                let found = try left.snapshot().index(tree).count
                guard found == count else { throw Finding("\(found) entries are there instead of \(count)") }
            }
        }
        faults.add(FaultRule(.short, calls: [.write], kind: .log))
        #expect(message { try putLarge() }.hasPrefix("full"))
        try expect(0, from: disk.operationCount)
        try store.write { try $0.put([255], [1], in: tree) }
        try expect(1, from: disk.operationCount)
        try putLarge()
        try expect(61, from: disk.operationCount)
        try store.engine.close()
    }

    @Test("a delete uses the space of the reserve when its group finds no other space")
    func deletesTakeTheReserve() throws {
        let faults = FaultInjector(MemoryFileSystem())
        let store = try TestStore(fileSystem: faults) { $0.reserveBytes = 64 << 10 }
        let tree = try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            for n in 0..<50 { try transaction.put(Array("key \(n)".utf8), [UInt8](repeating: 1, count: 90), in: tree) }
            return tree
        }
        try store.engine.checkpoint()
        #expect(try faults.exists("test.hornbeam/reserve"))
        faults.add(FaultRule(.fail(.full), calls: [.write], kind: .log, after: 0))
        try store.write { transaction in for n in 0..<30 { _ = try transaction.delete(Array("key \(n)".utf8), from: tree) } }
        #expect(try store.engine.snapshot().index(tree).count == 20)
        #expect(faults.firedCount == 1)
    }
}
