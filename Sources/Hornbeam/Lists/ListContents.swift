public import Foundation

/// The rows of a `ListDataSource`, as its view reads them. A view reads only the rows that it shows.
public final class ListContents<Cell> {
    private let sections: () -> Int
    private let title: (Int) -> String
    private let rows: (Int) -> Int
    private let makeCell: (IndexPath) -> Cell

    init(sections: @escaping () -> Int, title: @escaping (Int) -> String, rows: @escaping (Int) -> Int, makeCell: @escaping (IndexPath) -> Cell) {
        self.sections = sections
        self.title = title
        self.rows = rows
        self.makeCell = makeCell
    }

    /// The number of sections.
    public var sectionCount: Int { sections() }

    /// The number of rows in all sections.
    public var rowCount: Int { (0 ..< sectionCount).reduce(0) { $0 + rowCount(inSection: $1) } }

    /// The title of a section; empty for a list without sections.
    public func title(ofSection section: Int) -> String { title(section) }

    /// The number of rows in a section.
    public func rowCount(inSection section: Int) -> Int { rows(section) }

    /// The cell of a row, with its content. A path outside the rows is a programmer error.
    public func cell(at path: IndexPath) -> Cell { makeCell(path) }
}
