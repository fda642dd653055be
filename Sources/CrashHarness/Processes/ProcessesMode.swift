import Foundation

/// Several real processes write one store in turns. Some are killed or stopped.
enum ProcessesMode: Mode {
    static let name = "processes"
    static let summary = "2 to 8 real processes that write one store, at engine and object-graph level, while some are killed or stopped"
    static let unit = "trials"
    static let extras = ["folder"]

    private static let killsPerTrial = 12
    private static let trialsPerStore = 3

    /// The disturbances of one trial.
    struct Trial {
        let processes: Int
        let note: (String) throws -> Void

        /// Starts the processes, and kills and stops some of them at random moments.
        func disturb(_ group: ProcessGroup) throws {
            try group.start(processes)
            for kill in 1...killsPerTrial {
                try note("\(processes) processes, kill \(kill)")
                try group.waitForReports(.random(in: 1...60))
                let victim = Int.random(in: 0..<processes)
                if Int.random(in: 0..<3) == 0 { try group.stopAndContinue(victim) }
                try group.replace(victim)
            }
            try group.waitForReports(processes * 5)
        }
    }

    struct Outcome {
        var kills: Int
        var stops: Int
        /// The stops of a process that had the turn.
        var holderStops: Int
        var commits: Int
    }

    static func round(_ seed: UInt64, _ run: Run) throws {
        let parent = run.options.extras["folder"].map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let folder = parent.appendingPathComponent("crash-harness-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var isKept = false
        defer { if !isKept { try? FileManager.default.removeItem(at: folder) } }
        let trial = Trial(processes: 2 + Int(seed / 2 % 7)) { run.beginPart($0) }
        let engine = ProcessesTrial(seed: seed, folder: folder)
        let ledger = LedgerTrial(seed: seed, folder: folder)
        let isGraph = seed % 2 == 0
        do {
            // Scheduling determines the moments of the kills. A replay kills as often, but at other moments.
            for _ in 0..<trialsPerStore {
                try run.beginCase("\(trial.processes) processes")
                let outcome = try isGraph ? ledger.run(trial) : engine.run(trial)
                run.add("kills", outcome.kills)
                run.add("processes stopped and continued", outcome.stops)
                run.add("processes stopped with the turn", outcome.holderStops)
                run.add(isGraph ? "acknowledged saves" : "commits", outcome.commits)
            }
            if isGraph { run.add("migrations beside other processes", ledger.migrations) }
        } catch let error as Run.Finished {
            throw error
        } catch {
            isKept = true
            throw Finding("\(error) (the store is kept in \(folder.path))")
        }
    }
}
