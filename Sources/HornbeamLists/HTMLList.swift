public import Foundation
public import Hornbeam

/// A list as HTML, with fragments that update it in a browser. All texts are escaped.
///
/// ```swift
/// let list = HTMLList(id: "books")
/// list.onUpdate = { fragments in connection.send(fragments) }
/// let source = try ListDataSource(request, in: context, view: list) { cell, book in cell.fields = [.init("title", book.title)] }
/// try source.startVending()
/// page.body = list.html
/// ```
/// The element of a row keeps its ID as long as the row is in the list.
public final class HTMLList: ListView {
    /// The content of a row.
    public struct Cell {
        /// The kind of the row: the class of its element.
        public let identifier: String
        /// The parts of the row, in order.
        public var fields: [Field] = []
    }

    /// A part of a row: an element of a class with a text.
    public struct Field {
        /// The class of the element.
        public let name: String
        /// The text.
        public let text: String

        public init(_ name: String, _ text: String) {
            self.name = name
            self.text = text
        }
    }

    private struct Row {
        let id: String
        let html: String
    }

    public var contents: ListContents<Cell>?
    /// Receives the fragments of each update, to be applied in order.
    public var onUpdate: (([HTMLFragment]) -> Void)?
    private let id: String
    private var rows = ListRows<Row>()
    private var batch: ListBatch?
    private var lastRow = 0

    /// - Parameter id: The ID of the list's element. The IDs of sections and rows begin with it.
    public init(id: String) { self.id = id }

    public func makeCell(identifier: String) -> Cell { Cell(identifier: identifier) }

    /// The list.
    public var html: String {
        let sections = rows.sections.map { html(of: $0, rows: $0.rows) }
        return "<div id=\"\(HTML.escaped(id))\">\(sections.joined())</div>"
    }

    public func reloadList() {
        rows.reload(contents) { (cell: Cell) in makeRow(cell, nil) }
        onUpdate?([.replace(id: id, html: html)])
    }

    public func beginUpdates() { batch = ListBatch() }
    public func deleteSection(at index: Int) { batch?.deleteSection(at: index) }
    public func insertSection(at index: Int) { batch?.insertSection(at: index) }
    public func moveSection(from index: Int, to newIndex: Int) { batch?.moveSection(from: index, to: newIndex) }
    public func deleteRow(at path: IndexPath) { batch?.deleteRow(at: path) }
    public func insertRow(at path: IndexPath) { batch?.insertRow(at: path) }
    public func moveRow(from path: IndexPath, to newPath: IndexPath) { batch?.moveRow(from: path, to: newPath) }
    public func reloadRow(at path: IndexPath, now newPath: IndexPath) { batch?.reloadRow(at: path, now: newPath) }
    public func reloadSection(at index: Int, now newIndex: Int) { batch?.reloadSection(at: index, now: newIndex) }

    public func endUpdates() {
        guard let batch, let contents else { return }
        self.batch = nil
        var fragments = batch.deletedRows.map { HTMLFragment.remove(id: rows[$0].id) }
        let oldSections = batch.deletedSections.map { HTMLFragment.remove(id: sectionID(rows.sections[$0])) }
        let oldTitles = batch.reloadedSections.isEmpty ? [:] : Dictionary(uniqueKeysWithValues: rows.sections.map { ($0.number, $0.title) })
        rows.apply(batch, contents) { (cell: Cell, old) in makeRow(cell, old) }
        fragments += sectionArrivals(batch) + arrivals(batch)
        fragments += batch.reloadedRows.map { .replace(id: rows[$0].id, html: rows[$0].html) }
        for section in batch.reloadedSections.map({ rows.sections[$0] }) { fragments += titleFragments(section, oldTitles[section.number] ?? "") }
        // Rows that left these sections have moved already.
        onUpdate?(fragments + oldSections)
    }

