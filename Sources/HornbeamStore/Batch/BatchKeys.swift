internal import HornbeamEngine

/// The keys that one transaction of a batch assigns to new rows.
struct BatchKeys {
    /// The number of keys that are reserved from the store's sequence at a time.
    private static let blockCount = 4_096

    private let table: EntityTable
    private let store: Store
    /// The number of keys to request from a custom store at a time.
    private let rowsExpected: Int
    /// The reserved blocks of keys, each with the number of the request's row that received the first one.
    private var blocks: [(keys: Range<UInt64>, row: Int)] = []
    /// Keys that a custom store has assigned, in descending order.
    private var customKeys: [UInt64] = []
    private var next: UInt64 = 0
    private var end: UInt64 = 0
    /// The number of the row that received the last key; nil before the first one.
    private(set) var lastRow: Int?

    init(_ table: EntityTable, of store: Store, rowsExpected: Int) {
        self.table = table
        self.store = store
        self.rowsExpected = rowsExpected
    }

    /// - Parameter row: The number of the row in the request, for errors.
    mutating func assign(row: Int, in transaction: WriteTransaction) throws -> UInt64 {
        lastRow = row
        if next == end {
            (next, end) = try newKeys(in: transaction)
            blocks.append((next ..< end, row))
        }
        defer { next += 1 }
        return next
    }

    private mutating func newKeys(in transaction: WriteTransaction) throws -> (first: UInt64, end: UInt64) {
        guard store.backing != nil else {
            let first = try transaction.reserveKeys(Self.blockCount)
            return (first, first + UInt64(Self.blockCount))
        }
        if customKeys.isEmpty { customKeys = try store.newKeys(for: Array(repeating: table.entity, count: rowsExpected)).reversed() }
        let key = customKeys.removeLast()
        return (key, key + 1)
    }

    /// The number of the request's row that received a key; nil for a key of another row.
    func row(of key: UInt64) -> Int? {
        guard let block = blocks.last(where: { $0.keys.contains(key) }) else { return nil }
        return block.row + Int(key - block.keys.lowerBound)
    }
}
