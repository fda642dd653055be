/// The sums as the Markdown table of `Docs/Testing.md`.
struct FiguresTable {
    let content: FiguresFile.Content
    init(_ content: FiguresFile.Content) { self.content = content }

    var text: String {
        var lines = ["| mode | runs | seeds | time | tried | findings |", "|---|---|---|---|---|---|"]
        for mode in CrashHarness.modes {
            guard let sums = content.modes[mode.name] else { continue }
            let figures = sums.figures.sorted { ($0.key != mode.unit ? 1 : 0, $0.key) < ($1.key != mode.unit ? 1 : 0, $1.key) }
            let lists = sums.lists.sorted { $0.key < $1.key }.map { "\($0.value.count.grouped) \($0.key)" }
            let tried = (figures.map { "\($0.value.grouped) \($0.key)" } + lists).joined(separator: ", ")
            lines.append(
                "| `\(mode.name)` | \(sums.runs.grouped) | \(sums.rounds.grouped) | \(Self.time(sums.seconds)) | \(tried) "
                    + "| \(sums.findings) |")
        }
        let commits = content.modes.values.reduce(into: Set<String>()) { $0.formUnion($1.commits) }
        if !commits.isEmpty { lines += ["", "Run from commit \(commits.sorted().joined(separator: ", "))."] }
        return lines.joined(separator: "\n")
    }

    private static func time(_ seconds: Int) -> String {
        seconds < 120 ? "\(seconds) s" : seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
    }
}
