import Foundation
import Hornbeam
import HornbeamLists
import Testing

/// The elements of a page, to which fragments are applied as a browser does.
struct BrowserPage {
    private struct Element {
        var id: String
        var start: String
        var children: [Element] = []
        var text = ""
        var end: String
        var html: String { start + text + children.map(\.html).joined() + end }
    }

    private var root: Element?

    var html: String { root?.html ?? "" }

    mutating func load(_ html: String) { root = Self.parse(html) }

    mutating func apply(_ fragments: [HTMLFragment]) {
        for fragment in fragments {
            switch fragment {
            case .replace(let id, let html):
                if id == root?.id { load(html) } else { change { Self.replace(id, in: &$0, by: Self.parse(html)) } }
            case .remove(let id): change { Self.replace(id, in: &$0, by: nil) }
            case .insert(let html, let parent, let after):
                change { Self.insert(Self.parse(html), into: parent, after: after, in: &$0) }
            case .move(let id, let parent, let after):
                guard let element = root.flatMap({ Self.find(id, in: $0) }) else { fatalError("There is no element \(id) to move.") }
                change { Self.replace(id, in: &$0, by: nil) }
                change { Self.insert(element, into: parent, after: after, in: &$0) }
            }
        }
    }

    private mutating func change(_ body: (inout Element) -> Bool) {
        guard var element = root, body(&element) else { fatalError("A fragment names an element that the page does not have.") }
        root = element
    }

    private static func find(_ id: String, in element: Element) -> Element? {
        element.id == id ? element : element.children.lazy.compactMap { find(id, in: $0) }.first
    }

    private static func replace(_ id: String, in element: inout Element, by new: Element?) -> Bool {
        if let place = element.children.firstIndex(where: { $0.id == id }) {
            element.children.replaceSubrange(place ... place, with: new.map { [$0] } ?? [])
            return true
        }
        return element.children.indices.contains { replace(id, in: &element.children[$0], by: new) }
    }

    private static func insert(_ new: Element, into parent: String, after: String?, in element: inout Element) -> Bool {
        guard element.id == parent else { return element.children.indices.contains { insert(new, into: parent, after: after, in: &element.children[$0]) } }
        guard let after else {
            element.children.insert(new, at: 0)
            return true
        }
        guard let place = element.children.firstIndex(where: { $0.id == after }) else { return false }
        element.children.insert(new, at: place + 1)
        return true
    }

    /// Reads elements without attributes that contain `>`; the texts of `HTMLList` are escaped.
    private static func parse(_ html: String) -> Element {
        var open = [Element(id: "", start: "", end: "")]
        for part in html.split(separator: "<", omittingEmptySubsequences: true) {
            let tag = part.prefix { $0 != ">" }
            let text = String(part.dropFirst(tag.count + 1))
            if tag.hasPrefix("/") {
                let closed = open.removeLast()
                open[open.count - 1].children.append(closed)
            } else {
                let name = tag.prefix { $0 != " " }
                let id = tag.firstMatch(of: /id="([^"]*)"/).map { String($0.1) } ?? ""
                open.append(Element(id: id, start: "<\(tag)>", text: text, end: "</\(name)>"))
            }
        }
        return open[0].children[0]
    }
}

@Suite struct HTMLListTests {
    private func context() throws -> ManagedObjectContext { try Company.stack(.inMemory).newContext() }

    @Test("SEED-11: a list of HTML has sections, rows of their kinds, and escaped texts") func wholeList() throws {
        let context = try context()
        context.employee("<b>Tom & \"Jerry's\"</b>\0", salary: 1)
        let list = HTMLList(id: "staff")
        let source = try ListDataSource(FetchRequest<Employee>().sorted(by: "name"), in: context, sectionedBy: "salary", view: list) {
            $0.fields = [.init("name", $1.name)]
        }
        source.cellIdentifier = { _ in "person" }
        #expect(list.html == "<div id=\"staff\"></div>")
        try source.startVending()
        #expect(list.html == """
            <div id="staff"><section id="staff-section-1"><h2 id="staff-section-1-title">1</h2><ul id="staff-section-1-rows"><li id="staff-row-1" class="person">\
            <span class="name">&lt;b&gt;Tom &amp; &quot;Jerry&#39;s&quot;&lt;/b&gt;\u{FFFD}</span></li></ul></section></div>
            """)
    }

    @Test("SEED-10: fragments contain only the rows that change, and rows keep their IDs") func fragments() throws {
        let context = try context()
        let employees = (0 ..< 3).map { context.employee("e\($0)", salary: $0) }
        let list = HTMLList(id: "staff")
        let source = try ListDataSource(FetchRequest<Employee>().sorted(by: "salary"), in: context, view: list) { $0.fields = [.init("name", $1.name)] }
        try source.startVending()
        var fragments: [HTMLFragment] = []
        list.onUpdate = { fragments = $0 }
        employees[1].name = "f"
        context.processPendingChanges()
        #expect(fragments == [.replace(id: "staff-row-2", html: "<li id=\"staff-row-2\" class=\"cell\"><span class=\"name\">f</span></li>")])
        employees[0].salary = 9
        context.delete(employees[2])
        context.processPendingChanges()
        #expect(fragments.prefix(2) == [.remove(id: "staff-row-3"), .move(id: "staff-row-1", parent: "staff-section-1-rows", after: "staff-row-2")])
        let decoded = try JSONDecoder().decode([HTMLFragment].self, from: JSONEncoder().encode(fragments))
        #expect(decoded == fragments)
    }

    @Test("SEED-10: a section moves as one element, and a title is replaced, inserted or removed") func sectionFragments() throws {
        let context = try context()
        let rows = [("a", 1), ("a", 2), ("b", 3)].map { name, salary in context.employee(name, salary: salary) }
        let list = HTMLList(id: "staff")
        let source = try ListDataSource(FetchRequest<Employee>().sorted(by: "salary"), in: context, sectionedBy: "name", view: list) { _, _ in }
        source.sectionTitle = { $0.count > 2 ? "" : "\($0.name) \($0.count)" }
        try source.startVending()
        var fragments: [HTMLFragment] = []
        list.onUpdate = { fragments = $0 }
        (rows[0].salary, rows[1].salary) = (8, 9)
        context.processPendingChanges()
        let moves = fragments.filter { if case .move = $0 { true } else { false } }
        #expect(moves == [.move(id: "staff-section-2", parent: "staff", after: nil)] || moves == [
            .move(id: "staff-section-1", parent: "staff", after: "staff-section-2"),
        ])
        context.delete(rows[0])
        context.processPendingChanges()
        #expect(fragments.last == .replace(id: "staff-section-1-title", html: "<h2 id=\"staff-section-1-title\">a 1</h2>"))
        let others = (10 ..< 12).map { context.employee("a", salary: $0) }
        context.processPendingChanges()
        #expect(fragments.last == .remove(id: "staff-section-1-title"))
        others.forEach { context.delete($0) }
        context.processPendingChanges()
        #expect(fragments.last == .insert(html: "<h2 id=\"staff-section-1-title\">a 1</h2>", parent: "staff-section-1", after: nil))
    }
}
