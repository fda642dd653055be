import Foundation
import Hornbeam
import HornbeamLists
import Testing

@Suite("Lists") struct ListDataSourceTests {
    private func employees(_ setting: Setting = Setting(), _ count: Int = 4) throws -> (ManagedObjectContext, [Employee]) {
        let context = setting.context(of: try Company.stack(setting.kind))
        let employees = (0 ..< count).map { context.employee("e\($0)", salary: $0 / 2) }
        try context.saveToStore()
        return (context, employees)
    }

    private func source(
        _ context: ManagedObjectContext, section: String? = "salary"
    ) throws -> (ListDataSource<Employee, RecordingList>, RecordingList) {
        let view = RecordingList()
        let request = FetchRequest<Employee>().sorted(by: "salary").sorted(by: "name")
        return (try ListDataSource(request, in: context, sectionedBy: section, view: view) { $0.text = $1.name }, view)
    }

    @Test("SEED-10, SEED-11: a view receives the changes in order, with cells of its kinds", arguments: Setting.contexts)
    func changesInOrder(setting: Setting) throws {
        let (context, employees) = try employees(setting)
        let (source, view) = try source(context)
        source.cellIdentifier = { $0.isActive ? "active" : "resting" }
        #expect(view.contents == nil)
        try source.startVending()
        #expect(view.calls == ["reload"] && view.lines == ["0: e0, e1", "1: e2, e3"])
        view.removeCalls()
        employees[0].salary = 5
        context.delete(employees[1])
        employees[2].isActive = false
        context.employee("e4", salary: 1)
        context.processPendingChanges()
        #expect(view.calls == [
            "begin", "delete section 0", "insert section 1", "delete row 0.1", "insert row 0.2", "move row 0.0 to 1.0", "reload row 1.0, now 0.0", "end",
        ])
        #expect(view.lines == ["1: e2, e3, e4", "5: e0"] && view.isConsistent)
        #expect(view.rows[[0, 0]].identifier == "resting" && view.rows[[0, 1]].identifier == "active")
        try context.saveToStore()
        #expect(view.isConsistent)
    }

    @Test("SEED-13: vending off leaves the view as it is; vending on shows all rows") func vending() throws {
        let (context, employees) = try employees()
        let (source, view) = try source(context, section: nil)
        try source.startVending()
        source.stopVending()
        #expect(!source.isVending)
        context.delete(employees[0])
        context.processPendingChanges()
        #expect(view.calls == ["reload"] && view.lines == [": e0, e1, e2, e3"])
        try source.startVending()
        #expect(view.calls == ["reload", "reload"] && view.lines == [": e1, e2, e3"])
        context.delete(employees[1])
        context.processPendingChanges()
        #expect(view.lines == [": e2, e3"] && view.isConsistent)
    }

    @Test("SEED-12: the selection stays with its object, and ends with it; rows or none are reported") func selectionAndResults() throws {
        let (context, employees) = try employees()
        let (source, view) = try source(context)
        var selections: [String?] = []
        var results: [Bool] = []
        source.onSelectionChange = { selections.append($0?.name) }
        source.onHasResultsChange = { results.append($0) }
        try source.startVending()
        source.selectRow(at: [0, 1])
        #expect(source.selectedObject === employees[1] && source.selectedPath == [0, 1])
        employees[1].salary = 7
        context.processPendingChanges()
        #expect(source.selectedPath == [2, 0])
        context.delete(employees[1])
        context.processPendingChanges()
        #expect(source.selectedObject == nil && selections == ["e1", nil])
        try context.deleteAll(Employee.self)
        context.processPendingChanges()
        #expect(results == [true, false] && view.lines == [])
        context.employee("new")
        context.processPendingChanges()
        #expect(results == [true, false, true] && view.lines == ["0: new"])
    }

    @Test("SEED-12, FRC-15: after a reset of the context the list shows the stored rows") func resets() throws {
        let (context, _) = try employees()
        let (source, view) = try source(context, section: nil)
        try source.startVending()
        source.selectRow(at: [0, 0])
        context.employee("unsaved")
        context.reset()
        #expect(view.lines == [": e0, e1, e2, e3"] && view.isConsistent && source.selectedObject == nil && source.fetchError == nil)
    }

    @Test("FRC-16: a row that the user moves is only reloaded, and moves again only if the data say so") func movesByTheUser() throws {
        let (context, employees) = try employees()
        let (source, view) = try source(context)
        try source.startVending()
        view.removeCalls()
        view.dragRow(from: [0, 0], to: [1, 2])
        source.moveRowByUser(from: [0, 0], to: [1, 2]) { ($0.salary, $0.name) = (1, "e9") }
        #expect(view.calls == ["begin", "reload row 1.2, now 1.2", "end"] && view.lines == ["0: e1", "1: e2, e3, e9"] && view.isConsistent)
        view.removeCalls()
        view.dragRow(from: [1, 0], to: [0, 0])
        source.moveRowByUser(from: [1, 0], to: [0, 0]) { _ in }
        #expect(view.calls == ["begin", "move row 0.0 to 1.0", "end"] && view.lines == ["0: e1", "1: e2, e3, e9"] && view.isConsistent)
        view.dragRow(from: [0, 0], to: [1, 0])
        source.moveRowByUser(from: [0, 0], to: [1, 0]) { _ in context.delete(employees[3]) }
        #expect(view.lines == ["0: e1", "1: e2, e9"] && view.isConsistent)
        view.dragRow(from: [0, 0], to: [1, 2])
        #expect(throws: CancellationError.self) { try source.moveRowByUser(from: [0, 0], to: [1, 2]) { _ in throw CancellationError() } }
        #expect(view.lines == ["0: e1", "1: e2, e9"] && view.isConsistent)
    }

    @Test("FRC-16: a move by the user to a path outside the list ends with a sentence", arguments: [[0, 4], [1, 0], [0, -1], [0]])
    func movesOutsideTheList(path: [Int]) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [path = path as [Int]] in
            let context = try Company.stack(.inMemory).newContext()
            for name in ["a", "b", "c", "d"] { context.employee(name) }
            let request = FetchRequest<Employee>().sorted(by: "name")
            let source = try ListDataSource(request, in: context, view: RecordingList()) { $0.text = $1.name }
            try source.startVending()
            source.moveRowByUser(from: [0, 0], to: IndexPath(indexes: path)) { _ in }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("A row cannot be moved to the path \(path)."))
    }

    @Test("SEED-10: sections move with their rows, and are reloaded when their titles change") func sectionsMoveAndReload() throws {
        let context = try Company.stack(.inMemory).newContext()
        let rows = [("a", 1), ("a", 2), ("b", 3)].map { name, salary in context.employee(name, salary: salary) }
        let view = RecordingList()
        let source = try ListDataSource(FetchRequest<Employee>().sorted(by: "salary"), in: context, sectionedBy: "name", view: view) {
            $0.text = "\($1.salary)"
        }
        source.sectionTitle = { "\($0.name) (\($0.count))" }
        try source.startVending()
        #expect(view.lines == ["a (2): 1, 2", "b (1): 3"])
        view.removeCalls()
        rows[2].salary = 0
        context.processPendingChanges()
        #expect(view.lines == ["b (1): 0", "a (2): 1, 2"] && view.isConsistent)
        #expect(view.calls.count == 4 && view.calls[1].hasPrefix("move section") && view.calls[2].hasPrefix("reload row"))
        view.removeCalls()
        context.delete(rows[0])
        context.employee("b", salary: 9)
        context.processPendingChanges()
        #expect(view.calls == [
            "begin", "delete row 1.0", "insert row 0.1", "reload section 0, now 0", "reload section 1, now 1", "end",
        ])
        #expect(view.lines == ["b (2): 0, 9", "a (1): 2"] && view.isConsistent)
    }

    /// A view with the two methods that have no default.
    private final class SmallView: ListView {
        var contents: ListContents<String>?
        var lines: [String] = []
        func makeCell(identifier: String) -> String { "" }
        func reloadList() { lines = (0 ..< (contents?.rowCount ?? 0)).compactMap { contents?.cell(at: [0, $0]) } }
    }

    @Test("SEED-13: a view with two methods works, and a data source ends with its owner") func smallViews() throws {
        let (context, employees) = try employees()
        let view = SmallView()
        var source: ListDataSource? = try ListDataSource(FetchRequest<Employee>().sorted(by: "name"), in: context, view: view) { $0 = $1.name }
        try source?.startVending()
        context.delete(employees[2])
        context.processPendingChanges()
        #expect(view.lines == ["e0", "e1", "e3"])
        weak let kept = source
        source = nil
        #expect(kept == nil)
        context.delete(employees[1])
        context.processPendingChanges()
        #expect(view.lines == ["e0", "e1", "e3"])
    }

    @Test(
        "FRC-18, SEED-10, FET-5: all views show the same rows after random changes; sections move, their titles change, rows come in batches",
        arguments: UInt64(1) ... 6, [nil, "department.name", "salary", "name"])
    func viewsAgreeAfterRandomChanges(seed: UInt64, section: String?) throws {
        let context = try Company.stack(.inMemory).newContext()
        var edits = RandomEdits(seed: seed)
        for _ in 0 ..< 20 { _ = try edits.edit(context) }
        // The sections by name are in the order of their least salaries, so they move.
        let request = FetchRequest<Employee>().sorted(by: section == "name" ? "salary" : section ?? "isActive").sorted(by: "salary")
            .batches(of: seed % 2 == 0 ? 3 : 0)
        let recording = RecordingList()
        let terminal = TerminalScreen(width: 40, height: 12)
        let html = HTMLList(id: "list")
        var page = BrowserPage()
        html.onUpdate = { page.apply($0) }
        let first = try ListDataSource(request, in: context, sectionedBy: section, view: recording) { $0.text = "\($1.name) \($1.salary)" }
        let second = try ListDataSource(request, in: context, sectionedBy: section, view: terminal.list) { $0.text = "\($1.name) \($1.salary)" }
        let third = try ListDataSource(request, in: context, sectionedBy: section, view: html) {
            $0.fields = [.init("name", $1.name), .init("salary", "\($1.salary)")]
        }
        if section != nil {
            first.sectionTitle = { $0.count % 3 == 0 ? "" : "\($0.name) (\($0.count))" }
            second.sectionTitle = first.sectionTitle
            third.sectionTitle = first.sectionTitle
        }
        page.load(html.html)
        try first.startVending()
        try second.startVending()
        try third.startVending()
        for step in 0 ..< 60 {
            let change = try edits.edit(context)
            context.processPendingChanges()
            #expect(recording.isConsistent, "seed \(seed), step \(step): \(change)")
            let lines = recording.rows.sections.flatMap { ($0.title.isEmpty ? [] : [$0.title]) + $0.rows.map(\.text) }
            #expect(terminal.lines == Array(lines.prefix(12)), "seed \(seed), step \(step): \(change)")
            #expect(page.html == html.html, "seed \(seed), step \(step): \(change)")
        }
    }
}
