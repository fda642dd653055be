import Glibc
import HornbeamThreads
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The leaves that a replay changes are requested ahead of it, and the replay makes the same state as without that.
@Suite struct ReplayReadAheadTests {
    private static let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed4), Column(id: ColumnID(2), kind: .bytes)])

    /// A disk whose checkpoint has many leaves, and whose log changes them at random. It includes a big transaction, and a tree that it makes.
    private static func disk(_ seed: UInt64, transactions: Int) throws -> SimulatedDisk {
        var random = SplitMix(seed: seed)
        let disk = SimulatedDisk()
        let store = try TestStore(fileSystem: disk) { options in
            // Without checkpoints, which would shorten the log.
            options.poolBytes = 16 << 20
            options.checkpointLogBytes = 64 << 20
            options.slackBytes = 64 << 20
            options.attachThreshold = 24 << 10
        }
        let (words, rows) = try store.write { (try $0.createIndex(named: "words"), try $0.createTable(named: "rows", layout: layout)) }
        func change(_ transaction: WriteTransaction, _ index: TreeID) throws {
            let number = UInt64.random(in: 1...5000, using: &random)
            let text = Array("\(number)".utf8)
            switch Int.random(in: 0..<10, using: &random) {
            case 0: _ = try transaction.delete(text, from: index)
            case 1: _ = try transaction.delete(number, from: rows)
            case 2: _ = try transaction.delete((number..<number + 5).map { $0 }, from: rows)
            case 3..<7: try transaction.put(text, [UInt8](repeating: 1, count: Int.random(in: 0..<60, using: &random)), in: index)
            default:
                let row = RowBuffer(layout: layout)
                row.set(0, UInt32(number))
                [UInt8](repeating: 2, count: Int.random(in: 0..<60, using: &random)).withUnsafeBytes { row.setBytes(1, $0) }
                _ = try transaction.put(row, key: number, in: rows)
            }
        }
        try store.write { transaction in for _ in 0..<20_000 { try change(transaction, words) } }
        try store.engine.checkpoint()
        var index = words
        for round in 0..<transactions {
            try store.write { transaction in
                if round == transactions / 2 { index = try transaction.createIndex(named: "more words") }
                for _ in 0..<(round == 20 ? 1000 : 80) { try change(transaction, index) }
                if round % 10 == 0 { _ = try transaction.reserve(3) }
            }
        }
        return disk
    }

    /// The content of a store, as text.
    private static func content(_ engine: Engine) throws -> [String] {
        let snapshot = try engine.snapshot()
        var lines: [String] = []
        for name in snapshot.treeNames.sorted() {
            guard let tree = snapshot.tree(named: name) else { continue }
            if name == "rows" {
                let table = try snapshot.table(tree)
                for key in 1...5010 as ClosedRange<UInt64> {
                    if let text = try table.withRow(key, { row throws(EngineError) in try row.string(1) }) { lines.append("\(key) \(text)") }
                }
            } else {
                try snapshot.index(tree).forEach(in: KeyRange()) { (key, value) throws(EngineError) -> Bool in
                    lines.append("\(name) \(String(decoding: key, as: UTF8.self)) \(value.count)")
                    return true
                }
            }
        }
        return lines
    }

    /// A disk whose reads take so long that the replay does not end before the thread has started.
    private static func slowDisk(_ disk: SimulatedDisk, _ requests: Requests) -> InterruptedDisk {
        InterruptedDisk(disk, at: 0, times: .max, whenReadAhead: { requests.add() }) { usleep(100) }
    }

    private final class Requests: Sendable {
        private let number = Guarded(0)
        var count: Int { number.withLock { $0 } }
        func add() { number.withLock { $0 += 1 } }
    }

    @Test(arguments: 0..<4 as Range<UInt64>) func theStateIsThatOfAReplayWithoutReadAhead(seed: UInt64) throws {
        let disk = try Self.disk(seed, transactions: 120)
        let expected = try Self.content(try TestStore(fileSystem: disk.copy()).engine)
        let requests = Requests()
        let noting = Self.slowDisk(disk.copy(), requests)
        let store = try TestStore(fileSystem: noting) { $0.usesBackgroundThread = true }
        #expect(try Self.content(store.engine) == expected, "seed \(seed)")
        #expect(requests.count > 50, "seed \(seed)")
        #expect(try store.engine.check().problems == [])
        try store.engine.close()
    }

    @Test func aShortLogAndASystemWithoutFreeThreadsReadNothingAhead() throws {
        for (transactions, mayStart) in [(3, true), (120, false)] {
            let requests = Requests()
            let noting = Self.slowDisk(try Self.disk(9, transactions: transactions), requests)
            let store = try TestStore(fileSystem: noting) { options in
                options.usesBackgroundThread = true
                options.mayStartThread = { mayStart }
            }
            #expect(requests.count == 0)
            try store.engine.close()
        }
    }
}
