public import Foundation

/// The rows of a list as arrays, for views that keep a copy of what they show.
///
/// A view adds each call between `beginUpdates` and `endUpdates` to a `ListBatch`, and applies the batch at the end.
public struct ListRows<Row> {
    /// A section with its rows.
    public struct Section {
        /// A number that no other section of the list has. It stays the same while the section exists.
        public let number: Int
        /// The title of the section.
        public fileprivate(set) var title: String
        /// The rows, in order.
        public fileprivate(set) var rows: [Row]
    }

    /// The sections, in order.
    public private(set) var sections: [Section] = []
    private var lastNumber = 0

    /// A list without rows.
    public init() {}

    /// The row at a section and position in it.
    public subscript(path: IndexPath) -> Row { sections[path[0]].rows[path[1]] }

    /// Replaces all rows.
    public mutating func reload<Cell>(_ contents: ListContents<Cell>?, _ makeRow: (Cell) -> Row) {
        sections = []
        guard let contents else { return }
        for number in 0 ..< contents.sectionCount {
            var section = makeSection(contents.title(ofSection: number))
            section.rows = (0 ..< contents.rowCount(inSection: number)).map { makeRow(contents.cell(at: [number, $0])) }
            sections.append(section)
        }
    }

    /// Applies a batch: O(n) for n rows.
    ///
    /// - Parameters:
    ///   - batch: The changes.
    ///   - contents: The contents after the batch.
    ///   - makeRow: Makes the row of a cell. `old` is the row that moves or is reloaded; nil for a new row.
    public mutating func apply<Cell>(_ batch: ListBatch, _ contents: ListContents<Cell>, _ makeRow: (_ cell: Cell, _ old: Row?) -> Row) {
        var arriving: [Int: [(position: Int, element: Row)]] = [:]
        for path in batch.insertedRows { arriving[path[0], default: []].append((path[1], makeRow(contents.cell(at: path), nil))) }
        for move in batch.movedRows {
            arriving[move.to[0], default: []].append((move.to[1], makeRow(contents.cell(at: move.to), self[move.from])))
        }
        var leaving: [Int: Set<Int>] = [:]
        for path in batch.deletedRows + batch.movedRows.map(\.from) { leaving[path[0], default: []].insert(path[1]) }
        for (number, positions) in leaving {
            sections[number].rows = sections[number].rows.indices.filter { !positions.contains($0) }.map { sections[number].rows[$0] }
        }
        applySections(batch, contents)
        for (number, rows) in arriving { sections[number].rows.insert(rows.sorted { $0.position < $1.position }) }
        for path in batch.reloadedRows { sections[path[0]].rows[path[1]] = makeRow(contents.cell(at: path), self[path]) }
    }

    private mutating func applySections<Cell>(_ batch: ListBatch, _ contents: ListContents<Cell>) {
        var arriving = batch.movedSections.map { (position: $0.to, element: sections[$0.from]) }
        for number in (batch.deletedSections + batch.movedSections.map(\.from)).sorted(by: >) { sections.remove(at: number) }
        for number in batch.insertedSections { arriving.append((position: number, element: makeSection(contents.title(ofSection: number)))) }
        sections.insert(arriving.sorted { $0.position < $1.position })
        for number in batch.reloadedSections { sections[number].title = contents.title(ofSection: number) }
    }

    /// Moves a row within the list, as a user does.
    public mutating func moveRow(from path: IndexPath, to newPath: IndexPath) {
        let row = sections[path[0]].rows.remove(at: path[1])
        sections[newPath[0]].rows.insert(row, at: newPath[1])
    }

    private mutating func makeSection(_ title: String) -> Section {
        lastNumber += 1
        return Section(number: lastNumber, title: title, rows: [])
    }
}

extension Array {
    /// Inserts elements at the positions that they have afterwards, in ascending order.
    fileprivate mutating func insert(_ elements: [(position: Int, element: Element)]) {
        var result: [Element] = []
        result.reserveCapacity(count + elements.count)
        var taken = 0
        for (position, element) in elements {
            while result.count < position {
                result.append(self[taken])
                taken += 1
            }
            result.append(element)
        }
        self = result + self[taken...]
    }
}

/// The calls of a `ListView` between `beginUpdates` and `endUpdates`.
public struct ListBatch {
    /// The indexes of removed sections before the batch, descending.
    public private(set) var deletedSections: [Int] = []
    /// The indexes of new sections after the batch, ascending.
    public private(set) var insertedSections: [Int] = []
    /// The sections that move with their rows, in the ascending order of their new indexes.
    public private(set) var movedSections: [(from: Int, to: Int)] = []
    /// The paths of removed rows before the batch, descending.
    public private(set) var deletedRows: [IndexPath] = []
    /// The paths of new rows after the batch, ascending.
    public private(set) var insertedRows: [IndexPath] = []
    /// The moved rows, in the ascending order of their new paths.
    public private(set) var movedRows: [(from: IndexPath, to: IndexPath)] = []
    /// The paths of rows with another content after the batch, ascending.
    public private(set) var reloadedRows: [IndexPath] = []
    /// The indexes of sections with another title after the batch, ascending.
    public private(set) var reloadedSections: [Int] = []

    /// A batch without changes.
    public init() {}

    /// Adds a removed section. Call it in descending order.
    public mutating func deleteSection(at index: Int) { deletedSections.append(index) }
    /// Adds a new section. Call it in ascending order.
    public mutating func insertSection(at index: Int) { insertedSections.append(index) }
    /// Adds a section that moves with its rows. Call it in the ascending order of the new indexes.
    public mutating func moveSection(from index: Int, to newIndex: Int) { movedSections.append((index, newIndex)) }
    /// Adds a removed row. Call it in descending order.
    public mutating func deleteRow(at path: IndexPath) { deletedRows.append(path) }
    /// Adds a new row. Call it in ascending order.
    public mutating func insertRow(at path: IndexPath) { insertedRows.append(path) }
    /// Adds a row that moves to a new path. Call it in the ascending order of the new paths.
    public mutating func moveRow(from path: IndexPath, to newPath: IndexPath) { movedRows.append((path, newPath)) }
    /// Adds a row with another content, by its new path. Call it in ascending order.
    public mutating func reloadRow(at path: IndexPath, now newPath: IndexPath) { reloadedRows.append(newPath) }
    /// Adds a section with another title, by its new index. Call it in ascending order.
    public mutating func reloadSection(at index: Int, now newIndex: Int) { reloadedSections.append(newIndex) }
}
