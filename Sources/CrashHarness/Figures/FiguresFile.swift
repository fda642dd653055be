import Foundation

/// The sums over all runs. They are in a JSON file, which is updated under a lock and replaced by renaming.
struct FiguresFile {
    /// The sums of one mode over all its runs.
    struct ModeSums: Codable, Equatable {
        var runs = 0
        var rounds = 0
        var findings = 0
        var seconds = 0
        var figures: [String: Int] = [:]
        var lists: [String: [String]] = [:]
        /// The commits from which the runs were built, oldest first.
        var commits: [String] = []

        mutating func add(_ other: ModeSums) {
            runs += other.runs
            rounds += other.rounds
            findings += other.findings
            seconds += other.seconds
            figures.merge(other.figures, uniquingKeysWith: +)
            lists.merge(other.lists) { Set($0).union($1).sorted() }
            commits += other.commits.filter { !commits.contains($0) }
        }
    }

    struct Content: Codable, Equatable {
        var modes: [String: ModeSums] = [:]
    }

    let path: String
    init(_ path: String) { self.path = path }

    /// Reads the totals. Empty if the file does not exist.
    func read() throws -> Content {
        guard FileManager.default.fileExists(atPath: path) else { return Content() }
        return try JSONDecoder().decode(Content.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Adds the figures of a run. Concurrent processes wait for each other, and no process reads a partial file.
    func add(_ sums: ModeSums, to mode: String) throws {
        let lock = unsafe open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        guard lock >= 0, flock(lock, LOCK_EX) == 0 else { throw Finding("The figures in \(path) cannot be locked.") }
        defer { close(lock) }
        var content = try read()
        content.modes[mode, default: ModeSums()].add(sums)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let draft = path + ".new"
        try (encoder.encode(content) + Data("\n".utf8)).write(to: URL(fileURLWithPath: draft))
        guard unsafe rename(draft, path) == 0 else { throw Finding("The figures in \(path) cannot be replaced.") }
    }
}
