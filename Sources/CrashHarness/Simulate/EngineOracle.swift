import HornbeamEngine
import HornbeamSimulation

/// Transactions that are derived from their numbers, and the state after each of them.
///
/// Transaction 1 creates an index and a table. Each later one changes both. One stored value is the number of the newest
/// transaction, because the engine's own numbers include those of upkeep. So the expected content of any
/// reopened store is known.
struct EngineOracle {
    struct State: Equatable {
        var entries: [[UInt8]: [UInt8]] = [:]
        var rows: [UInt64: OracleRow] = [:]

        mutating func apply(_ change: Change) {
            switch change {
            case .put(let key, let value): entries[key] = value
            case .batch(let batch): for (key, value) in batch { entries[key] = value }
            case .delete(let key): entries[key] = nil
            case .row(let key, let row): rows[key] = row
            case .run(let first, let run): for (n, row) in run.enumerated() { rows[first + UInt64(n)] = row }
            case .deleteRows(let keys): for key in keys { rows[key] = nil }
            case .patch(let keys, let value): for key in keys { rows[key]?.long = value }
            case .add(let keys, let step): for key in keys { rows[key]?.long? &+= step }
            case .texts(let keys, let text): for key in keys { rows[key]?.text = text }
            case .deleteEntries(let keys): entries = entries.filter { !keys.contains(Change.rowKey($0.value)) }
            }
        }

