import Foundation

/// Kills real processes while they write to a store on the real disk.
enum KillMode: Mode {
    static let name = "kill"
    static let summary = "real processes killed by SIGKILL while they commit, at engine and object-graph level, and while they migrate"
    static let unit = "kills"
    static let extras = ["folder", "only"]

    /// The number of kills after which a store is replaced by a new one.
    private static let killsPerStore = 20

    static func round(_ seed: UInt64, _ run: Run) throws {
        let isMigration = try run.isForMigrations || seed % 5 == 4
        let level: KillChild.Level = isMigration ? .migration : seed % 2 == 0 ? .engine : .graph
        let parent = run.options.extras["folder"].map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let folder = parent.appendingPathComponent("crash-harness-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var isKept = false
        defer { if !isKept { try? FileManager.default.removeItem(at: folder) } }
        do {
            if level == .migration {
                try kill(try MigrationKillTrial(seed: seed, folder: folder), run)
                return
            }
            let trial = KillTrial(level: level, seed: seed, folder: folder)
            // Scheduling determines the moments of the kills. A replay kills the same store as often, but at other moments.
            for _ in 0..<killsPerStore {
                try run.beginCase(level.rawValue)
                run.add("acknowledged commits", try trial.killOnce())
                run.add("kills at \(level.rawValue) level")
            }
        } catch let error as Run.Finished {
            throw error
        } catch {
            isKept = true
            throw Finding("\(error) (the store is kept in \(folder.path))")
        }
    }

    private static func kill(_ trial: MigrationKillTrial, _ run: Run) throws {
        for _ in 0..<killsPerStore {
            try run.beginCase(KillChild.Level.migration.rawValue)
            let outcome = try trial.killOnce()
            run.add("acknowledged migrations", outcome.migrations)
            run.add(outcome.wasInside ? "kills inside migrations" : "kills between migrations")
            if outcome.wasInCode { run.add("kills inside stages with code") }
        }
    }
}
