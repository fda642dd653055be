import Foundation
import HornbeamThreads
import Synchronization
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// After `close()` nothing is written, even if other calls were running.
@Suite struct ClosingTests {
    private func fill(_ engine: Engine) throws -> TreeID {
        let transaction = try engine.begin()
        let tree = try transaction.createIndex(named: "t")
        for n in 0..<400 { try transaction.put(Array("key \(n)".utf8), [UInt8](repeating: UInt8(n & 255), count: 100), in: tree) }
        _ = try transaction.commit()
        return tree
    }

    private func options() -> EngineOptions {
        var options = EngineOracle.smallest
        options.attachThreshold = 1 << 20
        options.pageFileBytes = 8192
        return options
    }

    @Test("a compaction whose progress closes the store ends with `closed`, writes nothing more, and the store opens again")
    func closingInsideCompaction() throws {
        let disk = SimulatedDisk()
        let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: options())
        let tree = try fill(engine)
        try engine.checkpoint()
        let transaction = try engine.begin()
        for n in 0..<40 { try transaction.put(Array("key \(n)".utf8), [9], in: tree) }
        _ = try transaction.commit()
        let content = try engine.snapshot().index(tree).content()
        let operations = Mutex(-1)
        let error = #expect(throws: EngineError.self) {
            try engine.compact { (_) throws(EngineError) in
                guard operations.withLock({ $0 < 0 }) else { return }
                let late = try engine.begin()
                try late.put([1], [2], in: tree)
                _ = try late.commit()
                try engine.close()
                operations.withLock { $0 = disk.operationCount }
            }
        }
        #expect(error?.code == .closed)
        #expect(disk.operationCount == operations.withLock { $0 })
        let again = try Engine.open("s.hornbeam", fileSystem: disk, options: options())
        let expected = content.filter { $0.key != [1] }
        #expect(try again.snapshot().index(tree).content().filter { $0.key != [1] } == expected)
        #expect(try again.snapshot().index(tree).get([1]) == [2])
        try again.close()
    }

    @Test("each close returns when the store can be opened again, whichever thread closes it", arguments: 0..<20 as Range<UInt64>)
    func secondCloseWaits(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let preemptions = (0..<4).map { _ in
            Schedule.Preemption(point: Int.random(in: 0..<300, using: &random), target: Int.random(in: 0..<2, using: &random))
        }
        let interleaving = Interleaving(Schedule(preemptions: preemptions, seed: UInt64.random(in: 0..<1 << 20, using: &random)))
        let disk = SimulatedDisk()
        let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: options())
        _ = try fill(engine)
        let counts = Guarded<[Int]>([])
        let parts = (0..<2).map { thread in
            Interleaving.Part("\(thread)") {
                try engine.close()
                counts.withLock { $0.append(disk.operationCount) }
            }
        }
        let result = interleaving.run(parts)
        #expect(result.stopReason == nil && result.failures.isEmpty, "seed \(seed): \(result.failures)")
        #expect(counts.withLock { Set($0) } == [disk.operationCount], "seed \(seed): written after a close")
        try Engine.open("s.hornbeam", fileSystem: disk, options: options()).close()
    }

    @Test("threads that commit, checkpoint, compact and tend the store write nothing after another one has closed it")
    func closingBesideOthers() throws {
        for round in 0..<40 {
            let disk = SimulatedDisk()
            let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: options())
            let tree = try fill(engine)
            let acknowledged = Mutex(0)
            let group = DispatchGroup()
            for worker in 0..<4 {
                DispatchQueue.global().async(group: group) {
                    do {
                        for number in 1... {
                            switch worker {
                            case 0:
                                let transaction = try engine.begin()
                                try transaction.put([0], Array("\(number)".utf8), in: tree)
                                _ = try transaction.commit()
                                acknowledged.withLock { $0 = number }
                            case 1: try engine.checkpoint()
                            case 2: try engine.compact()
                            default:
                                engine.maintain()
                                if engine.failure != nil { return }
                            }
                        }
                    } catch {}
                }
            }
            usleep(useconds_t(500 + round * 200))
            try engine.close()
            let operations = disk.operationCount
            group.wait()
            #expect(disk.operationCount == operations)
            let again = try Engine.open("s.hornbeam", fileSystem: disk, options: options())
            let value = try again.snapshot().index(tree).get([0]).map { String(decoding: $0, as: UTF8.self) } ?? "0"
            #expect(Int(value)! >= acknowledged.withLock { $0 })
            try again.close()
        }
    }
}
