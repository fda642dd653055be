internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// Reads the history in one version of the store.
struct HistoryReading {
    private let snapshot: Snapshot
    private let tree: TreeID
    private let coding: HistoryCoding

    init(_ snapshot: Snapshot, tree: TreeID, coding: HistoryCoding) {
        self.snapshot = snapshot
        self.tree = tree
        self.coding = coding
    }

    /// Calls `body` with the records after a commit, oldest first, until it returns false.
    func forEach(after number: UInt64, _ body: (HistoryRecord) throws -> Bool) throws {
        guard number < .max else { return }
        var failure: (any Error)?
        var current: UInt64 = 0
        var bytes: [UInt8] = []
        func finish() -> Bool {
            guard current > 0 else { return true }
            do { return try body(coding.decode(bytes, number: current)) } catch {
                failure = error
                return false
            }
        }
        var isStopped = false
        try EngineError.translated { () throws(EngineError) in
            unsafe try snapshot.index(tree).forEach(in: KeyRange(from: HistoryKey.key(number + 1))) { (key, value) throws(EngineError) -> Bool in
                let next = unsafe HistoryKey.number(key)
                if next != current {
                    isStopped = !finish()
                    if isStopped { return false }
                    bytes.removeAll(keepingCapacity: true)
                    current = next
                }
                unsafe bytes.append(contentsOf: value)
                return true
            }
        }
        if !isStopped { _ = finish() }
        if let failure { throw failure }
    }

    /// The time of the newest record with at most this number; nil when all records are newer.
    func time(upTo number: UInt64) throws -> Double? {
        let range = KeyRange(to: number == .max ? nil : HistoryKey.key(number + 1))
        return try EngineError.translated { () throws(EngineError) -> Double? in
            let index = try snapshot.index(tree)
            var found: UInt64?
            unsafe try index.forEach(in: range, reversed: true) { (key, _) throws(EngineError) -> Bool in
                found = unsafe HistoryKey.number(key)
                return false
            }
            guard let found, let first = try index.get(HistoryKey.key(found)) else { return nil }
            return unsafe first.withBytes { unsafe Self.time($0) }
        }
    }

    /// The number of the last commit before a date; nil when all commits are newer. O(log² n), because times ascend.
    func lastNumber(before date: Date) throws -> UInt64? {
        let wanted = date.timeIntervalSinceReferenceDate
        return try EngineError.translated { () throws(EngineError) -> UInt64? in
            let index = try snapshot.index(tree)
            var low = 0
            var high = index.count
            while low < high {
                let middle = (low + high) / 2
                if try time(ofEntry: middle, index) < wanted { low = middle + 1 } else { high = middle }
            }
            return unsafe low == 0 ? nil : try index.entry(at: low - 1)?.key.withBytes { unsafe HistoryKey.number($0) }
        }
    }

    /// The time of the record that contains an entry.
    private func time(ofEntry n: Int, _ index: IndexView) throws(EngineError) -> Double {
        guard let entry = try index.entry(at: n) else { return .infinity }
        let number = unsafe entry.key.withBytes { unsafe HistoryKey.number($0) }
        let first = try index.get(HistoryKey.key(number)) ?? entry.value
        return unsafe first.withBytes { unsafe Self.time($0) }
    }

    /// The time in the first part of a record.
    static func time(_ bytes: UnsafeRawBufferPointer) -> Double {
        guard bytes.count >= 10 else { return -.infinity }
        return unsafe Double(bitPattern: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self)))
    }
}
