import Foundation

/// Rows as groups of bars, one bar for each contestant, each row on its own scale; written as SVG.
struct BarChart {
    let title: String
    let rows: [Row]
    let results: Results

    private enum Size {
        static let width = 860, labels = 330, bars = 360, bar = 13, gap = 14, top = 64
    }

    private var shown: [(row: Row, bars: [(Contestant, Double)])] {
        rows.compactMap { row in
            let bars = Contestant.allCases.compactMap { who in results.median(row.id, who).map { (who, $0) } }
            return bars.count > 1 ? (row, bars) : nil
        }
    }

    /// The chart; nil if no row has two figures to compare.
    var svg: String? {
        let shown = shown
        guard !shown.isEmpty else { return nil }
        var body = ""
        var y = Size.top
        for (row, bars) in shown {
            body += group(row, bars, at: y)
            y += bars.count * Size.bar + Size.gap
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Size.width)" height="\(y + 8)" font-family="sans-serif" font-size="11">
            <rect width="100%" height="100%" fill="#ffffff"/>
            <text x="16" y="24" font-size="15" font-weight="bold">\(title.escaped)</text>
            \(legend(shown.flatMap { $0.bars.map(\.0) }))
            \(body)</svg>

            """
    }

    private func legend(_ present: [Contestant]) -> String {
        var x = 16
        return Contestant.allCases.filter { present.contains($0) }.map { who in
            defer { x += 100 }
            return "<rect x=\"\(x)\" y=\"36\" width=\"10\" height=\"10\" fill=\"\(who.colour)\"/>"
                + "<text x=\"\(x + 15)\" y=\"45\">\(who.rawValue)</text>"
        }
        .joined()
    }

    private func group(_ row: Row, _ bars: [(Contestant, Double)], at top: Int) -> String {
        let most = bars.map(\.1).max() ?? 1
        var text = "<text x=\"\(Size.labels - 8)\" y=\"\(top + 11)\" text-anchor=\"end\">\(row.id) \(row.title.escaped)</text>\n"
        for (n, (who, value)) in bars.enumerated() {
            let y = top + n * Size.bar
            let length = max(Int(value / most * Double(Size.bars)), 1)
            text += "<rect x=\"\(Size.labels)\" y=\"\(y)\" width=\"\(length)\" height=\"\(Size.bar - 2)\" fill=\"\(who.colour)\"/>"
            text += "<text x=\"\(Size.labels + length + 5)\" y=\"\(y + 10)\">\(value.short) \(row.unit.escaped)</text>\n"
        }
        return text
    }

    /// Writes one chart for each group of rows into a folder.
    static func write(_ results: Results, into folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let groups = [
            ("keys", "One index: 16-byte keys, 150-byte values", KeyValueSuite.rows),
            ("events", "Tables and indexes of the engine", EventSuite.rows),
            ("graph", "Objects, through the public interface", GraphSuite.rows + StaffSuite.rows + [SizeSuite.firstSave]),
            ("catalogue", "The package catalogue of a machine", CatalogueSuite.rows + WalkSuite.rows + DaySuite.rows),
            ("limited", "Ten million events with less memory than data", LimitedSuite.rowsOfTable),
        ]
        for (name, title, rows) in groups {
            guard let svg = BarChart(title: title, rows: rows, results: results).svg else { continue }
            try Data(svg.utf8).write(to: URL(filePath: "\(folder)/\(name).svg"))
        }
        guard let svg = LineChart(results: results).svg else { return }
        try Data(svg.utf8).write(to: URL(filePath: "\(folder)/sizes.svg"))
    }
}

extension Contestant {
    var colour: String {
        switch self {
        case .hornbeam: "#2f6f4f"
        case .sqlite: "#8a9bb0"
        case .lmdb: "#c98f4a"
        case .libpq: "#7a6fb0"
        case .machine: "#b9b9b9"
        }
    }
}

extension String {
    /// As the content of an XML element.
    var escaped: String {
        replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;").replacingOccurrences(of: ">", with: "&gt;")
    }
}