    /// New and moved sections in their order: the section before each is in its place already.
    private func sectionArrivals(_ batch: ListBatch) -> [HTMLFragment] {
        let arriving = (batch.insertedSections.map { ($0, isMove: false) } + batch.movedSections.map { ($0.to, isMove: true) }).sorted { $0.0 < $1.0 }
        return arriving.map { index, isMove in
            let previous = index > 0 ? sectionID(rows.sections[index - 1]) : nil
            let section = rows.sections[index]
            guard isMove else { return .insert(html: html(of: section, rows: []), parent: id, after: previous) }
            return .move(id: sectionID(section), parent: id, after: previous)
        }
    }

    /// The steps that show another title. A section without a title has no element for it.
    private func titleFragments(_ section: ListRows<Row>.Section, _ old: String) -> [HTMLFragment] {
        switch (old.isEmpty, section.title.isEmpty) {
        case (true, true): []
        case (true, false): [.insert(html: titleHTML(section), parent: sectionID(section), after: nil)]
        case (false, true): [.remove(id: sectionID(section) + "-title")]
        case (false, false): [.replace(id: sectionID(section) + "-title", html: titleHTML(section))]
        }
    }

    private func titleHTML(_ section: ListRows<Row>.Section) -> String {
        section.title.isEmpty ? "" : "<h2 id=\"\(HTML.escaped(sectionID(section)))-title\">\(HTML.escaped(section.title))</h2>"
    }

    /// New and moved rows in their order: the row before each is in its place already.
    private func arrivals(_ batch: ListBatch) -> [HTMLFragment] {
        let arriving = (batch.insertedRows.map { ($0, isMove: false) } + batch.movedRows.map { ($0.to, isMove: true) }).sorted { $0.0 < $1.0 }
        return arriving.flatMap { path, isMove -> [HTMLFragment] in
            let row = rows[path]
            let previous = path[1] > 0 ? rows[[path[0], path[1] - 1]].id : nil
            let parent = sectionID(rows.sections[path[0]]) + "-rows"
            guard isMove else { return [.insert(html: row.html, parent: parent, after: previous)] }
            return [.move(id: row.id, parent: parent, after: previous), .replace(id: row.id, html: row.html)]
        }
    }

    private func makeRow(_ cell: Cell, _ old: Row?) -> Row {
        if old == nil { lastRow += 1 }
        let rowID = old?.id ?? "\(id)-row-\(lastRow)"
        let fields = cell.fields.map { "<span class=\"\(HTML.escaped($0.name))\">\(HTML.escaped($0.text))</span>" }
        return Row(id: rowID, html: "<li id=\"\(HTML.escaped(rowID))\" class=\"\(HTML.escaped(cell.identifier))\">\(fields.joined())</li>")
    }

    private func sectionID(_ section: ListRows<Row>.Section) -> String { "\(id)-section-\(section.number)" }

    private func html(of section: ListRows<Row>.Section, rows: [Row]) -> String {
        let name = HTML.escaped(sectionID(section))
        return "<section id=\"\(name)\">\(titleHTML(section))<ul id=\"\(name)-rows\">\(rows.map(\.html).joined())</ul></section>"
    }
}

/// A step of an update of HTML in a browser.
public enum HTMLFragment: Hashable, Sendable, Codable {
    /// Replace the element with an ID.
    case replace(id: String, html: String)
    /// Remove the element with an ID.
    case remove(id: String)
    /// Insert an element into a parent, after another child, or as the first child.
    case insert(html: String, parent: String, after: String?)
    /// Move an element into a parent, after another child, or as the first child.
    case move(id: String, parent: String, after: String?)
}

/// Text in HTML.
enum HTML {
    /// The text with the characters that have a meaning in HTML as references. For contents of elements, and for attributes in quotes.
    static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: isSpecial) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            // A null character is not allowed in HTML.
            case "\0": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isSpecial(_ byte: UInt8) -> Bool { byte == 0 || "&<>\"'".utf8.contains(byte) }
}
