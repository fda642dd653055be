import Glibc
import Testing

@testable import HornbeamEngine

@Suite("Frame pool") struct FramePoolTests {
    /// A threshold above which no transaction of these tests writes its leaves early, which would limit its memory.
    private static let neverAttached = 1 << 30

    /// How many bytes of the first frames are in memory.
    private func residentBytes(_ pool: FramePool, frames: Int) -> Int {
        let unit = Int(getpagesize())
        let start = UInt(bitPattern: pool.page(0).base)
        var states = [UInt8](repeating: 0, count: frames * pool.pageSize / unit)
        guard mincore(UnsafeMutableRawPointer(bitPattern: start), states.count * unit, &states) == 0 else { return -1 }
        return states.count { $0 & 1 != 0 } * unit
    }

    @Test("the next checkpoint returns memory above the pool's target to the system, and the stored content stays", arguments: [512, 4096, 16384])
    func excessIsReturned(pageSize: Int) throws {
        let store = try TestStore(pageSize: pageSize) { options in
            options.frameCeiling = 4_000
            options.attachThreshold = Self.neverAttached
        }
        let pool = store.engine.core.pool
        func value(_ number: Int, _ round: Int) -> [UInt8] { Array("\(round) \(number) ".utf8) + Array(repeating: 7, count: pageSize / 5) }
        for round in 1...2 {
            let before = try store.write { transaction in
                let tree = try transaction.tree(named: "t") ?? transaction.createIndex(named: "t")
                for number in 0..<5_000 {
                    try transaction.put(Array("key \(number)".utf8), value(number, round), in: tree)
                }
                return residentBytes(pool, frames: 4_000)
            }
            #expect(before > 1_000 * pageSize)
            try store.engine.checkpoint()
            let after = residentBytes(pool, frames: 4_000)
            #expect(after < before / 4, "\(before) before and \(after) after round \(round)")
            let snapshot = try store.engine.snapshot()
            let index = try snapshot.index(try #require(snapshot.tree(named: "t")))
            for number in stride(from: 0, to: 5_000, by: 7) {
                let found = try index.get(Array("key \(number)".utf8))
                #expect(found == value(number, round))
            }
        }
        #expect(try store.engine.check().problems == [])
        try store.engine.close()
    }

    @Test("the frame of a page that a commit replaced is reused for the next copy, and an old snapshot still reads its own content")
    func framesOfReplacedPagesAreTakenAgain() throws {
        let store = try TestStore(pageSize: 512)
        let pool = store.engine.core.pool
        func key(_ number: Int) -> [UInt8] { Array("key \(1_000 + number)".utf8) }
        func value(_ number: Int, _ round: Int) -> [UInt8] { Array("\(round) \(number) ".utf8) + Array(repeating: 7, count: 200) }
        let tree = try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            for number in 0..<600 { try transaction.put(key(number), value(number, 1), in: tree) }
            return tree
        }
        try store.engine.checkpoint()
        let old = try store.engine.snapshot()
        let before = pool.usage.inUse
        // Each leaf holds two entries: 200 commits copy 200 leaves that are on disk.
        for number in stride(from: 0, to: 600, by: 3) {
            try store.write { transaction in try transaction.put(key(number), value(number, 2), in: tree) }
        }
        // The copies are nodes that wait for the checkpoint; without taking frames again there would be the pages too.
        #expect(pool.usage.inUse <= before + 20, "\(before) frames before, \(pool.usage.inUse) after")
        let index = try old.index(tree)
        for number in 0..<600 {
            let found = try index.get(key(number))
            #expect(found == value(number, 1))
        }
        #expect(try store.engine.check().problems == [])
        try store.engine.close()
    }

    @Test("scans of more pages than the pool has stay within its target size, after a big transaction that needed more")
    func scansStayWithinThePool() throws {
        let capacity = 256
        let store = try TestStore(pageSize: 4096) { options in
            options.poolBytes = capacity * 4096
            options.attachThreshold = Self.neverAttached
        }
        let pool = store.engine.core.pool
        let tree = try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            for number in 0..<40_000 {
                let key = Array("key \(100_000 + number)".utf8)
                try transaction.put(key, Array(repeating: UInt8(number & 255), count: 100), in: tree)
            }
            #expect(pool.usage.inUse > capacity)
            return tree
        }
        try store.engine.checkpoint()
        for _ in 0..<3 {
            let index = try store.engine.snapshot().index(tree)
            var count = 0
            unsafe try index.forEach(in: KeyRange()) { (_, _) throws(EngineError) in
                count += 1
                return true
            }
            #expect(count == 40_000)
            #expect(pool.usage.inUse <= capacity + 64)
            #expect(residentBytes(pool, frames: 1_200) <= (capacity * 5 / 4 + 96) * 4096)
        }
        try store.engine.close()
    }

    @Test("a pool that no address space could contain is refused", arguments: [512, 16384])
    func largestPoolIsRefused(pageSize: Int) {
        let error = #expect(throws: EngineError.self) {
            _ = try TestStore(pageSize: pageSize) { options in
                options.poolBytes = .max
                options.frameCeiling = nil
            }
        }
        #expect(error?.code == .full)
    }
}