        var digest: ContentDigest {
            var digest = ContentDigest()
            for (key, value) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                unsafe key.withUnsafeBytes { unsafe digest.add($0) }
                unsafe value.withUnsafeBytes { unsafe digest.add($0) }
            }
            for (key, row) in rows.sorted(by: { $0.key < $1.key }) {
                digest.add(key)
                row.add(to: &digest)
            }
            return digest
        }
    }

    /// The kinds of change in a transaction.
    enum Change {
        case put([UInt8], [UInt8])
        /// Puts entries together. Batches of later transactions go into the insert buffer of the index.
        case batch([(key: [UInt8], value: [UInt8])])
        case delete([UInt8])
        case row(UInt64, OracleRow)
        /// Appends rows behind all others. Another thread packs most of their leaves before the commit.
        case run(UInt64, [OracleRow])
        case deleteRows([UInt64])
        case patch([UInt64], Int64)
        case add([UInt64], Int64)
        /// Sets the text of rows, which may divide their leaf.
        case texts([UInt64], [UInt8]?)
        /// Deletes the entries whose values begin with one of these row keys.
        case deleteEntries([UInt64])

        /// The row key at the beginning of a value; 0, which is no row key, for short values.
        static func rowKey(_ value: [UInt8]) -> UInt64 {
            value.count < 8 ? 0 : value.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    let seed: UInt64
    let options: EngineOptions
    /// The digest of the state after each transaction.
    let digests: [ContentDigest]
    /// The changes of the transactions that were computed in advance, by number; numbers 0 and 1 have none.
    private let planned: [[Change]]
    /// Each transaction whose number is divisible by this one is large enough to be committed by a checkpoint.
    let bigEvery: UInt64

    init(seed: UInt64 = 1, transactions: UInt64, bigEvery: UInt64 = 9, options: EngineOptions = EngineOracle.smallest) {
        self.seed = seed
        self.options = options
        self.bigEvery = bigEvery
        var state = State()
        var digests = [state.digest, state.digest]
        var planned: [[Change]] = [[], []]
        for number in 2...max(transactions, 2) {
            let changes = EngineOracle.changes(
                number, seed: seed, bigEvery: bigEvery, pageSize: options.pageSize)
            planned.append(changes)
            for change in changes { state.apply(change) }
            digests.append(state.digest)
        }
        self.planned = planned
        self.digests = digests
    }

    /// The number of the last transaction whose state was computed in advance.
    var last: UInt64 { UInt64(digests.count - 1) }

    /// The changes of a transaction.
    func changes(_ number: UInt64) -> [Change] {
        if number < planned.count { return planned[Int(number)] }
        return EngineOracle.changes(number, seed: seed, bigEvery: bigEvery, pageSize: options.pageSize)
    }

    /// Sizes for which pages split, log segments rotate and checkpoints run within a few transactions.
    static let smallest: EngineOptions = {
        var options = EngineOptions()
        options.pageSize = 512
        options.poolBytes = 16 * 512
        options.frameCeiling = 4000
        options.usesBackgroundThread = false
        options.checkpointLogBytes = 6000
        options.attachThreshold = 5000
        options.log = LogOptions(firstSegmentBytes: 16384, largestSegmentBytes: 32768)
        return options
    }()

    // MARK: Changes

    private static func changes(_ number: UInt64, seed: UInt64, bigEvery: UInt64, pageSize: Int) -> [Change] {
        let isBig = number % bigEvery == 0
        var random = SimulationRandom(seed: number &* 7919 &+ seed &* 104_729)
        if number % 4 == 3, !isBig {
            // Small enough for the log-first fast path, which writes the log before it changes the trees.
            return [
                .put(Array("key \(Int.random(in: 0..<60, using: &random))".utf8), value(number, 20)),
                .row(.random(in: 1...80, using: &random), OracleRow.random(pageSize: pageSize, &random)),
            ]
        }
        if number % 4 == 2, !isBig { return [batch(number, &random)] }
        let count = isBig ? 90 : Int.random(in: 1...6, using: &random)
        let changes: [Change] = (0..<count).map { _ in
            let key = Array("key \(Int.random(in: 0..<60, using: &random))".utf8)
            let rowKey = UInt64.random(in: 1...80, using: &random)
            switch Int.random(in: 0..<13, using: &random) {
            case 0..<3:
                let length = Int.random(in: 0..<30, using: &random) == 0 ? 700 : Int.random(in: 0..<60, using: &random)
                return .put(key, value(number, length))
            case 3: return .delete(key)
            case 4..<7: return .row(rowKey, OracleRow.random(pageSize: pageSize, &random))
            case 7: return .deleteRows([rowKey, rowKey + 3, rowKey + 5])
            case 8: return .patch([rowKey, rowKey + 1, rowKey + 7], Int64(number))
            case 9: return batch(number, &random)
            case 10: return .add((rowKey...rowKey + 20).filter { $0 % 3 != 0 }, Int64(number))
            case 11:
                let text = Bool.random(using: &random) ? value(number, Int.random(in: 8...90, using: &random)) : nil
                return .texts((rowKey...rowKey + 30).filter { $0 % 4 != 0 }, text)
            default: return .deleteEntries(Set((0..<3).map { _ in
                Change.rowKey(value(.random(in: 2...number, using: &random), 8))
            }).subtracting([0]).sorted())
            }
        }
        return isBig ? changes + run(number, after: number - bigEvery, pageSize, &random) : changes
    }

    /// A run of new rows, changes of some of them, and the deletion of most rows of the run of an earlier transaction.
    private static func run(_ number: UInt64, after other: UInt64, _ pageSize: Int, _ random: inout SimulationRandom) -> [Change] {
        let first = number * 1000
        let rows = (0..<100).map { _ in OracleRow.random(pageSize: pageSize, &random) }
        let changed = Set((0..<3).map { _ in first + .random(in: 0..<80, using: &random) }).sorted()
        return [
            .run(first, Array(rows[..<80])), .row(changed[0], rows[0]), .run(first + 80, Array(rows[80...])), .patch(changed, Int64(number)),
            .deleteRows([first, first + 1]), .deleteRows((4...95).map { other * 1000 + $0 }),
        ]
    }

    /// More entries than a transaction defers. Few of them fit in a leaf, so that most leaves of the index get one, and `deleteEntries` deletes none.
    private static func batch(_ number: UInt64, _ random: inout SimulationRandom) -> Change {
        .batch((0..<13).map { _ in (Array("key \(Int.random(in: 0..<400, using: &random))".utf8), value(number, 100)) })
    }

    /// The value that a transaction puts into the index. Large values, which may be stored outside the tree, have another prefix than short ones.
    private static func value(_ number: UInt64, _ length: Int) -> [UInt8] {
        let first = length < 100 ? 0 : 1
        return (first..<first + length).map { UInt8(truncatingIfNeeded: $0 &* Int(number)) }
    }

    /// Commits the transactions after the newest one, up to `last`.
    func commit(to engine: Engine, through last: UInt64, disk: SimulatedDisk? = nil) throws {
        while try newest(in: engine.snapshot()) < last { try commitNext(to: engine, disk: disk) }
    }

    /// The number of the newest transaction in a snapshot; 0 for an empty store.
    func newest(in snapshot: Snapshot) throws -> UInt64 { Self.number(try snapshot.value(Self.newest)) }

    /// The number for a new transaction: the newest number in its base, plus one.
    func next(for transaction: WriteTransaction) throws -> UInt64 { Self.number(try transaction.value(Self.newest)) + 1 }

    private static let newest = "newest"

    private static func number(_ bytes: [UInt8]?) -> UInt64 { (bytes ?? []).reversed().reduce(0) { $0 << 8 | UInt64($1) } }

    /// Commits the transaction after the newest one. Marks on the disk the times at which it is submitted and acknowledged.
    func commitNext(to engine: Engine, _ durability: Durability = .full, disk: SimulatedDisk?) throws {
        let transaction = try engine.begin()
        let number = try next(for: transaction)
        disk?.mark(.submitted(number))
        try change(transaction, number)
        _ = try transaction.commit(durability)
        if durability == .full { disk?.mark(.acknowledged(number)) }
    }

    /// Applies the changes of a transaction, which its number determines.
    func change(_ transaction: WriteTransaction, _ number: UInt64) throws {
        if number == 1 {
            _ = try transaction.createIndex(named: "index")
            _ = try transaction.createTable(named: "table", layout: OracleRow.layout)
        } else {
            try apply(changes(number), to: transaction)
        }
        try transaction.setValue(Self.newest, (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
    }

    private func apply(_ changes: [Change], to transaction: WriteTransaction) throws {
        let index = transaction.tree(named: "index")!
        let table = transaction.tree(named: "table")!
        let buffer = RowBuffer(layout: OracleRow.layout)
        _ = try transaction.reserve(1)
        for change in changes {
            switch change {
            case .put(let key, let value): try transaction.put(key, value, in: index)
            case .batch(let entries):
                let batch = EntryBatch()
                for (key, value) in entries { unsafe key.withUnsafeBytes { key in unsafe value.withUnsafeBytes { unsafe batch.append(key, $0) } } }
                try transaction.put(batch, in: index)
            case .delete(let key): _ = try transaction.delete(key, from: index)
            case .row(let key, let row):
                row.fill(buffer)
                try transaction.put(buffer, key: key, in: table)
            case .run(let first, let run):
                for (n, row) in run.enumerated() {
                    row.fill(buffer)
                    try transaction.put(buffer, key: first + UInt64(n), in: table)
                }
            case .deleteRows(let keys) where keys[0] % 2 == 0: _ = try transaction.delete(keys, from: table)
            case .deleteRows(let keys): try transaction.delete(transaction.table(table).selection(of: keys), from: table)
            case .patch(let keys, let value):
                unsafe try Array(repeating: value, count: keys.count).withUnsafeBytes {
                    unsafe try transaction.patch(0, of: keys, values: $0, in: table)
                }
            case .add(let keys, let step):
                let rows = try transaction.table(table).selection(of: keys)
                try transaction.alter(rows, by: [.add(column: 0, step: step)], in: table)
            case .texts(let keys, let text):
                let rows = try transaction.table(table).selection(of: keys)
                try transaction.alter(rows, by: [.set(column: 3, cell: text)], in: table)
            case .deleteEntries(let keys):
                try transaction.deleteEntries(of: keys, at: .startOfValue, from: index)
            }
        }
    }
}
