import HornbeamEngine
import HornbeamSimulation

/// Random operations on an engine, derived from one seed. Each result is compared with a plain model.
///
/// Transactions are committed or aborted, snapshots are held during writes, and the store is closed and opened again.
struct EngineHistory {
    /// The content of a committed version of the store.
    struct Content {
        var index: PlainTree
        var table: PlainTree
        /// The patches of the rows' first columns, by key; 0 for none.
        var patches: [UInt64]
        var indexID: TreeID
        var tableID: TreeID
        /// The number of the table's newest layout; the first one is 1.
        var layout = 1
        var nextKey: UInt64
        var value: UInt64?
    }

    static let path = "s.hornbeam"

    let keys: [[UInt8]]
    let options: EngineOptions
    let fileSystem = MemoryFileSystem()
    var random: ChoiceGenerator
    var engine: Engine
    var now: Content
    var held: [(snapshot: Snapshot, content: Content)] = []
    var buffers = PlainContent.layouts.map { RowBuffer(layout: $0) }
    /// The key at which the next run of keys starts. Runs continue one another or start at a random key, like the keys of imports and of users.
    var cursor = 0
    var operations = 0

    init(choices: ChoiceGenerator, keyCounts: [Int] = [60, 500, 4000]) throws {
        random = choices
        let count = keyCounts.randomElement(using: &random)!
        options = Self.sizes(&random)
        keys = Self.keys(count, longest: min(options.pageSize / 8, StoreLimits.keyLengthMax), seed: random.next())
        engine = try Engine.open(Self.path, fileSystem: fileSystem, options: options)
        let transaction = try engine.begin()
        now = Content(
            index: PlainTree(keys: count), table: PlainTree(keys: count), patches: Array(repeating: 0, count: count),
            indexID: try transaction.createIndex(named: "index"),
            tableID: try transaction.createTable(named: "table", layout: PlainContent.layouts[0]),
            nextKey: try transaction.reserve(0))
        _ = try transaction.commit()
    }

    private static func sizes(_ random: inout ChoiceGenerator) -> EngineOptions {
        var options = EngineOracle.smallest
        options.pageSize = [512, 512, 1024, 4096, 16384].randomElement(using: &random)!
        options.poolBytes = options.pageSize * [16, 64, 1024].randomElement(using: &random)!
        options.frameCeiling = 60_000
        options.checkpointLogBytes = [20_000, 200_000].randomElement(using: &random)!
        options.attachThreshold = [3000, 1 << 20].randomElement(using: &random)!
        options.log = LogOptions(firstSegmentBytes: 1 << 15, largestSegmentBytes: 1 << 18)
        return options
    }

    /// Distinct ascending keys: short ones and long ones, many with a common prefix, with all byte values.
    private static func keys(_ count: Int, longest: Int, seed: UInt64) -> [[UInt8]] {
        var random = SimulationRandom(seed: seed)
        var keys: Set<[UInt8]> = [[]]
        while keys.count < count {
            var key: [UInt8] =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: Array("a common beginning, ".utf8)
                case 1: [0, 0]
                case 2: [0xFF, 0xFF, 0xFF]
                default: []
                }
            let length = Int.random(in: 0..<8, using: &random) == 0 ? longest - key.count : Int.random(in: 1...10, using: &random)
            for _ in 0..<length { key.append([0, 1, 0x61, 0xFF, .random(in: 0 ... .max, using: &random)].randomElement(using: &random)!) }
            keys.insert(key)
        }
        return keys.sorted { $0.lexicographicallyPrecedes($1) }
    }

    // MARK: Steps

    /// Executes some operations. Throws a finding if a result differs from the model.
    mutating func step() throws {
        let kind = Int.random(in: 0..<100, using: &random)
        do {
            switch kind {
            case 0..<40: try write()
            case 40..<80: try read()
            case 80..<88: try hold()
            case 88..<96: if !held.isEmpty { held.remove(at: Int.random(in: 0..<held.count, using: &random)) }
            case 96: try engine.checkpoint()
            case 97: engine.maintain()
            case 98: if Int.random(in: 0..<8, using: &random) == 0 { try reopen() }
            default: if Int.random(in: 0..<16, using: &random) == 0 { try check() }
            }
        } catch let error as EngineError {
            throw Finding("operation \(operations), in a step of kind \(kind), throws \(error)")
        }
    }

    private mutating func hold() throws {
        guard held.count < 4 else { return }
        operations += 1
        held.append((try engine.snapshot(), now))
    }

    private mutating func read() throws {
        if !held.isEmpty, Bool.random(using: &random) {
            let (snapshot, content) = held[Int.random(in: 0..<held.count, using: &random)]
            try read(snapshot, content)
        } else {
            try read(try engine.snapshot(), now)
        }
    }

    private mutating func read(_ snapshot: Snapshot, _ content: Content) throws {
        for _ in 0..<Int.random(in: 1...40, using: &random) {
            operations += 1
            if Bool.random(using: &random) {
                try readIndex(try snapshot.index(content.indexID), content)
            } else {
                try readTable(try snapshot.table(content.tableID), content)
            }
        }
    }

    /// Closes the store, reads from the snapshots that are still held, and opens the store again.
    private mutating func reopen() throws {
        operations += 2
        try engine.close()
        for (snapshot, content) in held { try read(snapshot, content) }
        held = []
        engine = try Engine.open(Self.path, fileSystem: fileSystem, options: options)
        try readAll(try engine.snapshot(), now)
    }

    /// Reads the whole content and runs the engine's check.
    mutating func check() throws {
        operations += 1
        for (snapshot, content) in held { try readAll(snapshot, content) }
        try readAll(try engine.snapshot(), now)
        let problems = try engine.check().problems
        try expect(problems.isEmpty, "check finds \(problems.joined(separator: " "))")
    }

    func expect(_ isRight: Bool, _ what: @autoclosure () -> String) throws {
        guard isRight else { throw Finding("operation \(operations): \(what())") }
    }

    // MARK: Keys

    mutating func anyKey() -> Int { Int.random(in: 0..<keys.count, using: &random) }

    /// A run of ascending keys, consecutive or with a constant distance.
    mutating func run(of count: Int) -> [Int] {
        let step = [1, 1, 1, 2, 7].randomElement(using: &random)!
        if Int.random(in: 0..<4, using: &random) == 0 { cursor = anyKey() }
        let first = min(cursor, keys.count - 1)
        let run = (0..<count).map { first + $0 * step }.filter { $0 < keys.count }
        cursor = run[run.count - 1] + 1 < keys.count ? run[run.count - 1] + 1 : 0
        return run
    }
}
