import Foundation
import Hornbeam
import HornbeamLists
import Testing

/// Hornbeam's code in the pages for users of layers over Core Data: `Docs/ComingFromTHRCoreData.md`, `Docs/ComingFromVICoreDataManager.md`,
/// `Docs/ComingFromOGCoreDataStack.md`, `Docs/ComingFromCoreDataNotes.md`, `Docs/ComingFromProgrammingGuide.md`.
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
        // snippet
        let id = employee.objectID
        let coordinator = try stack.container.persistentStoreCoordinator
        let same = coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation())
        print(id.isTemporaryID, employee.entity.userInfo["label"] ?? "")

        print(controller.sections[0].count, controller.object(at: [0, 0]).name)
        controller.onChange = { changes in print(changes.insertedSections, changes.objects) }

        let saves = NotificationCenter.default.addObserver(
            forName: ManagedObjectContext.didSaveObjectIDsNotification, object: context, queue: nil
        ) { _ in print("saved") }
        context.delete(employee)
        try stack.saveMainContext()
        NotificationCenter.default.removeObserver(saves)
        // end
        #expect(same == id && controller.fetchedObjects == [])
    }

    @Test func listsOfTHRCoreData() async throws {
        let stack = stack()
        let context = try stack.mainContext
        for number in 0..<4 { Employee(in: context, number: number, name: "\(number)", wage: Double(number) * 100 - 100) }
        try stack.saveMainContext()
        // snippet
        try context.delete(Employee.self) { $0.wage < 0 }
        try context.deleteAll(Company.self)
        let rich = try context.count(Employee.self) { $0.wage > 100 }
        try await stack.saveBackgroundContext()

        let results = try FetchedResultsController(FetchRequest<Employee>().inDefaultOrder(), in: context)
        results.onChange = { changes in print(changes.objects.count) }
        results.onInvalidation = { print("everything is new") }
        try results.performFetch()

        let source = try ListDataSource(FetchRequest<Employee>().inDefaultOrder(), in: context, view: RecordingList()) { cell, employee in
            cell.text = employee.name
        }
        source.cellIdentifier = { $0.wage > 100 ? "rich" : "plain" }
        try source.startVending()
        // end
        #expect(rich == 1 && results.fetchedObjects?.map(\.number) == [1, 2, 3])
        #expect(source.view.lines == [": 1, 2, 3"])
    }

    @Test func listsOfVICoreDataManager() throws {
        let stack = stack()
        Employee(in: try stack.mainContext, number: 1, name: "Ada", wage: 2, company: try stack.mainContext.upsert(Company.self, key: "ACME"))
        try stack.saveMainContext()
        // snippet
        let dropped = try stack.beginTransaction()
        Employee(in: dropped.context, number: 9)
        dropped.drop()

        let paid = try stack.mainContext.first(Employee.self) { $0.wage > 0 }
        let source = try ListDataSource(
            FetchRequest<Employee>().inDefaultOrder(), in: stack.mainContext, sectionedBy: "company.name", cacheName: "staff", view: RecordingList()
        ) { cell, employee in cell.text = employee.name }
        source.onSelectionChange = { employee in print(employee?.name ?? "none") }
        source.onHasResultsChange = { hasResults in print(hasResults) }
        try source.startVending()
        source.selectRow(at: [0, 0])
        // end
        #expect(paid?.number == 1 && source.selectedObject === paid && source.view.lines == ["ACME: Ada"])
    }

    @Test func vendorsOfOGCoreDataStack() throws {
        func bundled() throws -> DataStack {
            // snippet
            let stack = DataStack(bundle: .main, classes: [Company.self, Employee.self])
            try stack.configure { $0.persistentStoreDescriptions = [.inMemory()] }
            // end
            return stack
        }
        #expect(throws: HornbeamError.self) { try bundled().container }
        let context = try stack().mainContext
        // snippet
        Employee(in: context, number: 4)
        let unpaid = try context.fetch(Employee.self) { $0 = $0.where { $0.wage == 0 } }
        try context.delete(Employee.self) { $0.number > 100 }

        let source = try ListDataSource(FetchRequest<Employee>().sorted(by: \.number), in: context, view: RecordingList()) { cell, employee in
            cell.text = employee.name
        }
        try source.startVending()       // vending = YES
        source.stopVending()            // vending = NO
        print(source.results.sections.count)
        // end
        #expect(unpaid.map(\.number) == [4] && source.view.lines.count == 1)
    }

    @Test func modelOfTheProgrammingGuide() throws {
        // snippet
        let model = try ManagedObjectModel {
            Entity("Person", abstract: true) { Attribute<String>("name", minimumLength: 1) }
            Entity("Runner", parent: "Person") {
                AttributeDescription("age", .integer64, default: 0, rules: [ValidationRule("SELF >= 0", warning: "An age is not negative.")])
                ToMany("runs", to: "Run", inverse: "runner", deleteRule: .cascade)
                FetchedPropertyDescription("namesakes", entity: "Runner", where: "name == $FETCH_SOURCE.name")
            }
            Entity("Run") {
                Attribute<Date>("date")
                ToOne("runner", to: "Runner", inverse: "runs")
            }
            FetchRequestTemplate("runsSince", entity: "Run", predicate: "date >= $DATE")
            Configuration("Local", ["Runner", "Run"])
        }
        let request: FetchRequest<ManagedObject> = try model.fetchRequest(fromTemplate: "runsSince", substituting: ["DATE": .date(.distantPast)])

        let container = try PersistentContainer.inMemory(model: model)
        let runs = try container.write { context in
            let runner = try context.insert(entityNamed: "Runner")
            try runner.setValue("Ada", forKey: "name")
            let run = try context.insert(entityNamed: "Run")
            try run.setValue(Date(), forKey: "date")
            try run.setValue(runner, forKey: "runner")
            return try context.count(request)
        }
        // end
        #expect(runs == 1)
    }
}
