public import Foundation
public import Hornbeam

/// A list in a terminal. An update writes only the lines that changed.
///
/// ```swift
/// let list = TerminalList(width: 80, height: 24)
/// let source = try ListDataSource(request, in: context, view: list) { line, book in line.text = book.title }
/// try source.startVending()
/// ```
/// A section begins with a line with its title. The list shows as many lines as its height allows, from `firstLine` on, and writes nothing
/// outside of them. Reads only the rows that it shows.
public final class TerminalList: ListView {
    /// The line of a row.
    public struct Cell {
        /// The kind of the row.
        public let identifier: String
        /// The text. Control characters are shown as spaces, and a text that is too long ends with an ellipsis.
        public var text = ""
    }

    public var contents: ListContents<Cell>?
    /// The columns of the terminal.
    public var width: Int { didSet { if width != oldValue { redraw() } } }
    /// The lines of the list.
    public var height: Int { didSet { if height != oldValue { redraw() } } }
    /// The number of lines above the first one that is shown.
    public var firstLine = 0 { didSet { draw() } }
    /// The line above the rows; nil for none.
    public var header: String? { didSet { draw() } }
    /// The path of the row that is highlighted.
    public var highlightedPath: IndexPath? { didSet { draw() } }
    private let write: (String) -> Void
    /// The lines on the terminal.
    private var shown: [String] = []
    private var isInBatch = false

    /// - Parameters:
    ///   - width: The columns of the terminal.
    ///   - height: The lines that the list may use.
    ///   - write: Writes text and control sequences (ECMA-48) to the terminal. The default writes to standard output.
    public init(width: Int, height: Int, write: @escaping (String) -> Void = TerminalList.writeToStandardOutput) {
        self.width = width
        self.height = height
        self.write = write
    }

    public static func writeToStandardOutput(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    public func makeCell(identifier: String) -> Cell { Cell(identifier: identifier) }

    public func reloadList() { draw() }

    public func beginUpdates() { isInBatch = true }

    public func endUpdates() {
        isInBatch = false
        draw()
    }

    /// Clears the terminal and writes all lines.
    public func redraw() {
        shown = []
        write("\u{1B}[2J")
        draw()
    }

    /// The number of lines of all sections and rows.
    public var lineCount: Int {
        guard let contents else { return 0 }
        return (0 ..< contents.sectionCount).reduce(0) { $0 + contents.rowCount(inSection: $1) + (contents.title(ofSection: $1).isEmpty ? 0 : 1) }
    }

    private func draw() {
        guard !isInBatch else { return }
        let lines = visibleLines()
        var output = ""
        for (number, line) in lines.enumerated() where number >= shown.count || shown[number] != line {
            output += "\u{1B}[\(number + 1);1H\(line)\u{1B}[K"
        }
        for number in lines.count ..< max(lines.count, shown.count) { output += "\u{1B}[\(number + 1);1H\u{1B}[K" }
        shown = lines
        // The cursor waits below the list.
        if !output.isEmpty { write(output + "\u{1B}[\(min(lines.count + 1, height));1H") }
    }

    private func visibleLines() -> [String] {
        guard height > 0 else { return [] }
        var lines = header.map { [$0.singleLine.truncated(to: width)] } ?? []
        guard let contents else { return lines }
        // The lines above the first one that is shown, without those of the sections before.
        var above = max(0, firstLine)
        for section in 0 ..< contents.sectionCount where lines.count < height {
            let title = contents.title(ofSection: section)
            let titleLines = title.isEmpty ? 0 : 1
            let count = titleLines + contents.rowCount(inSection: section)
            let first = min(above, count)
            above -= first
            for line in first ..< first + min(count - first, height - lines.count) {
                lines.append(line < titleLines ? style(title, "1") : rowLine([section, line - titleLines], contents))
            }
        }
        return lines
    }

    private func rowLine(_ path: IndexPath, _ contents: ListContents<Cell>) -> String {
        let text = contents.cell(at: path).text
        return path == highlightedPath ? style(text, "7") : text.singleLine.truncated(to: width)
    }

    /// Bold (1) or inverse (7) text.
    private func style(_ text: String, _ code: String) -> String { "\u{1B}[\(code)m\(text.singleLine.truncated(to: width))\u{1B}[0m" }
}
