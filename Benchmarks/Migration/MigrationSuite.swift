import Foundation

/// Rows G1 and G2: the cost of opening a store with the next version of its model.
struct MigrationSuite {
    let options: Options
    let folder: Folder
    let contestants: [any MigrationContestant.Type]

    static let rows = [
        Row(id: "G1k", title: "model change without rewriting, 10 k rows, besides opening", unit: "ms", goal: .atMost(20)),
        Row(id: "G1", title: "model change without rewriting, 10 M rows, besides opening", unit: "ms", goal: .atMost(20)),
        Row(id: "G1kp", title: "… processor time, 10 k rows", unit: "ms"),
        Row(id: "G1p", title: "… processor time, 10 M rows", unit: "ms"),
        Row(id: "G2", title: "number required with a default, half of 1 M rows without", unit: "ms", goal: .atMost(1, .sqlite)),
        Row(id: "G2u", title: "… batch update of the same rows", unit: "ms"),
        Row(id: "G2x", title: "… migration as a multiple of the batch update", unit: "×", goal: .atMost(2)),
        Row(id: "G2t", title: "text required with a default, half of 1 M rows without", unit: "ms", goal: .atMost(1, .sqlite)),
        Row(id: "G2tu", title: "… batch update of the same rows", unit: "ms"),
        Row(id: "G2te", title: "… batch update of the same rows to texts that are computed from another", unit: "ms"),
        Row(id: "G2tx", title: "… migration as a multiple of the batch update", unit: "×", goal: .atMost(2)),
        Row(id: "G2i", title: "new unique constraint over 1 M rows", unit: "ms", goal: .atMost(1, .sqlite)),
        Row(id: "G2c", title: "cores at work during row G2t", unit: "×"),
        Row(id: "G2m", title: "peak memory over the pool during row G2t", unit: "MiB", goal: .atMost(64)),
    ]

    /// The smallest pool that stores of this size are opened with.
    private static let tightPool = 64 << 20

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        note("migration without rewriting")
        try change("G1k", options.isSmoke ? 1_000 : 10_000, &results)
        try change("G1", options.isSmoke ? 10_000 : 10_000_000, &results)
        for repetition in 0..<options.repetitions {
            note("migration, repetition \(repetition + 1) of \(options.repetitions)")
            for type in contestants.indices.map({ contestants[($0 + repetition) % contestants.count] }) { try rewrite(type, &results) }
        }
        results.add("G2m", .hornbeam, try MemorySuite(options: options, folder: folder).ask("migrate"))
    }

    // MARK: Without rewriting

    /// Each version of a chain is opened, which migrates, and opened again; the difference is the migration. The raw baseline makes one
    /// durable write for each, because each migration needs one.
    private func change(_ id: String, _ rows: Int, _ results: inout Results) throws {
        let path = try folder.empty("migrated")
        let floor = try Floor(in: folder)
        try GraphMigration(path: path).load(rows)
        for version in try GraphMigration.unwrittenChanges() {
            let first = try GraphMigration.costs(ofOpening: path, version)
            let again = try [0, 1, 2].map { _ in try GraphMigration.costs(ofOpening: path, version) }
            results.add(id, .hornbeam, (first.seconds - again.map(\.seconds).sorted()[1]) * 1e3)
            results.add("\(id)p", .hornbeam, (first.processor - again.map(\.processor).sorted()[1]) * 1e3)
            results.add(id, .machine, percentile(floor.commits(0..<5).sorted(), 0.5) * 1e3)
        }
        _ = try folder.empty("migrated")
    }

    // MARK: With rewriting

    private func rewrite(_ type: any MigrationContestant.Type, _ results: inout Results) throws {
        let who = type.contestant
        let path = try folder.empty("\(who.rawValue)-original")
        try type.init(path: path).load(options.rows)
        func measure(_ id: String, cores: String? = nil, _ body: (any MigrationContestant) throws -> UInt64) throws -> Double {
            let copy = try folder.empty("\(who.rawValue)-copy")
            try Folder.copy(path, to: copy)
            sync()
            let start = processTime()
            let (seconds, sum) = try timed { try body(type.init(path: copy)) }
            if let cores, who == .hornbeam { results.add(cores, who, (processTime() - start) / seconds) }
            results.add(id, who, seconds * 1e3)
            results.check(id, who, sum)
            return seconds
        }
        let text = try measure("G2t", cores: "G2c") { try $0.requireText() }
        let textUpdate = try measure("G2tu") { try $0.updateText() }
        _ = try measure("G2te") { try $0.updateTextFromAnother() }
        let number = try measure("G2") { try $0.requireNumber() }
        let numberUpdate = try measure("G2u") { try $0.updateNumber() }
        _ = try measure("G2i") { try $0.addConstraint() }
        results.add("G2x", who, number / numberUpdate)
        results.add("G2tx", who, text / textUpdate)
        for name in ["original", "copy"] { _ = try folder.empty("\(who.rawValue)-\(name)") }
    }

    // MARK: Memory

    /// Runs in a process of its own and prints the peak of the memory beyond the pool.
    static func measureMemory(_ options: Options, _ path: String) throws {
        try GraphMigration(path: path, poolBytes: tightPool).load(options.rows)
        ProcessMemory.trimHeap()
        ProcessMemory.forgetPeak()
        let before = ProcessMemory.current
        _ = try GraphMigration(path: path, poolBytes: tightPool).requireText()
        print(Double(ProcessMemory.peak - before - tightPool) / Double(1 << 20))
    }
}

/// A contestant with notes. Each step ends with a durable, closed store and returns the number of rows that have the value.
protocol MigrationContestant: AnyObject {
    static var contestant: Contestant { get }

    /// Makes a contestant for an existing store, or for one that `load` fills.
    init(path: String) throws
    /// Notes with a unique number. In every second note, grade and remark are null.
    func load(_ rows: Int) throws
    func requireNumber() throws -> UInt64
    func updateNumber() throws -> UInt64
    func requireText() throws -> UInt64
    func updateText() throws -> UInt64
    func updateTextFromAnother() throws -> UInt64
    func addConstraint() throws -> UInt64
}
