public import Foundation
public import Hornbeam

/// A list that records the calls of its data source, for tests.
///
/// `rows` is what a view shows that follows the calls, and `contents` is what it should show: `isConsistent` compares them.
public final class RecordingList: ListView {
    /// The cell of a row.
    public struct Cell: Hashable {
        /// The kind of the row.
        public let identifier: String
        /// The text of the row.
        public var text = ""
    }

    public var contents: ListContents<Cell>?
    /// The calls as text, such as `insert row 0.1`.
    public private(set) var calls: [String] = []
    /// The rows that the calls lead to.
    public private(set) var rows = ListRows<Cell>()
    private var batch: ListBatch?

    public init() {}

    /// Removes the recorded calls.
    public func removeCalls() { calls = [] }

    /// The sections with the texts of their rows, such as `["Novels: Emma, Persuasion"]`.
    public var lines: [String] { rows.sections.map { "\($0.title): " + $0.rows.map(\.text).joined(separator: ", ") } }

    /// True if the rows that the calls lead to are those of the data source.
    public var isConsistent: Bool {
        var expected = ListRows<Cell>()
        expected.reload(contents) { (cell: Cell) in cell }
        return expected.sections.map(\.title) == rows.sections.map(\.title) && expected.sections.map(\.rows) == rows.sections.map(\.rows)
    }

    public func makeCell(identifier: String) -> Cell { Cell(identifier: identifier) }

    public func reloadList() {
        calls.append("reload")
        rows.reload(contents) { (cell: Cell) in cell }
    }

    public func beginUpdates() {
        calls.append("begin")
        batch = ListBatch()
    }

    public func deleteSection(at index: Int) {
        calls.append("delete section \(index)")
        batch?.deleteSection(at: index)
    }

    public func insertSection(at index: Int) {
        calls.append("insert section \(index)")
        batch?.insertSection(at: index)
    }

    public func moveSection(from index: Int, to newIndex: Int) {
        calls.append("move section \(index) to \(newIndex)")
        batch?.moveSection(from: index, to: newIndex)
    }

    public func deleteRow(at path: IndexPath) {
        calls.append("delete row \(Self.text(path))")
        batch?.deleteRow(at: path)
    }

    public func insertRow(at path: IndexPath) {
        calls.append("insert row \(Self.text(path))")
        batch?.insertRow(at: path)
    }

    public func moveRow(from path: IndexPath, to newPath: IndexPath) {
        calls.append("move row \(Self.text(path)) to \(Self.text(newPath))")
        batch?.moveRow(from: path, to: newPath)
    }

    public func reloadRow(at path: IndexPath, now newPath: IndexPath) {
        calls.append("reload row \(Self.text(path)), now \(Self.text(newPath))")
        batch?.reloadRow(at: path, now: newPath)
    }

    public func reloadSection(at index: Int, now newIndex: Int) {
        calls.append("reload section \(index), now \(newIndex)")
        batch?.reloadSection(at: index, now: newIndex)
    }

    public func endUpdates() {
        calls.append("end")
        guard let batch, let contents else { return }
        rows.apply(batch, contents) { (cell: Cell, _) in cell }
        self.batch = nil
    }

    /// Moves a row, as a user does by dragging it. Call `moveRowByUser` of the data source afterwards.
    public func dragRow(from path: IndexPath, to newPath: IndexPath) { rows.moveRow(from: path, to: newPath) }

    private static func text(_ path: IndexPath) -> String { path.map(String.init).joined(separator: ".") }
}
