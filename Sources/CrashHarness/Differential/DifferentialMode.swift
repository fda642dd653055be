/// Applies random operations to a store and to a plain model, and compares all results. Most rounds test the engine alone, every fourth one
/// the object graph, and every eighth one migrations.
enum DifferentialMode: Mode {
    static let name = "differential"
    static let summary = "random operations on engine and object graph, each answer compared with a plain model"
    static let unit = "operations"

    private static let operationsPerRound = 60_000
    private static let graphOperationsPerRound = 3_000

    static func round(_ seed: UInt64, _ run: Run) throws {
        try run.beginCase("history", as: "histories")
        if seed % 8 == 5 { return try migrations(seed, run) }
        if seed % 4 == 3 { try graph(seed, run) } else { try engine(seed, run) }
    }

    private static func engine(_ seed: UInt64, _ run: Run) throws {
        var history = try EngineHistory(choices: ChoiceGenerator(seed: seed))
        var counted = 0
        while history.operations < operationsPerRound, !run.isFinished {
            for _ in 0..<50 { try history.step() }
            run.add(unit, history.operations - counted)
            counted = history.operations
        }
        try history.check()
    }

    private static func migrations(_ seed: UInt64, _ run: Run) throws {
        for chain in 0 ..< 20 as Range<UInt64> where !run.isFinished {
            let history = try MigrationHistory(seed: seed << 8 | chain)
            for _ in 0 ..< 8 where !run.isFinished {
                try history.step()
                run.add("migrations")
            }
        }
    }

    private static func graph(_ seed: UInt64, _ run: Run) throws {
        let history = try GraphHistory(seed: seed)
        try history.perform(operations: graphOperationsPerRound, run)
    }
}
