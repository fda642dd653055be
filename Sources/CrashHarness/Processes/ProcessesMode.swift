import Foundation

/// Several real processes write one store in turns. Some are killed or stopped.
enum ProcessesMode: Mode {
    static let name = "processes"
    static let summary = "2 to 8 real processes that write one store in turns at engine level, while some are killed or stopped"
    static let unit = "trials"
    static let extras = ["folder"]

    private static let killsPerTrial = 12
    private static let trialsPerStore = 3

    static func round(_ seed: UInt64, _ run: Run) throws {
        let parent = run.options.extras["folder"].map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let folder = parent.appendingPathComponent("crash-harness-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var isKept = false
        defer { if !isKept { try? FileManager.default.removeItem(at: folder) } }
        let trial = ProcessesTrial(seed: seed, folder: folder)
        let count = 2 + Int(seed % 7)
        do {
            // Scheduling determines the moments of the kills. A replay kills as often, but at other moments.
            for _ in 0..<trialsPerStore {
                try run.beginCase("\(count) processes")
                let outcome = try trial.run(processes: count, kills: killsPerTrial) { run.beginPart("\(count) processes, \($0)") }
                run.add("kills", outcome.kills)
                run.add("processes stopped and continued", outcome.stops)
                run.add("commits", outcome.commits)
            }
        } catch let error as Run.Finished {
            throw error
        } catch {
            isKept = true
            throw Finding("\(error) (the store is kept in \(folder.path))")
        }
    }
}
