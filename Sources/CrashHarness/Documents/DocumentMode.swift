import Foundation

/// Kills processes that change documents: at each step of the operations on the files of a document, and at random moments.
enum DocumentMode: Mode {
    static let name = "documents"
    static let summary = "processes killed at each step and at random moments while they save, autosave, revert, move and close documents"
    static let unit = "kills"
    static let extras = ["folder"]

    /// The number of random kills after which a document is replaced by a new one.
    private static let killsPerDocument = 20
    /// The number of operations of a process that is killed at each of its steps.
    private static let operations = 8

    /// Of four seeds, three kill at random moments, and one at each step.
    static func round(_ seed: UInt64, _ run: Run) throws {
        let parent = run.options.extras["folder"].map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let folder = parent.appendingPathComponent("crash-harness-documents-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var isKept = false
        defer { if !isKept { try? FileManager.default.removeItem(at: folder) } }
        do {
            if seed % 4 == 0 { try killAtEachStep(seed, folder, run) } else { try killAtRandom(seed, folder, run) }
        } catch let error as Run.Finished {
            throw error
        } catch {
            isKept = true
            throw Finding("\(error) (the documents are kept in \(folder.path))")
        }
    }

    private static func killAtRandom(_ seed: UInt64, _ folder: URL, _ run: Run) throws {
        let trial = DocumentTrial(folder: folder, seed: seed)
        // Scheduling determines the moments of the kills. A replay kills the same operations at other moments.
        for round in 0..<killsPerDocument {
            try run.beginCase("at random")
            let reports = try KilledProcess(DocumentChild.words(trial, seed: seed &+ UInt64(round) << 32)).run()
            try record(try trial.judge(reports), run)
        }
    }

    private static func killAtEachStep(_ seed: UInt64, _ folder: URL, _ run: Run) throws {
        for step in 1... {
            let name = "step \(step)"
            let place = folder.appendingPathComponent(String(step))
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            let trial = DocumentTrial(folder: place, seed: seed)
            guard run.includes(name) else { continue }
            try run.beginCase(name)
            let process = KilledProcess(DocumentChild.words(trial, seed: seed, step: step, operations: operations))
            guard let reports = try process.runToStep() else { break }
            run.add("kills at steps")
            try record(try trial.judge(reports), run)
            try? FileManager.default.removeItem(at: place)
        }
    }

    private static func record(_ outcome: DocumentTrial.Outcome, _ run: Run) throws {
        run.add("acknowledged operations on documents", outcome.operations)
        if let killed = outcome.killed { run.cover("killed operations", killed) }
        if outcome.hasRecovery { run.add("recoveries offered") }
    }
}
