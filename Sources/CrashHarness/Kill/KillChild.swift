import Foundation
import Hornbeam
import HornbeamEngine

/// The process that is killed. It commits continuously, and reports each acknowledged commit.
struct KillChild {
    static let command = "kill-child"

    /// The kinds of commits.
    enum Level: String, CaseIterable {
        case engine
        case graph
        case migration
    }

    private let level: Level
    private let path: String
    private let seed: UInt64

    init(_ options: HarnessOptions) throws {
        guard let level = options.extras["level"].flatMap(Level.init), let path = options.extras["path"], let seed = options.seed
        else { throw UsageError("\(Self.command) needs --level, --path and --seed") }
        (self.level, self.path, self.seed) = (level, path, seed)
    }

    /// Runs until the process is killed, or until no process reads its reports any more.
    func run() throws -> Int32 {
        switch level {
        case .engine: try commit()
        case .graph: try save()
        case .migration: try migrate()
        }
        return 0
    }

    private func commit() throws {
        let workload = KillTrial.engineWorkload(seed)
        var options = workload.options
        options.usesBackgroundThread = seed % 2 == 0
        let engine = try Engine.open(path, options: options)
        var random = SystemRandomNumberGenerator()
        while true {
            let isLazy = seed % 3 == 0 && Bool.random(using: &random)
            try workload.commitNext(to: engine, isLazy ? .lazy(maxDelay: .milliseconds(20)) : .full, disk: nil)
            guard Self.report(try workload.newest(in: engine.snapshot())) else { return }
        }
    }

    private func save() throws {
        let container = try PersistentContainer.open(
            at: URL(fileURLWithPath: path), model: try TrialModel.make(), classes: TrialModel.classes)
        try container.performAndWait { context in
            var step = try GraphTrial.newestStep(in: context)
            while true {
                step += 1
                try GraphTrial.perform(step, in: context)
                guard Self.report(UInt64(step)) else { return }
                if step % 100 == 0 { context.reset() }
            }
        }
    }

    /// Migrates the store through the versions in the folder next to it. Reports `2n - 1` before the migration to version n, and `2n` after it.
    private func migrate() throws {
        for version in try MigrationKillTrial.versions(besideStoreAt: path) {
            guard Self.report(UInt64(version.number * 2 - 1)) else { return }
            try MigrationHistory.open(version.model, PosixFileSystem(), path: path, plan: version.plan).close()
            guard Self.report(UInt64(version.number * 2)) else { return }
        }
        // All migrations are done. The process waits to be killed.
        while true { sleep(1) }
    }

    /// Writes a report in one call, which a kill cannot split. Returns false if no process reads it.
    private static func report(_ number: UInt64) -> Bool {
        let line = Array("\(number)\n".utf8)
        return unsafe write(1, line, line.count) == line.count
    }
}
