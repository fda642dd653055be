import Foundation
import Hornbeam
import Testing

/// Hornbeam's code in the pages for users of layers over Core Data: `Docs/ComingFromTHRCoreData.md`, `Docs/ComingFromVICoreDataManager.md`,
/// `Docs/ComingFromOGCoreDataStack.md`, `Docs/ComingFromCoreDataNotes.md`.
@Suite @MainActor struct ComingFromStacksTests {
    @Entity final class Company: ManagedObject, UniquelyKeyed {
        @Attribute(.unique) var name: String
        var employees: Set<Employee>

        static var uniqueKey: Attribute<String> { name }
    }

    @Entity final class Employee: ManagedObject, UniquelyKeyed {
        @Attribute(.unique) var number: Int
        var name: String = ""
        var wage: Double = 0
        @Relationship(inverse: \Company.employees) var company: Company?

        static var uniqueKey: Attribute<Int> { number }
        override class var defaultOrder: [FetchSort] { [FetchSort(name)] }
    }

    private func stack() -> DataStack { DataStack { try .inMemory(for: Company.self, Employee.self) } }

    @Test func objectsOfTHRCoreData() async throws {
        let stack = stack()
        let context = try stack.mainContext
        // snippet
        try context.insert(Employee.self, key: 7) { $0.name = "Ada" }
        let employee = try context.object(Employee.self, key: 7)
        let other = try context.upsert(Employee.self, key: 8) { $0.name = "Grace" }
        let list = try context.fetch(Employee.self) { $0 = $0.where { $0.wage == 0 }.inDefaultOrder() }
        let count = try context.count(Employee.self)
        try stack.saveMainContext()
        stack.saveBackgroundContext { result in
            if case .failure(let error) = result { print(error) }
        }
        // end
        #expect(employee?.name == "Ada" && other.number == 8 && list.map(\.name) == ["Ada", "Grace"] && count == 2)
    }

    // snippet
    struct RaiseWages: ContextWork {
        func performWork(in context: ManagedObjectContext) throws -> Int {
            let employees = try context.fetch(Employee.self)
            for employee in employees { employee.wage += 1 }
            return employees.count
        }

        func finish(_ result: Result<Int, any Error>) { print(result) }
    }
    // end

    @Test func operationsOfTHRCoreData() throws {
        let stack = stack()
        let queue = OperationQueue()
        // snippet
        let operation = ContextOperation(RaiseWages(), in: try stack.container)
        queue.addOperation(operation)
        // end
        queue.waitUntilAllOperationsAreFinished()
        #expect(try operation.get() == 0)
    }

    @Test func importsOfVICoreDataManager() async throws {
        let stack = stack()
        let company = try stack.mainContext.insert(Company.self, key: "ACME")
        try stack.saveMainContext()
        // snippet
        let employees = ImportMapping(Employee.self, from: "id").nulls(.keep)
        let rows: [[String: Any]] = [["id": 1, "name": "Ada", "wage": NSNull()], ["id": 2, "name": "Grace"]]
        let cleaning = ImportCleaning(allows: { ids in ids.count < 1000 })      // false stops the deletion
        let report = try company.importRows(
            from: .dictionaries(rows), into: Company.employees, with: employees, options: ImportOptions(cleaning: cleaning))
        // end
        #expect(report.inserted == 2 && company.employees.count == 2)
        // snippet
        let transaction = try stack.beginTransaction()
        try transaction.context.deleteAll(Employee.self)
        try transaction.end()
        let isThere = try stack.mainContext.exists(Employee.self) { $0.name.beginsWith("a", [.caseInsensitive, .diacriticInsensitive]) && $0.wage > 0 }
        try await stack.reset()
        // end
        #expect(!isThere)
    }

    @Test func identifiersOfOGCoreDataStack() async throws {
        let stack = stack()
        let context = try stack.mainContext
        // snippet
        let known = try context.objects(Employee.self, keys: [1, 2, 3])         // allowNil: YES
        let all = try context.upsert(Employee.self, keys: [1, 2, 3])            // allowNil: NO
        // end
        #expect(known.isEmpty && all.count == 3)
        try stack.saveMainContext()
        // snippet
        var update = BatchUpdateRequest(Employee.self, predicate: Employee.wage == 0)
        update.set(Employee.wage, to: 10)
        update.resultType = .count
        let result = try context.execute(update)

        let search = AsynchronousFetchRequest(FetchRequest<Employee>(), estimatedResultCount: 3)
        print(search.progress.fractionCompleted)
        let employees = try await context.fetch(search)         // search.cancel() ends it

        let further = try stack.container.newContext()
        further.observeSaves(of: context.identity)
        further.stopObservingSaves(of: context.identity)
        // end
        #expect(result.count == 3 && employees.count == 3)
    }

    @Test func notesOnCoreData() throws {
        // snippet
        let model = try ManagedObjectModel(for: Company.self, Employee.self)
        let stack = DataStack(name: "Staff", model: model, classes: [Company.self, Employee.self])
        try stack.configure { $0.persistentStoreDescriptions = [.inMemory()] }

        let context = try stack.mainContext
        let employee = Employee(in: context, number: 1, name: "Ada")
        employee.company = try context.upsert(Company.self, key: "ACME")
        do {
            try stack.saveMainContext()         // only if there are changes
        } catch let error as HornbeamError {
            for problem in error.details { print(problem.entity ?? "", problem.key ?? "", problem.message) }
        }

        let request = try FetchRequest<Employee>().where("wage < %d AND name BEGINSWITH[cd] %@", 10, "a").sorted(by: \.name)
        let controller = try FetchedResultsController(request, in: context, sectionedBy: \.company.name)
        try controller.performFetch()
        // end
        #expect(controller.fetchedObjects == [employee])
    }
}
