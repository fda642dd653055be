import Foundation
import Hornbeam
import Testing

/// The code of the article “Observe changes”.
@Suite @MainActor struct ObservingChangesTests {
    @Entity final class Employee: ManagedObject {
        var name: String
        var department: Department?
    }

    @Entity final class Department: ManagedObject {
        @Attribute(.unique) var name: String
        var staff: Set<Employee>
    }

    private let container: PersistentContainer

    init() throws {
        container = try PersistentContainer.inMemory(for: Employee.self, Department.self)
        try container.write { context in
            _ = Employee(in: context, name: "Ada", department: Department(in: context, name: "Engine"))
        }
    }

    @Test func resultsFollow() async throws {
        let context = container.viewContext
        var seen: [[String]] = []
        func show(_ employees: [Employee]) { seen.append(employees.map(\.name)) }
        // snippet
        let request = FetchRequest<Employee>().where { $0.department.name == "Engine" }.sorted(by: \.name)
        for try await employees in context.results(of: request) {
            show(employees)
            if employees.count == 2 { break }
            try await container.write { context in
                let engine = try context.first(Department.self, where: Department.name, equals: "Engine")
                Employee(in: context, name: "Grace", department: engine)
            }
        }
        // end
        #expect(seen == [["Ada"], ["Ada", "Grace"]])
    }

    @Test func controllerNamesPositions() throws {
        let context = container.viewContext
        // snippet
        let controller = try FetchedResultsController(
            FetchRequest<Employee>().sorted(by: \.department.name).sorted(by: \.name), in: context, sectionedBy: \.department.name)
        controller.onChange = { changes in
            for case .insert(let employee, let path) in changes.objects { print(employee.name, "at", path) }
        }
        try controller.performFetch()
        // end
        #expect(controller.sections.map(\.name) == ["Engine"])
        Employee(in: context, name: "Joan", department: Department(in: context, name: "Model"))
        context.processPendingChanges()
        #expect(controller.sections.map(\.name) == ["Engine", "Model"])
    }

    @Test func viewsObserveResults() throws {
        // snippet
        let names = FetchedResults(FetchRequest<Employee>().sorted(by: \.name), in: container.viewContext)
        let staff = LiveValue(container.viewContext.liveCount(of: FetchRequest<Employee>()))
        print(names.objects.map(\.name), staff.value ?? 0)
        // end
        #expect(names.objects.map(\.name) == ["Ada"] && staff.value == 1)
    }

    @Test func commitsAreASequence() async throws {
        let container = container
        var isOver = false
        let commits = Task {
            // snippet
            for await changes in container.changes() {
                print(changes.inserted.count, "inserted by", changes.author ?? "unknown")
                if changes.author == "import" { break }
            }
            // end
            isOver = true
        }
        while !isOver {
            let importer = container.newContext()
            importer.transactionAuthor = "import"
            Employee(in: importer, name: "Joan")
            try importer.save()
            try await Task.sleep(for: .milliseconds(2))
        }
        await commits.value
    }

    @Test func historyIsReadSinceAToken() throws {
        let saved: Data? = nil
        // snippet
        var token = try saved.map { try JSONDecoder().decode(HistoryToken.self, from: $0) }
        switch try container.history.fetch(after: token) {
        case .transactions(let transactions, let newest):
            for change in transactions.flatMap(\.changes) { print(change.kind, change.objectID) }
            token = newest
        case .resync(_, let newest):      // the token is older than the history: read everything
            token = newest
        }
        let state = try JSONEncoder().encode(token)
        // end
        #expect(try JSONDecoder().decode(HistoryToken.self, from: state) == container.history.currentToken())
    }
}
