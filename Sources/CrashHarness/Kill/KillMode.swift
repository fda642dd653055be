import Foundation

/// Kills real processes that write to a store on the real disk.
enum KillMode: Mode {
    static let name = "kill"
    static let summary = "real processes killed by SIGKILL while they commit, at engine and object-graph level"
    static let unit = "kills"
    static let extras = ["folder"]

    /// How often one store is killed before it is given up for a new one.
    private static let killsPerStore = 20

    static func round(_ seed: UInt64, _ run: Run) throws {
        let level = KillChild.Level.allCases[Int(seed % 2)]
        let parent = run.options.extras["folder"].map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let folder = parent.appendingPathComponent("crash-harness-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var isKept = false
        defer { if !isKept { try? FileManager.default.removeItem(at: folder) } }
        let trial = KillTrial(level: level, seed: seed, folder: folder)
        do {
            // The moments are the system's: a replay kills the same store as often again, at other moments.
            for _ in 0..<killsPerStore {
                try run.trying(level.rawValue)
                run.add("acknowledged commits", try trial.killOnce())
                run.add("kills at \(level.rawValue) level")
            }
        } catch let error as Run.IsOver {
            throw error
        } catch {
            isKept = true
            throw Finding("\(error) (the store is kept in \(folder.path))")
        }
    }
}
