import Foundation
import Hornbeam
import Testing

/// The code of `Docs/Contexts.md`.
@Suite @MainActor struct ContextsTests {
    @Entity final class Employee: ManagedObject {
        @Attribute(.unique) var name: String
        var department: Department?
    }

    @Entity final class Department: ManagedObject {
        var name: String
        var staff: Set<Employee>
    }

    private let container: PersistentContainer

    init() throws { container = try PersistentContainer.inMemory(for: Employee.self, Department.self) }

    @Test func contextsBelongToActors() async throws {
        // snippet
        let context = container.viewContext                               // on the main actor
        try await container.performBackgroundTask { context in            // a context for one task
            Employee(in: context, name: "Ada")
            try context.save()
        }
        let importer = container.newBackgroundContext()                   // an actor that keeps its context
        let count = try await importer.perform { try $0.count(FetchRequest<Employee>()) }
        let own = container.newContext()                                  // inside your own actor or thread
        // end
        #expect(try count == 1 && context.count(FetchRequest<Employee>()) == 1 && own.count(FetchRequest<Employee>()) == 1)
    }

    @Test func snapshotsAreValues() async throws {
        try await container.write { context in
            _ = Employee(in: context, name: "Ada", department: Department(in: context, name: "Engine"))
        }
        // snippet
        let ada = try await container.read { context in
            try context.first(Employee.self) { $0.name == "Ada" }?.snapshot(including: \.department)
        }
        print(ada?.name ?? "", ada?.department?.snapshot?.name ?? "")
        let json = try JSONEncoder().encode(ada)
        // end
        #expect(ada?.department?.snapshot?.name == "Engine")
        #expect(try JSONDecoder().decode(Employee.Snapshot.self, from: json) == ada)
    }

    @Test func errorsAreCaughtByCode() throws {
        let context = container.viewContext
        Employee(in: context, name: "Ada")
        try context.save()
        let other = container.newContext()
        Employee(in: other, name: "Ada")
        func report(_ context: ManagedObjectContext) throws {
            // snippet
            do {
                try context.save()
            } catch let error as HornbeamError where error.code == .constraintConflict {
                print("\(error.key ?? "") is taken: \(error.value ?? .null)")
            }
            // end
        }
        try report(other)
        #expect(other.hasChanges)
    }

    @Test func childSavesIntoItsParent() throws {
        let context = container.viewContext
        // snippet
        let draft = context.newChildContext()
        Employee(in: draft, name: "Grace")
        try draft.save()      // context now has the changes, unsaved; releasing draft without a save discards them
        // end
        #expect(try context.hasChanges && context.count(FetchRequest<Employee>()) == 1)
        #expect(try container.newContext().count(FetchRequest<Employee>()) == 0)
    }

    @Test func changesAreUndone() throws {
        let context = container.viewContext
        let employee = Employee(in: context, name: "Ada")
        try context.save()
        // snippet
        context.undoStack = UndoStack(levelsOfUndo: 50)
        employee.name = "Renamed"
        context.processPendingChanges()                  // ends a step; `perform` and the view context call it automatically
        context.undoStack?.group("Move") {               // one step, however many events
            employee.department = Department(in: context, name: "Engine")
            employee.name = "Moved"
        }
        context.undo()
        context.redo()
        // end
        #expect(employee.name == "Moved")
        context.undo()
        #expect(employee.name == "Renamed" && employee.department == nil)
        context.undo()
        #expect(employee.name == "Ada")
    }

    @Test func resultsAreInSections() throws {
        let context = container.viewContext
        Employee(in: context, name: "Ada", department: Department(in: context, name: "Engine"))
        // snippet
        let controller = try FetchedResultsController(
            FetchRequest<Employee>().sorted(by: "department.name").sorted(by: "name"), in: context, sectionedBy: "department.name")
        controller.onChange = { changes in               // insertions, deletions, moves and updates, of sections and objects
            print(changes.insertedSections, changes.objects.count)
        }
        try controller.performFetch()
        let employees = controller.sections[0].objects   // typed, in order
        // end
        #expect(employees.map(\.name) == ["Ada"])
    }

    @Test func historyIsRead() throws {
        let context = container.newContext()
        let viewContext = container.viewContext
        var token = try container.history.currentToken()
        var resyncs = 0
        func readAllAgain() { resyncs += 1 }
        // snippet
        context.transactionAuthor = "import"
        Employee(in: context, name: "Ada")
        try context.save()
        switch try container.history.fetch(after: token) {
        case .transactions(let transactions, let newest):
            for transaction in transactions { try viewContext.mergeChanges(from: transaction) }
            token = newest                               // Codable: keep it where you keep your state
        case .resync(_, let newest):
            readAllAgain()
            token = newest
        }
        // end
        #expect(try resyncs == 0 && token == container.history.currentToken())
    }

    @Test func generationsAreStable() throws {
        let url = try TemporaryFolder().url.appending(path: "Company.hornbeam")
        var description = PersistentStoreDescription(url: url)
        // snippet
        description.retainedGenerations = 100            // keep the last hundred states, one for each save
        // end
        let company = try PersistentContainer(
            name: "Company", model: ManagedObjectModel(for: Employee.self, Department.self), classes: [Employee.self, Department.self])
        company.persistentStoreDescriptions = [description]
        try company.loadPersistentStores()
        let coordinator = company.persistentStoreCoordinator
        let context = company.newContext()
        let request = FetchRequest<Employee>()
        let transaction = try #require(coordinator.currentQueryGeneration().transaction)
        // snippet
        try context.setQueryGeneration(from: .current)   // reads stay at this state, despite saves
        let token = context.queryGenerationToken         // can pin other contexts, on any thread
        try company.write { context in _ = Employee(in: context, name: "Ada") }
        let before = try context.count(request)          // 0
        try context.setQueryGeneration(from: nil)        // follows again
        let after = try context.count(request)           // 1

        let then = try coordinator.queryGeneration(at: transaction)
        try context.setQueryGeneration(from: then)       // objects have their values of that state
        // end
        #expect(before == 0 && after == 1 && token != nil)
        #expect(try context.count(request) == 0)
        try company.close()
    }
}
