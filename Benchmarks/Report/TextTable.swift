/// The table that is printed: one line for each row, medians with their spread, ratios, goals and marks.
struct TextTable {
    let results: Results

    func text() -> String {
        let contestants = Contestant.allCases.filter { c in results.rows.contains { results.median($0.id, c) != nil } }
        var lines: [[String]] = [["", "work", "unit"] + contestants.map(\.rawValue) + ["ratio", "goal", ""]]
        for row in results.rows where results.samples[row.id] != nil {
            lines.append([row.id, row.title, row.unit] + contestants.map { cell(row, $0) } + [ratio(row), row.goal?.text ?? "", mark(row)])
        }
        return align(lines, leftAligned: 3)
    }

    private func cell(_ row: Row, _ contestant: Contestant) -> String {
        guard let samples = results.samples[row.id]?[contestant] else { return "–" }
        guard samples.values.count > 1 else { return samples.median.short }
        return "\(samples.median.short) [\(samples.least.short)–\(samples.most.short)]"
    }

    /// Hornbeam's figure divided by that of the contestant that the goal names; without a goal, by that of LMDB, or else of SQLite or libpq.
    private func ratio(_ row: Row) -> String {
        guard let own = results.median(row.id, .hornbeam) else { return "" }
        let named = row.goal?.of ?? (row.goal == nil ? [.lmdb, .sqlite, .libpq].first { results.median(row.id, $0) != nil } : nil)
        guard let named, let other = results.median(row.id, named), other != 0 else { return "" }
        return (own / other).short
    }

    private func mark(_ row: Row) -> String { results.isReached(row).map { $0 ? "✓" : "✗" } ?? "" }

    private func align(_ lines: [[String]], leftAligned: Int) -> String {
        let columns = lines[0].indices
        let widths = columns.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            columns.map { column in
                let pad = String(repeating: " ", count: widths[column] - line[column].count)
                return column < leftAligned ? line[column] + pad : pad + line[column]
            }
            .joined(separator: "  ")
        }
        .map { line in String(line.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n")
    }

    /// The table as Markdown.
    func markdown() -> String {
        let contestants = Contestant.allCases.filter { c in results.rows.contains { results.median($0.id, c) != nil } }
        var lines = ["| | work | unit | " + contestants.map(\.rawValue).joined(separator: " | ") + " | ratio | goal | |"]
        lines.append("|---|---|---|" + contestants.map { _ in "---:|" }.joined() + "---:|---|---|")
        for row in results.rows where results.samples[row.id] != nil {
            let cells = contestants.map { cell(row, $0) }.joined(separator: " | ")
            lines.append("| \(row.id) | \(row.title) | \(row.unit) | \(cells) | \(ratio(row)) | \(row.goal?.text ?? "") | \(mark(row)) |")
        }
        return lines.joined(separator: "\n")
    }
}
