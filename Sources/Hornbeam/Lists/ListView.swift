public import Foundation

/// A view that shows rows in sections: a table of a UI toolkit, lines of a terminal, a part of a web page.
///
/// A `ListDataSource` calls it. A batch of calls between `beginUpdates` and `endUpdates` describes the difference between two states of
/// the list, in this order: removed sections, new sections, moved sections, removed rows, new rows, moved rows, reloaded rows, reloaded sections. As
/// in the table views of Apple's systems, paths of removed rows and of the origins of moves are positions before the batch, and paths of new rows and
/// of the destinations of moves are positions after the batch. The same is true for indexes of sections. A section moves with its rows. `contents` has
/// the new rows during the whole batch. `ListRows` applies such a batch to arrays.
///
/// Each method except `makeCell(identifier:)` and `reloadList()` has a default. The default of `endUpdates()` reloads the list, and the others do
/// nothing, so a view with these two methods works. A view that implements `endUpdates()` implements all methods.
public protocol ListView: AnyObject {
    /// The content of a row.
    associatedtype Cell

    /// The rows. Set by the data source; nil when it ends.
    var contents: ListContents<Cell>? { get set }

    /// Returns a new or reused cell for a kind of row. The data source then sets its content.
    func makeCell(identifier: String) -> Cell
    /// Shows all rows again.
    func reloadList()
    /// A batch of changes begins.
    func beginUpdates()
    /// A section was removed. Called in descending order.
    func deleteSection(at index: Int)
    /// A section is new. Called in ascending order.
    func insertSection(at index: Int)
    /// A section with its rows has another place among the others. Called in the ascending order of the new indexes.
    func moveSection(from index: Int, to newIndex: Int)
    /// A row was removed. Called in descending order.
    func deleteRow(at path: IndexPath)
    /// A row is new. Called in ascending order.
    func insertRow(at path: IndexPath)
    /// A row has another position, and perhaps another content. Called in the ascending order of the new paths.
    func moveRow(from path: IndexPath, to newPath: IndexPath)
    /// The content of a row changed. Called in ascending order.
    func reloadRow(at path: IndexPath, now newPath: IndexPath)
    /// The title of a section changed. Its rows are reloaded only by other calls. Called in ascending order.
    func reloadSection(at index: Int, now newIndex: Int)
    /// The batch is complete.
    func endUpdates()
}

extension ListView {
    public func beginUpdates() {}
    public func deleteSection(at index: Int) {}
    public func insertSection(at index: Int) {}
    public func moveSection(from index: Int, to newIndex: Int) {}
    public func deleteRow(at path: IndexPath) {}
    public func insertRow(at path: IndexPath) {}
    public func moveRow(from path: IndexPath, to newPath: IndexPath) {}
    public func reloadRow(at path: IndexPath, now newPath: IndexPath) {}
    public func reloadSection(at index: Int, now newIndex: Int) {}
    public func endUpdates() { reloadList() }
}
