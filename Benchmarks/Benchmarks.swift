import Foundation

/// Measures Hornbeam beside SQLite and LMDB on the same work in one run.
@main struct Benchmarks {
    static func main() {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            guard !options.isHelp else { return print(Options.usage) }
            try run(options)
        } catch {
            FileHandle.standardError.write(Data("error: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ options: Options) throws {
        if let member = options.member { return try ProcessMember.run(member, options) }
        if let step = options.huge { return try HugeProcess(options).run(step) }
        let folder = try Folder(in: options.folder)
        if let step = options.memory { return try MemorySuite(options: options, folder: folder).measure(step) }
        if !options.limited.contestant.isEmpty {
            return try LimitedSuite.measure(options.limited, rows: options.rows, contestants: graphContestants)
        }
        if let profile = options.profile { return try run(profile, options, folder) }
        #if Rivals
        if options.isSmoke, options.includes("agreement") {
            var agreement = try SQLiteAgreement(folder, rows: 3000, seed: 1)
            try agreement.check(conditions: 300)
        }
        #endif
        var results = Results()
        if options.includes("keys") { try KeyValueSuite(options, folder, keyValueContestants).run(into: &results) }
        if options.includes("events") { try EventSuite(options, folder, eventContestants).run(into: &results) }
        if options.includes("graph") { try GraphSuite(options, folder, graphContestants).run(into: &results) }
        if options.includes("staff") {
            try StaffSuite(options: options, folder: folder, contestants: staffContestants).run(into: &results)
        }
        if options.includes("locks") { try LockSuite(options: options, folder: folder).run(into: &results) }
        if options.includes("memory") { try MemorySuite(options: options, folder: folder).run(into: &results) }
        if options.includes("overwrite") { try OverwriteSuite(options: options, folder: folder).run(into: &results) }
        if options.includes("catalogue") {
            try CatalogueSuite(options: options, folder: folder, contestants: catalogueContestants).run(into: &results)
        }
        if options.includes("walks") {
            try WalkSuite(options: options, folder: folder, contestants: walkContestants).run(into: &results)
        }
        if options.includes("sizes") {
            try SizeSuite(options: options, folder: folder, contestants: graphContestants).run(into: &results)
        }
        if options.includes("limited") {
            try LimitedSuite(options: options, folder: folder, contestants: graphContestants).run(into: &results)
        }
        if options.only != nil || options.isSmoke, options.includes("huge") {
            try HugeSuite(options: options, folder: folder).run(into: &results)
        }
        if options.includes("migration") {
            try MigrationSuite(options: options, folder: folder, contestants: migrationContestants).run(into: &results)
        }
        if options.includes("import") {
            try ImportSuite(options: options, folder: folder, contestants: importContestants).run(into: &results)
        }
        if options.includes("lists") { try ListSuite(options: options, folder: folder).run(into: &results) }
        if options.includes("predicates") { try PredicateSuite(options).run(into: &results) }
        if options.includes("processes") { try ProcessSuite(options: options, folder: folder).run(into: &results) }
        #if Postgres
        if options.includes("postgres"), let suite = PostgresSuite(options) { try suite.run(into: &results) }
        #endif
        try report(results, options)
    }

    /// Runs one step repeatedly, for a profiler.
    private static func run(_ profile: String, _ options: Options, _ folder: Folder) throws {
        if profile == "graph-duel" { return try EventProfile(options: options, folder: folder).duel(graphContestants) }
        if profile.hasPrefix("event-") || profile.hasPrefix("graph-") { return try EventProfile(options: options, folder: folder).run(profile) }
        #if Postgres
        if profile.hasPrefix("P"), let suite = PostgresSuite(options) { return try suite.profile(profile) }
        #endif
        if profile == "walk" || profile == "sums" { return try StaffSuite(options: options, folder: folder, contestants: []).profile(profile) }
        if profile.hasPrefix("W") { return try WalkSuite(options: options, folder: folder, contestants: []).profile(GraphWalk.self) }
        if profile.hasPrefix("K") || profile.hasPrefix("C") || profile.hasPrefix("M1") { return try profileCatalogue(profile, options, folder) }
        if profile.hasPrefix("shapes") { return try ShapeProfile().run(profile.split(separator: "@").dropFirst().first.map(String.init)) }
        if profile.hasPrefix("import") { return try ImportSuite(options: options, folder: folder, contestants: []).profile(profile) }
        if profile == "tails" { return try EngineTails(folder: folder, seconds: 20).run() }
        let words = profile.split(separator: "@").map(String.init)
        let type = keyValueContestants.first { words.count > 1 && $0.contestant.rawValue == words[1] }
        let runner = Profile(options, folder, type ?? EngineKeyValue.self)
        return words[0] == "duel" ? try runner.duel(keyValueContestants) : try runner.run(words[0])
    }

    private static func profileCatalogue(_ step: String, _ options: Options, _ folder: Folder) throws {
        let words = step.split(separator: "@").map(String.init)
        let type = catalogueContestants.first { words.count > 1 && $0.contestant.rawValue == words[1] } ?? GraphCatalogue.self
        try CatalogueSuite(options: options, folder: folder, contestants: []).profile(words[0], type)
    }

    private static var graphContestants: [any EventContestant.Type] {
        #if Rivals
        [GraphEvents.self, SQLiteEvents.self, LMDBEvents.self]
        #else
        [GraphEvents.self]
        #endif
    }

    private static var staffContestants: [any StaffContestant.Type] {
        #if Rivals
        [GraphStaff.self, SQLiteStaff.self]
        #else
        [GraphStaff.self]
        #endif
    }

    private static var catalogueContestants: [any CatalogueContestant.Type] {
        #if Rivals
        [GraphCatalogue.self, SQLiteCatalogue.self]
        #else
        [GraphCatalogue.self]
        #endif
    }

    private static var walkContestants: [any WalkContestant.Type] {
        #if Rivals
        [GraphWalk.self, SQLiteWalk.self]
        #else
        [GraphWalk.self]
        #endif
    }

    private static var importContestants: [any ImportContestant.Type] {
        #if Rivals
        [GraphImport.self, SQLiteImport.self]
        #else
        [GraphImport.self]
        #endif
    }

    private static var migrationContestants: [any MigrationContestant.Type] {
        #if Rivals
        [GraphMigration.self, SQLiteMigration.self]
        #else
        [GraphMigration.self]
        #endif
    }

    private static var eventContestants: [any EventContestant.Type] {
        #if Rivals
        [EngineEvents.self, SQLiteEvents.self, LMDBEvents.self]
        #else
        [EngineEvents.self]
        #endif
    }

    private static var keyValueContestants: [any KeyValueContestant.Type] {
        #if Rivals
        [EngineKeyValue.self, SQLiteKeyValue.self, LMDBKeyValue.self]
        #else
        [EngineKeyValue.self]
        #endif
    }

    private static func report(_ results: Results, _ options: Options) throws {
        let machine = Machine(commit: ProcessInfo.processInfo.environment["BENCH_COMMIT"] ?? "unknown")
        print(machine.summary)
        print("\(options.rows) rows, median of \(options.repetitions) [least–most]; the ratio is to the one that the goal names\n")
        print(TextTable(results: results).text())
        let reached = results.rows.compactMap { results.isReached($0) }
        print("\n\(reached.filter { $0 }.count) of \(reached.count) goals reached")
        var settings = keyValueContestants.map { $0.settings }
        #if Postgres
        if options.includes("postgres"), let suite = PostgresSuite(options) { settings.append(try suite.settings()) }
        #endif
        settings.forEach { print($0) }
        guard results.disagreements.isEmpty else {
            throw BenchmarkError("the contestants disagree, so no figure counts:\n" + results.disagreements.joined(separator: "\n"))
        }
        if let path = options.json { try JSONReport(results, options, machine, settings: settings).write(to: path) }
        if let folder = options.plots {
            try BarChart.write(results, into: folder)
            let table = "# The last full run\n\n\(machine.summary)\n\n\(TextTable(results: results).markdown())\n"
            try Data(table.utf8).write(to: URL(filePath: "\(folder)/table.md"))
        }
    }
}
