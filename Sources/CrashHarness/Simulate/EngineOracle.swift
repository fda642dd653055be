import HornbeamEngine

/// Transactions whose effect follows from their number, and the state after each of them.
///
/// Transaction 1 creates an index and a table; each later one changes both. So whatever a recovered store says its
/// newest transaction is, its whole content is known.
struct EngineOracle {
    struct State: Equatable {
        var entries: [[UInt8]: [UInt8]] = [:]
        var rows: [UInt64: OracleRow] = [:]

        var digest: ContentDigest {
            var digest = ContentDigest()
            for (key, value) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                key.withUnsafeBytes { digest.add($0) }
                value.withUnsafeBytes { digest.add($0) }
            }
            for (key, row) in rows.sorted(by: { $0.key < $1.key }) {
                digest.add(key)
                row.add(to: &digest)
            }
            return digest
        }
    }

    /// What a transaction does.
    enum Change {
        case put([UInt8], [UInt8])
        case delete([UInt8])
        case row(UInt64, OracleRow)
        case deleteRows([UInt64])
        case patch([UInt64], Int64)
    }

    let seed: UInt64
    let options: EngineOptions
    let states: [State]
    /// Of each state.
    let digests: [ContentDigest]
    /// What each transaction does; numbers 0 and 1 do nothing here.
    let changes: [[Change]]
    /// Every how many-th transaction is large enough to be committed by a checkpoint.
    let bigEvery: UInt64

    init(seed: UInt64 = 1, transactions: UInt64, bigEvery: UInt64 = 9, options: EngineOptions = EngineOracle.smallest) {
        self.seed = seed
        self.options = options
        self.bigEvery = bigEvery
        var states = [State(), State()]
        var changes: [[Change]] = [[], []]
        for number in 2...max(transactions, 2) {
            changes.append(
                EngineOracle.changes(number, seed: seed, isBig: number % bigEvery == 0, pageSize: options.pageSize))
            var state = states[states.count - 1]
            changes[changes.count - 1].forEach { EngineOracle.apply($0, to: &state) }
            states.append(state)
        }
        self.states = states
        self.changes = changes
        digests = states.map(\.digest)
    }

    /// Sizes at which pages split, logs rotate and checkpoints happen within a few transactions.
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

    private static func changes(_ number: UInt64, seed: UInt64, isBig: Bool, pageSize: Int) -> [Change] {
        var random = SimulationRandom(seed: number &* 7919 &+ seed &* 104_729)
        let count = isBig ? 90 : Int.random(in: 1...6, using: &random)
        return (0..<count).map { _ in
            let key = Array("key \(Int.random(in: 0..<60, using: &random))".utf8)
            let rowKey = UInt64.random(in: 1...80, using: &random)
            switch Int.random(in: 0..<9, using: &random) {
            case 0..<3:
                let length = Int.random(in: 0..<30, using: &random) == 0 ? 700 : Int.random(in: 0..<60, using: &random)
                return .put(key, (0..<length).map { UInt8(truncatingIfNeeded: $0 &* Int(number)) })
            case 3: return .delete(key)
            case 4..<7: return .row(rowKey, OracleRow.random(pageSize: pageSize, &random))
            case 7: return .deleteRows([rowKey, rowKey + 3, rowKey + 5])
            default: return .patch([rowKey, rowKey + 1, rowKey + 7], Int64(number))
            }
        }
    }

    private static func apply(_ change: Change, to state: inout State) {
        switch change {
        case .put(let key, let value): state.entries[key] = value
        case .delete(let key): state.entries[key] = nil
        case .row(let key, let row): state.rows[key] = row
        case .deleteRows(let keys): for key in keys { state.rows[key] = nil }
        case .patch(let keys, let value): for key in keys { state.rows[key]?.long = value }
        }
    }

    /// Commits the transactions after the newest one, up to `last`.
    func commit(to engine: Engine, through last: UInt64, disk: SimulatedDisk? = nil) throws {
        while engine.latest.rawValue < last { try commitNext(to: engine, disk: disk) }
    }

    /// Commits the transaction after the newest one, telling the disk what was submitted and what was promised.
    func commitNext(to engine: Engine, _ durability: Durability = .full, disk: SimulatedDisk?) throws {
        let number = engine.latest.rawValue + 1
        disk?.mark(.submitted(number))
        let transaction = try engine.begin()
        if number == 1 {
            _ = try transaction.createIndex(named: "index")
            _ = try transaction.createTable(named: "table", layout: OracleRow.layout)
        } else {
            try change(transaction, changes[Int(number)], number)
        }
        let committed = try transaction.commit(durability)
        guard committed.rawValue == number else { throw Finding("committed \(committed) as \(number)") }
        if durability == .full { disk?.mark(.acknowledged(number)) }
    }

    func change(_ transaction: WriteTransaction, _ changes: [Change], _ number: UInt64) throws {
        let index = transaction.tree(named: "index")!
        let table = transaction.tree(named: "table")!
        let buffer = RowBuffer(layout: OracleRow.layout)
        // A change that finds nothing to do still makes a transaction.
        _ = try transaction.reserve(1)
        for change in changes {
            switch change {
            case .put(let key, let value): try transaction.put(key, value, in: index)
            case .delete(let key): _ = try transaction.delete(key, from: index)
            case .row(let key, let row):
                row.fill(buffer)
                try transaction.put(buffer, key: key, in: table)
            case .deleteRows(let keys): _ = try transaction.delete(keys, from: table)
            case .patch(let keys, let value):
                try Array(repeating: value, count: keys.count).withUnsafeBytes {
                    try transaction.patch(0, of: keys, values: $0, in: table)
                }
            }
        }
    }
}
