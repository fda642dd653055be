import Foundation
import Hornbeam
import Testing

/// The code of the article “Show lists”.
@Suite @MainActor struct ShowingListsTests {
    @Entity final class Employee: ManagedObject {
        var name: String
        var department: Department?
    }

    @Entity final class Department: ManagedObject {
        @Attribute(.unique) var name: String
        var staff: Set<Employee>
    }

    // snippet
    final class Outline: ListView {
        var contents: ListContents<String>?
        private(set) var rows = ListRows<String>()
        private var batch = ListBatch()

        func makeCell(identifier: String) -> String { "" }
        func reloadList() { rows.reload(contents) { (cell: String) in cell } }

        func beginUpdates() { batch = ListBatch() }
        func deleteSection(at index: Int) { batch.deleteSection(at: index) }
        func insertSection(at index: Int) { batch.insertSection(at: index) }
        func moveSection(from index: Int, to newIndex: Int) { batch.moveSection(from: index, to: newIndex) }
        func reloadSection(at index: Int, now newIndex: Int) { batch.reloadSection(at: index, now: newIndex) }
        func deleteRow(at path: IndexPath) { batch.deleteRow(at: path) }
        func insertRow(at path: IndexPath) { batch.insertRow(at: path) }
        func moveRow(from path: IndexPath, to newPath: IndexPath) { batch.moveRow(from: path, to: newPath) }
        func reloadRow(at path: IndexPath, now newPath: IndexPath) { batch.reloadRow(at: path, now: newPath) }

        func endUpdates() {
            guard let contents else { return }
            rows.apply(batch, contents) { (cell: String, _) in cell }
        }
    }
    // end

    private let container: PersistentContainer

    init() throws {
        container = try PersistentContainer.inMemory(for: Employee.self, Department.self)
        try container.write { context in
            let engine = Department(in: context, name: "Engine")
            for name in ["Ada", "Grace"] { _ = Employee(in: context, name: name, department: engine) }
        }
    }

    @Test func outlineFollowsTheContext() throws {
        let context = container.viewContext
        // snippet
        let outline = Outline()
        let request = FetchRequest<Employee>().sorted(by: \.department.name).sorted(by: \.name)
        let list = try ListDataSource(request, in: context, sectionedBy: "department.name", view: outline) { cell, employee in cell = employee.name }
        list.sectionTitle = { section in "\(section.name): \(section.count)" }
        try list.startVending()
        // end
        #expect(outline.rows.sections.map(\.title) == ["Engine: 2"] && outline.rows.sections.map(\.rows) == [["Ada", "Grace"]])
        _ = Employee(in: context, name: "Barbara", department: list.results.object(at: [0, 0]).department)
        _ = Employee(in: context, name: "Alan", department: Department(in: context, name: "Codes"))
        context.processPendingChanges()
        #expect(outline.rows.sections.map(\.title) == ["Codes: 1", "Engine: 3"])
        #expect(outline.rows.sections.map(\.rows) == [["Alan"], ["Ada", "Barbara", "Grace"]])
    }

    @Test func longListCreatesTheObjectsThatAreRead() throws {
        let context = container.viewContext
        // snippet
        let employees = FetchRequest<Employee>().sorted(by: \.name).batches(of: 50)
        let long = try FetchedResultsController(employees, in: context)
        try long.performFetch()
        if long.sections[0].count > 0 { print(long.object(at: [0, 0]).name, "of", long.sections[0].count) }
        // end
        #expect(long.sections[0].count == 2 && long.sections[0][1].name == "Grace")
    }
}
