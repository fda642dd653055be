import Foundation
import HornbeamThreads
import Testing

@testable import HornbeamEngine

/// As many threads as a server may have, each with reads inside of reads, beside one that writes.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ManyThreadsTests {
    private static let rows: UInt64 = 400

    private static func makeStore() throws -> (TestStore, table: TreeID) {
        let store = try TestStore(pageSize: 1024)
        let layout = ColumnLayout(version: 1, columns: [Column(id: ColumnID(1), kind: .fixed8)])
        let table = try store.write { transaction in
            let table = try transaction.createTable(named: "rows", layout: layout)
            let row = RowBuffer(layout: layout)
            for key in 1...rows {
                row.reset()
                row.set(0, key &* 7)
                try transaction.put(row, key: key, in: table)
            }
            return table
        }
        return (store, table)
    }

    /// Threads that wait for each other inside of a walk, so that all are inside at once.
    private final class Gate: Sendable {
        private let waiting: Guarded<Int>
        private let count: Int

        init(_ count: Int) {
            self.count = count
            waiting = Guarded(0)
        }

        func pass() {
            waiting.withLock { $0 += 1 }
            waiting.signal()
            while waiting.withLock({ $0 }) < count { usleep(500) }
        }
    }

    @Test("look-ups inside of a walk end, however many threads make them", arguments: [1, 8, 128, 200, 1000])
    func lookUpsInsideOfAWalkEnd(threads: Int) throws {
        let (store, table) = try Self.makeStore()
        let engine = store.engine
        let gate = Gate(threads)
        let failures = Guarded<[String]>([])
        let ended = DispatchSemaphore(value: 0)
        for number in 0..<threads {
            Thread.detachNewThread {
                defer { ended.signal() }
                do throws(EngineError) {
                    try Self.read(try engine.snapshot(), table, number, gate, failures)
                } catch {
                    failures.withLock { $0.append(error.description) }
                }
            }
        }
        // A writer replaces the leaves that are read, and searches for the oldest reader meanwhile.
        for round in 0..<20 {
            try store.write { transaction in
                _ = try transaction.delete([UInt64(round) + 1000], from: table)
                try transaction.setValue("round", [UInt8(round)])
            }
        }
        for _ in 0..<threads { ended.wait() }
        #expect(failures.withLock { $0 } == [])
        try store.engine.close()
    }

    private static func read(
        _ snapshot: Snapshot, _ table: TreeID, _ number: Int, _ gate: Gate, _ failures: borrowing Guarded<[String]>
    ) throws(EngineError) {
        let view = try snapshot.table(table)
        var isFirst = true
        var sum: UInt64 = 0
        try view.forEachLeaf { leaf throws(EngineError) in
            if isFirst { gate.pass() }
            isFirst = false
            for slot in 0..<leaf.count {
                let key = leaf.key(slot)
                // A read inside of a read, and one of another snapshot inside of that.
                sum &+= try view.withRow(key) { row throws(EngineError) in
                    let other = rows + 1 - key
                    return try view.withRow(other) { $0.load(0, as: UInt64.self) } ?? 0
                } ?? 0
            }
            return true
        }
        if sum != 7 * rows * (rows + 1) / 2 { failures.withLock { $0.append("thread \(number) adds up to \(sum)") } }
    }
}
