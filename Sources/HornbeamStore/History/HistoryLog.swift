internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// Writes history: one record per commit, in the same transaction, so that rows and history always agree.
///
/// Records are in one index under the number of their commit, split into parts that fit into a leaf. Each commit removes expired records
/// from the front, a limited number at a time, so that no save becomes slow.
final class HistoryLog: Sendable {
    /// The longest part of a record: a quarter of the smallest page, so that no part becomes a large value with a sync of its own.
    private static let partBytesMax = 1_000
    /// The largest number of parts that one commit removes.
    private static let trimStep = 256

    let tree: TreeID
    let retention: HistoryRetention
    let coding: HistoryCoding
    /// The writer of the records.
    let writer = HistoryProcess.makeOpening()
    private let clock: @Sendable () -> Date
    private let state: Guarded<State>

    /// Hints about the newest commit. They can be wrong, because a commit can fail after they were set.
    private struct State {
        /// The time of the newest record. Recorded times never decrease.
        var newestTime = -Double.infinity
        /// The time of the oldest record; nil when it must be looked up.
        var oldestTime: Double?
        var consumers: [HistoryConsumerRecord]
    }

    init(
        tree: TreeID, keeping retention: HistoryRetention, clock: @escaping @Sendable () -> Date, _ reader: RowReader, _ snapshot: Snapshot
    ) throws {
        self.tree = tree
        self.retention = retention
        self.clock = clock
        coding = reader.history
        let log = HistoryReading(snapshot, tree: tree, coding: coding)
        var state = State(consumers: try HistoryState.consumers(in: snapshot))
        state.newestTime = try log.time(upTo: .max) ?? state.newestTime
        self.state = Guarded(state)
    }

    var now: Date { clock() }

    // MARK: Recording

    /// Records a change of the transaction before its commit.
    func record(_ change: StoreChange, in transaction: WriteTransaction) throws(EngineError) {
        let now = clock().timeIntervalSinceReferenceDate
        let time = state.withLock { state in
            state.newestTime = max(state.newestTime, now)
            return state.newestTime
        }
        let bytes = coding.encode(change, writer, at: time)
        // Trim before adding the record: reading a changed tree applies its deferred changes, which makes a small commit slower.
        try trim(transaction, now: now, adding: max((bytes.count + Self.partBytesMax - 1) / Self.partBytesMax, 1))
        try put(bytes, number: transaction.number.rawValue, in: transaction)
    }

    private func put(_ bytes: [UInt8], number: UInt64, in transaction: WriteTransaction) throws(EngineError) {
        var part: UInt32 = 0
        var start = 0
        repeat {
            let end = min(start + Self.partBytesMax, bytes.count)
            let value = start == 0 && end == bytes.count ? bytes : Array(bytes[start ..< end])
            try transaction.put(HistoryKey.key(number, part: part), value, in: tree)
            part += 1
            start = end
        } while start < bytes.count
    }

    // MARK: Retention

    private func trim(_ transaction: WriteTransaction, now: Double, adding parts: Int) throws(EngineError) {
        let index = try transaction.index(tree)
        let count = index.count + parts
        let excess = count - retention.recordCount
        let oldest = now - retention.ageSeconds
        let (knownOldest, readers) = state.withLock { ($0.oldestTime, $0.consumers.map(\.position.number).min()) }
        let oldestTime = if let knownOldest { knownOldest } else { try timeOfFirst(index) }
        // History may exceed its limits slightly, so that most commits remove nothing.
        guard excess > min(64, retention.recordCount / 8) || oldestTime < oldest - retention.ageSeconds / 64 else { return }
        let hardExcess = count - retention.unreadRecordCount
        var doomed: [[UInt8]] = []
        var last: UInt64 = 0
        unsafe try index.forEach(in: KeyRange()) { (key, value) throws(EngineError) -> Bool in
            let number = unsafe HistoryKey.number(key)
            if number != last {
                // A record is removed with all its parts, because a partial record is reported as damage.
                if doomed.count >= Self.trimStep { return false }
                let isUnread = readers.map { number > $0 } ?? false
                let isTooMuch = doomed.count < (isUnread ? hardExcess : excess)
                let isTooOld = unsafe !isUnread && HistoryReading.time(value) < oldest
                guard isTooMuch || isTooOld else { return false }
                last = number
            }
            unsafe doomed.append([UInt8](key))
            return true
        }
        if doomed.isEmpty { return }
        for key in doomed { _ = try transaction.delete(key, from: tree) }
        try HistoryState.setFloor(last, in: transaction)
        state.withLock { $0.oldestTime = nil }
    }

    private func timeOfFirst(_ index: IndexView) throws(EngineError) -> Double {
        guard let first = try index.entry(at: 0) else { return .infinity }
        let time = unsafe first.value.withBytes { unsafe HistoryReading.time($0) }
        state.withLock { $0.oldestTime = time }
        return time
    }

    /// Reads the hints from a version that other processes have written.
    func takeOver(_ snapshot: Snapshot) throws {
        let newest = try HistoryReading(snapshot, tree: tree, coding: coding).time(upTo: .max)
        let consumers = try HistoryState.consumers(in: snapshot)
        state.withLock { state in
            state.newestTime = max(state.newestTime, newest ?? state.newestTime)
            state.oldestTime = nil
            state.consumers = consumers
        }
    }

    /// Clears the hints after another method changed records or consumers.
    func refresh(_ consumers: [HistoryConsumerRecord]? = nil) {
        state.withLock { state in
            state.oldestTime = nil
            if let consumers { state.consumers = consumers }
        }
    }
}
