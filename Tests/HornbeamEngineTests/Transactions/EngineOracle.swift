@testable import HornbeamEngine

/// Transactions whose effect follows from their number, and the state after each of them.
///
/// Transaction 1 creates an index and a table; each later one changes both. So whatever a recovered store says its
/// newest transaction is, its whole content is known.
struct EngineOracle {
    struct State: Equatable {
        var entries: [[UInt8]: [UInt8]] = [:]
        var rows: [UInt64: TableModelTests.Row] = [:]
    }

    struct WrongState: Error, CustomStringConvertible {
        let description: String
    }

    let states: [State]
    let pageSize = 512
    /// Every how many-th transaction is large enough to be committed by a checkpoint.
    var bigEvery: UInt64 = 9

    init(transactions: UInt64) {
        var states = [State(), State()]
        for number in 2...max(transactions, 2) {
            var state = states[states.count - 1]
            EngineOracle.changes(number, bigEvery: bigEvery).forEach { EngineOracle.apply($0, to: &state) }
            states.append(state)
        }
        self.states = states
    }

    var options: EngineOptions {
        var options = EngineOptions()
        options.pageSize = pageSize
        options.poolBytes = 16 * pageSize
        options.frameCeiling = 4000
        options.usesBackgroundThread = false
        options.checkpointLogBytes = 6000
        options.attachThreshold = 5000
        options.log = LogOptions(firstSegmentBytes: 16384, largestSegmentBytes: 32768)
        return options
    }

    // MARK: Changes

    enum Change {
        case put([UInt8], [UInt8])
        case delete([UInt8])
        case row(UInt64, TableModelTests.Row)
        case deleteRows([UInt64])
        case patch([UInt64], Int64)
    }

    static func changes(_ number: UInt64, bigEvery: UInt64) -> [Change] {
        var random = SplitMix(seed: number &* 7919)
        let count = number % bigEvery == 0 ? 90 : Int.random(in: 1...6, using: &random)
        return (0..<count).map { _ in
            let key = Array("key \(Int.random(in: 0..<60, using: &random))".utf8)
            let rowKey = UInt64.random(in: 1...80, using: &random)
            switch Int.random(in: 0..<9, using: &random) {
            case 0..<3:
                let length = Int.random(in: 0..<30, using: &random) == 0 ? 700 : Int.random(in: 0..<60, using: &random)
                return .put(key, (0..<length).map { UInt8(truncatingIfNeeded: $0 &* Int(number)) })
            case 3: return .delete(key)
            case 4..<7: return .row(rowKey, TableModelTests.randomRow(512, &random))
            case 7: return .deleteRows([rowKey, rowKey + 3, rowKey + 5])
            default: return .patch([rowKey, rowKey + 1, rowKey + 7], Int64(number))
            }
        }
    }

    static func apply(_ change: Change, to state: inout State) {
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
        while engine.latest.rawValue < last {
            let number = engine.latest.rawValue + 1
            disk?.mark(.submitted(number))
            let transaction = try engine.begin()
            if number == 1 {
                _ = try transaction.createIndex(named: "index")
                _ = try transaction.createTable(named: "table", layout: TableModelTests.layout)
            } else {
                try change(transaction, EngineOracle.changes(number, bigEvery: bigEvery), number)
            }
            let committed = try transaction.commit()
            guard committed.rawValue == number else { throw WrongState(description: "committed \(committed) as \(number)") }
            disk?.mark(.acknowledged(number))
        }
    }

    private func change(_ transaction: WriteTransaction, _ changes: [Change], _ number: UInt64) throws {
        let index = transaction.tree(named: "index")!
        let table = transaction.tree(named: "table")!
        let buffer = RowBuffer(layout: TableModelTests.layout)
        // A change that finds nothing to do still makes a transaction.
        _ = try transaction.reserve(1)
        for change in changes {
            switch change {
            case .put(let key, let value): try transaction.put(key, value, in: index)
            case .delete(let key): _ = try transaction.delete(key, from: index)
            case .row(let key, let row):
                TableModelTests.fill(buffer, row)
                try transaction.put(buffer, key: key, in: table)
            case .deleteRows(let keys): _ = try transaction.delete(keys, from: table)
            case .patch(let keys, let value):
                try Array(repeating: value, count: keys.count).withUnsafeBytes {
                    try transaction.patch(0, of: keys, values: $0, in: table)
                }
            }
        }
    }

    // MARK: Judging

    func read(_ snapshot: Snapshot) throws -> State {
        var state = State()
        guard let index = snapshot.tree(named: "index"), let table = snapshot.tree(named: "table") else { return state }
        try snapshot.index(index).forEach(in: KeyRange()) { key, value in
            state.entries[Array(key)] = Array(value)
            return true
        }
        try snapshot.table(table).forEachLeaf { leaf throws(EngineError) in
            for slot in 0..<leaf.count { state.rows[leaf.key(slot)] = try TableModelTests.read(leaf.row(slot)) }
            return true
        }
        return state
    }

    /// Throws unless the store is exactly the state after its newest transaction.
    func expectSound(_ engine: Engine) throws {
        let number = Int(engine.latest.rawValue)
        guard number < states.count else { throw WrongState(description: "transaction \(number) was never begun") }
        guard try read(try engine.snapshot()) == states[number] else {
            throw WrongState(description: "the content is not that after transaction \(number)")
        }
        let report = try engine.check()
        guard report.problems.isEmpty else { throw WrongState(description: report.problems.joined(separator: " ")) }
    }

    /// Opens what a crash left and judges it: a state between what was promised and what was begun, sound, and able
    /// to go on.
    func judge(_ image: CrashEnumerator.Image) throws {
        let engine = try Engine.open("s.hornbeam", fileSystem: image.disk, options: options)
        let found = engine.latest.rawValue
        guard found >= image.acknowledged, found <= max(image.submitted, image.acknowledged) else {
            throw WrongState(description: "recovered transaction \(found)")
        }
        image.disk.mark(.recovered)
        try expectSound(engine)
        let next = min(found + 2, UInt64(states.count - 1))
        try commit(to: engine, through: next, disk: image.disk)
        try expectSound(engine)
        try engine.close()
        let again = try Engine.open("s.hornbeam", fileSystem: image.disk, options: options)
        guard again.latest.rawValue == max(found, next) else { throw WrongState(description: "reopening lost commits") }
        try expectSound(again)
        try again.close()
    }
}
