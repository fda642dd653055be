import Synchronization
import Testing

@testable import HornbeamEngine

/// Versions that are kept on purpose, and snapshots that are ended for their age.
@Suite struct RetentionTests {
    /// A clock that tests set.
    private final class Clock: Sendable {
        let now = Atomic<UInt64>(1)
        func advance(_ duration: Duration) { now.wrappingAdd(duration.nanoseconds, ordering: .relaxed) }
    }

    private let clock = Clock()

    /// A store in which transaction n + 1 sets "k" to n.
    private func makeStore(_ configure: (inout Retention) -> Void) throws -> TestStore {
        let store = try TestStore { options in
            configure(&options.retention)
            options.retention.clock = { [clock] in clock.now.load(ordering: .relaxed) }
        }
        try store.write { _ = try $0.createIndex(named: "t") }
        return store
    }

    private func set(_ store: TestStore, _ values: ClosedRange<UInt8>) throws {
        for value in values {
            try store.write { transaction in
                let tree = transaction.tree(named: "t")!
                for key in 0..<UInt8(100) { try transaction.put([key], [value, key], in: tree) }
            }
        }
    }

    private func value(_ snapshot: Snapshot, _ key: UInt8 = 7) throws -> UInt8? {
        try snapshot.index(snapshot.tree(named: "t")!).get([key])?.first
    }

