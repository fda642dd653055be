import HornbeamLists

/// A table of text with aligned columns.
struct TextTable {
    struct Column {
        let title: String
        var alignment = Alignment.left
        /// Longer cells are truncated with an ellipsis.
        var widthMax = 60
    }

    enum Alignment { case left, right }

    let columns: [Column]
    private(set) var rows: [[String]] = []

    init(_ columns: [Column]) { self.columns = columns }

    /// Adds a row, with one cell for each column.
    mutating func append(_ cells: [String]) {
        precondition(cells.count == columns.count, "A row of \(columns.count) columns was given \(cells.count) cells.")
        rows.append(zip(cells, columns).map { $0.singleLine.truncated(to: $1.widthMax) })
    }

    /// The table as lines, indented by two spaces: titles, a rule, the rows.
    var description: String {
        let widths = columns.indices.map { index in
            rows.reduce(columns[index].title.displayWidth) { max($0, $1[index].displayWidth) }
        }
        var lines = [line(columns.map(\.title), widths), line(widths.map { String(repeating: "─", count: $0) }, widths)]
        lines += rows.map { line($0, widths) }
        return lines.joined(separator: "\n")
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        let padded = columns.indices.map { index in
            columns[index].alignment == .left
                ? cells[index].padded(to: widths[index])
                : cells[index].paddedOnLeft(to: widths[index])
        }
        return ("  " + padded.joined(separator: "  ")).trimmingTrailingSpaces
    }
}

extension TextTable.Column {
    static func text(_ title: String, widthMax: Int = 60) -> Self { Self(title: title, widthMax: widthMax) }
    static func number(_ title: String) -> Self { Self(title: title, alignment: .right) }
}
