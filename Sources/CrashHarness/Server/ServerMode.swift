#if Postgres
import Foundation

/// Real processes that save overlapping changes into one PostgreSQL database, while processes are killed or stopped, or the server is restarted.
enum ServerMode: Mode {
    static let name = "server"
    static let summary = "2 to 8 real processes that write one PostgreSQL database, while some are killed or the server restarts (Scripts/with-postgres)"
    static let unit = "trials"
    static let extras = ["steps", "processes", "work"]

    private static let trialsPerStore = 3

    static func round(_ seed: UInt64, _ run: Run) throws {
        let schema = "harness \(seed) \(UInt64.random(in: 0 ... .max))"
        let processes = try run.option("processes", 2 + Int(seed / 3 % 7)) { (2 ... 64).contains($0) }
        switch seed % 3 {
        case 0: try ledger(seed, schema, processes, run)
        case 1: try counters(seed, schema, processes, restarts: 0, run)
        default: try counters(seed, schema, processes, restarts: 3, run)
        }
    }

    /// Processes that are killed and stopped. At the beginning of each trial all of them create or migrate the tables at the same time.
    private static func ledger(_ seed: UInt64, _ schema: String, _ processes: Int, _ run: Run) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("crash-harness-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let trial = ProcessesMode.Trial(processes: processes) { run.beginPart($0) }
        let ledger = LedgerTrial(seed: seed, folder: folder, schema: schema)
        for _ in 0 ..< trialsPerStore {
            try run.beginCase("\(processes) processes with a ledger")
            let outcome = try ledger.run(trial)
            run.add("kills", outcome.kills)
            run.add("processes stopped and continued", outcome.stops)
            run.add("acknowledged saves", outcome.commits)
        }
        run.add("migrations by several processes", ledger.migrations)
    }

    private static func counters(_ seed: UInt64, _ schema: String, _ processes: Int, restarts: Int, _ run: Run) throws {
        try run.beginCase("\(processes) processes with counters, \(restarts) restarts")
        let steps = try run.option("steps", 100) { $0 > 0 }
        // A case of more than five minutes counts as a hang.
        let seconds = try run.option("work", 0) { (0 ... 240).contains($0) }
        let trial = CountersTrial(schema: schema, seed: seed, processes: processes, steps: steps, seconds: Double(seconds))
        let tally = try trial.run {
            for _ in 0 ..< restarts {
                usleep(.random(in: 50_000...500_000))
                if try ServerStores.restart() { run.add("restarts of the server", 1) }
            }
        }
        run.add("acknowledged saves", tally.saves)
        run.add("saves with conflicts", tally.conflicts)
        run.add("saves refused", tally.refused)
        run.add("increments reported lost", tally.reportedLost)
    }
}

extension Run {
    /// The whole number of an option that only this mode has; a default without the option.
    fileprivate func option(_ name: String, _ standard: Int, _ isValid: (Int) -> Bool) throws -> Int {
        guard let text = options.extras[name] else { return standard }
        guard let number = Int(text), isValid(number) else { throw UsageError("--\(name) cannot be '\(text)'") }
        return number
    }
}
#endif