    @Test func theLastTransactionsAreKeptByCount() throws {
        let store = try makeStore { $0.count = 3 }
        try set(store, 1...10)
        #expect(store.engine.retainedTransactions.map(\.rawValue) == [8, 9, 10, 11])
        for number: UInt64 in 8...11 {
            #expect(try value(store.engine.snapshot(at: TransactionNumber(number))) == UInt8(number - 1))
        }
        let error = #expect(throws: EngineError.self) { _ = try store.engine.snapshot(at: TransactionNumber(7)) }
        #expect(
            error?.description
                == "snapshotExpired: The state after transaction #7 is no longer available; the oldest available state is that after #8. Retain more transactions, or pin those that will be needed. [test.hornbeam]"
        )
    }

    @Test func transactionsAreKeptByAge() throws {
        let store = try makeStore { $0.age = .seconds(60) }
        try set(store, 1...3)
        clock.advance(.seconds(30))
        try set(store, 4...4)
        #expect(store.engine.retainedTransactions.count == 6)
        clock.advance(.seconds(31))
        try set(store, 5...5)
        #expect(store.engine.retainedTransactions.map(\.rawValue) == [4, 5, 6])
        #expect(try value(store.engine.snapshot(at: TransactionNumber(4))) == 3)
    }

    @Test func aPinKeepsAStateThroughCheckpointsAndCleaning() throws {
        let store = try makeStore { _ in }
        try set(store, 1...1)
        let pin = try store.engine.snapshot(isPinned: true)
        for value: UInt8 in 2...30 {
            try set(store, value...value)
            if value % 5 == 0 { try store.engine.checkpoint() }
        }
        #expect(try value(pin) == 1)
        let again = try store.engine.snapshot(at: pin.transaction)
        for key in 0..<UInt8(100) { #expect(try value(again, key) == 1) }
    }

    @Test func memoryOfReleasedSnapshotsIsFreed() throws {
        let store = try makeStore { _ in }
        try set(store, 1...1)
        var pin: Snapshot? = try store.engine.snapshot(isPinned: true)
        try set(store, 2...5)
        #expect(try store.engine.statistics().waitingNodes > 0)
        #expect(store.engine.retainedTransactions.count == 2)
        pin = nil
        #expect(try store.engine.statistics().waitingNodes == 0)
        #expect(pin == nil && store.engine.retainedTransactions.count == 1)
    }

    @Test func anOldSnapshotFailsItsReaderAndNotTheWriter() throws {
        let store = try makeStore { $0.snapshotAgeMax = .seconds(10) }
        try set(store, 1...1)
        let old = try store.engine.snapshot()
        let pinned = try store.engine.snapshot(isPinned: true)
        clock.advance(.seconds(100))
        #expect(try value(old) == 1, "a snapshot of the newest state has no age")
        try set(store, 2...2)
        #expect(try value(old) == 1)
        clock.advance(.seconds(11))
        try set(store, 3...3)
        #expect(try value(old) == 1, "the pin of another keeps the state for all")
        #expect(try value(pinned) == 1)

        let second = try store.engine.snapshot()
        try set(store, 4...4)
        clock.advance(.seconds(11))
        try set(store, 5...8)
        #expect(second.isExpired)
        let error = #expect(throws: EngineError.self) { _ = try value(second) }
        #expect(
            error?.description
                == "snapshotExpired: The snapshot expired: its state was replaced longer ago than the age limit of snapshots permits. Take a new one."
        )
        #expect(try value(store.engine.snapshot()) == 8)
        #expect(store.engine.retainedTransactions.count == 2)
    }

    @Test func aScanUnderWayEndsWithTheErrorAndNoWrongRow() throws {
        let store = try makeStore { $0.snapshotAgeMax = .seconds(1) }
        for value: UInt8 in 1...3 {
            try store.write { transaction in
                let tree = transaction.tree(named: "t")!
                for key in 0..<3000 {
                    try transaction.put(Array("key \(key + 10_000)".utf8), [UInt8](repeating: value, count: 40), in: tree)
                }
            }
        }
        let snapshot = try store.engine.snapshot()
        let index = try snapshot.index(snapshot.tree(named: "t")!)
        var seen = 0
        let error = #expect(throws: EngineError.self) {
            try index.forEach(in: KeyRange()) { _, value throws(EngineError) in
                #expect(value.allSatisfy { $0 == 3 })
                seen += 1
                if seen == 10 {
                    do {
                        try set(store, 9...12)
                        clock.advance(.seconds(2))
                        try store.write { try $0.put([1], [1], in: $0.tree(named: "t")!) }
                        try store.engine.checkpoint()
                        try store.engine.checkpoint()
                    } catch { Issue.record(error) }
                }
                return true
            }
        }
        #expect(error?.code == .snapshotExpired)
        #expect(seen >= 10 && seen < 3000)
    }

    @Test func memoryThatRunsShortEndsWhatIsOnlyRetained() throws {
        let store = try TestStore { options in
            options.retention.count = 1_000_000
            options.frameCeiling = 600
        }
        try store.write { _ = try $0.createIndex(named: "t") }
        for value in 0..<UInt8(200) {
            try store.write { transaction in
                let tree = transaction.tree(named: "t")!
                for key in 0..<UInt8(100) { try transaction.put([key], [UInt8](repeating: value, count: 40), in: tree) }
            }
        }
        #expect(store.engine.retainedTransactions.count > 2)
        #expect(try value(store.engine.snapshot()) == 199)
    }

    @Test func halfOfWhatIsOnlyRetainedIsGivenUpWhenMemoryIsShort() throws {
        let store = try makeStore { $0.count = 7 }
        try set(store, 1...10)
        #expect(store.engine.retainedTransactions.map(\.rawValue) == Array(4...11))
        let read = try store.engine.snapshot(at: TransactionNumber(5))
        store.engine.core.registry.releaseHalfOfRetained()
        // Four of the seven are released; the one with a reader stays until the reader ends.
        #expect(store.engine.retainedTransactions.map(\.rawValue) == [5, 8, 9, 10, 11])
        #expect(try value(read) == 4)
        #expect(try value(store.engine.snapshot(at: TransactionNumber(8))) == 7)
        withExtendedLifetime(read) {}
    }

    @Test func anAgeBelowZeroIsNone() {
        #expect(Duration.seconds(-3).nanoseconds == 0)
        #expect(Duration.milliseconds(3).nanoseconds == 3_000_000)
    }

    @Test(arguments: [(0, 0, 1.0), (0, 4, 0), (1, 4, 0.25), (9, 4, 1), (-1, 4, 0)])
    func progressIsBetweenZeroAndOne(_ done: Int, _ total: Int, _ fraction: Double) {
        #expect(WorkProgress(part: "part", done: done, total: total).fraction == fraction)
    }
}
