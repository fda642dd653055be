import Foundation
import Hornbeam
import Testing

final class Unbound: ManagedObject {
    static let name = Attribute<String?>("name")
}

/// Reads its name with another type, by a token that is not listed.
final class Careless: ManagedObject {
    static let name = Attribute<Int>("name")
    static let nothing = Attribute<Int>("nothing")
}

#if !os(iOS)
/// Programmer errors that end the process: each with a sentence that names the error and the remedy.
///
/// Found in release builds, where each ended as an illegal instruction: the standard library prints the sentence of
/// `preconditionFailure` in debug builds only. `RepositoryTests` forbids that function in these modules.
@Suite struct SentenceTests {
    private static func text(_ result: ExitTest.Result?) -> String { String(decoding: result?.standardErrorContent ?? [], as: UTF8.self) }

    @Test("MOC-9: making an object of a class that was not named, or without a store")
    func objectsOfUnboundClasses() async {
        let unbound = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Unbound(context: try Company.stack(.inMemory).newContext())
        }
        #expect(Self.text(unbound).contains("The class Unbound is not bound to exactly one entity of this container's model. Name it in `classes`"))
        let noStore = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Employee(context: try PersistentContainer(name: "x", model: Company.model(), classes: Company.classes).newContext())
        }
        #expect(Self.text(noStore).contains("No store is open. Call loadPersistentStores()"))
    }

    @Test("OBJ-9: a token that is not listed and does not fit")
    func unlistedTokens() async {
        let missing = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let model = try ManagedObjectModel { Entity("Careless") { Attribute<String>("name") } }
            _ = Careless(context: try Stack(.inMemory, model, [Careless.self]).newContext())[Careless.nothing]
        }
        #expect(Self.text(missing).contains("Careless has no property “nothing”. List the class's tokens in `tokens`"))
        let other = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let model = try ManagedObjectModel { Entity("Careless") { Attribute<String>("name") } }
            let context = try Stack(.inMemory, model, [Careless.self]).newContext()
            try Careless(context: context).setValue("text", forKey: "name")
            try context.save()
            _ = try context.fetch(FetchRequest<Careless>())[0][Careless.name]
        }
        #expect(Self.text(other).contains("“Careless.name” is of another type than the token"))
    }

    @Test("FRC-3: a path without a result")
    func pathsWithoutResult() async {
        let outside = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let request = FetchRequest<Employee>().sorted(by: "name")
            let controller = try FetchedResultsController(request, in: Company.stack(.inMemory).newContext())
            try controller.performFetch()
            _ = controller.object(at: [0, 3])
        }
        #expect(Self.text(outside).contains("There is no result at the path [0, 3]."))
    }

    @Test("REL-3, MOC-10: objects of another context in a relationship or a deletion")
    func objectsOfAnotherContext() async {
        let related = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let stack = try Company.stack(.inMemory)
            let (a, b) = (stack.newContext(), stack.newContext())
            a.department("d").employees.insert(b.employee("e"))
        }
        #expect(Self.text(related).contains("Department.employees was given an object of another context. Fetch it in this"))
        let removed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let stack = try Company.stack(.inMemory)
            let (a, b) = (stack.newContext(), stack.newContext())
            a.department("d").employees.remove(b.employee("e"))
        }
        #expect(Self.text(removed).contains("Department.employees was given an object of another context. Fetch it in this"))
        let deleted = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let stack = try Company.stack(.inMemory)
            let (a, b) = (stack.newContext(), stack.newContext())
            a.delete(b.employee("e"))
        }
        #expect(Self.text(deleted).contains("The Employee belongs to another context, or its context is gone. Delete it where it belongs."))
        let inserted = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let stack = try Company.stack(.inMemory)
            let (a, b) = (stack.newContext(), stack.newContext())
            a.insert(b.employee("e"))
        }
        #expect(Self.text(inserted).contains("Make a new object here."))
    }

    @Test("SAV-3, UND-2: a save inside a hook, an undo inside a group, an end without a beginning")
    func callsAtTheWrongTime() async {
        let save = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Stack(.inMemory, ManagedObjectModel { Entity("Saver") { Attribute<String?>("name") } }, [Saver.self]).newContext()
            _ = Saver(context: context)
            try context.save()
        }
        #expect(Self.text(save).contains("save() was called inside willSave or didSave"))
        let undo = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Company.stack(.inMemory).newContext()
            context.undoStack = UndoStack()
            context.undoStack?.group { context.undo() }
        }
        #expect(Self.text(undo).contains("undo() was called inside a group"))
        let end = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { UndoStack().endGrouping() }
        #expect(Self.text(end).contains("endGrouping() was called without beginGrouping()."))
    }

    @Test("REL-4: a sum of members beyond the range of its type", arguments: [true, false])
    func sumsBeyondTheirRange(isSaved: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [isSaved = isSaved as Bool] in
            let context = try Company.stack(.inMemory).newContext()
            let department = context.department("d")
            for name in ["a", "b"] { context.employee(name, salary: .max).department = department }
            if isSaved { try context.save() }
            _ = department.employees.sum(\.salary)
        }
        #expect(Self.text(result).contains("The sum of the values of members is beyond the range of Int. Read the values with map(_:)"))
    }

    @Test("HIS-1: limits of history that keep nothing")
    func emptyHistory() async {
        let sentence = "A history keeps at least one record for some time; use nil to keep none."
        let made = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = HistoryTracking(recordCount: .min) }
        #expect(Self.text(made).contains(sentence))
        let changed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var tracking = HistoryTracking()
            tracking.unreadRecordCount = 1
            tracking.recordCount = .min
        }
        #expect(Self.text(changed).contains(sentence))
    }

    @Test("OBJ-9: an unknown name in a subscript, a value that does not fit there, a name that cannot be frozen")
    func wrongNames() async {
        let name = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try Company.stack(.inMemory).newContext().employee("e")["nmae"]
        }
        #expect(Self.text(name).contains("Employee has no property “nmae”. Use value(forKey:) for names that may be wrong."))
        let value = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Company.stack(.inMemory).newContext()
            context.employee("e")["salary"] = "much"
            context.reset()
        }
        #expect(Self.text(value).contains("9008"))
        let snapshot = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try Company.stack(.inMemory).newContext().employee("e").snapshot(including: \.name)
        }
        #expect(Self.text(snapshot).contains("Employee has no relationship “name” that a snapshot could include."))
    }
}
#endif

/// Saves inside `willSave`.
final class Saver: ManagedObject {
    override func willSave() { try? managedObjectContext?.save() }
}

/// Generic code that creates objects of any class, and calls on closed containers.
@Suite struct OutcomeTests {
    private func make<Object: ManagedObject>(_ type: Object.Type, in context: ManagedObjectContext) throws -> Object {
        try context.insert(type)
    }

    @Test("MOC-9: generic code gets an error for a class without an entity, an abstract one, and no store", arguments: StoreKind.allCases)
    func genericInsertion(kind: StoreKind) throws {
        let context = try Company.stack(kind).newContext()
        #expect(try make(Employee.self, in: context).isInserted)
        #expect(hornbeamError { _ = try make(Unbound.self, in: context) }?.code == .unboundClass)
        #expect(hornbeamError { _ = try make(ManagedObject.self, in: context) }?.code == .unboundClass)
        let model = try ManagedObjectModel { Entity("PEntity", abstract: true) { PEntity.name; PEntity.counter; PEntity.score } }
        let abstract = try Stack(kind, model, [PEntity.self]).newContext()
        #expect(hornbeamError { _ = try make(PEntity.self, in: abstract) }?.code == .unknownEntity)
        let closed = try PersistentContainer(name: "x", model: Company.model(), classes: Company.classes).newContext()
        #expect(hornbeamError { _ = try make(Employee.self, in: closed) }?.code == .closed)
        #expect(hornbeamError { try closed.insert(entityNamed: "Employee") }?.code == .closed)
    }

    @Test("MOC-22, CON-3: after close objects can be read, calls that reach the store throw, and nothing ends the process",
          arguments: Setting.saved)
    func closedContainers(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let (employee, department) = (context.employee("e", salary: 3), context.department("d"))
        employee.department = department
        try setting.prepare(context)
        let ids = (employee.objectID, department.objectID)
        let fresh = setting.context(of: stack)
        let fault = fresh.object(with: ids.0)
        try stack.container.close()
        for object in [employee, fault] {
            _ = (object.description, object.changedValues, object.committedValues(), object.isFault)
            let read = try #require(object as? Employee)
            _ = (read.name, read.salary, read.department?.name, read.projects.count, Array(read.friends), read.spouse)
            _ = try? read.fire()
            _ = read.snapshot(depth: 1)
        }
        employee.name = "changed"
        employee.department = nil
        for context in [context, fresh] {
            context.acknowledgeReadFailures()
            context.parent?.acknowledgeReadFailures()
            #expect(hornbeamError { _ = try context.fetch(FetchRequest<Employee>()) }?.code == .closed)
            #expect(hornbeamError { _ = try context.count(FetchRequest<Employee>()) }?.code == .closed)
            #expect(hornbeamError { try context.mergeChanges() }?.code == .closed)
            #expect(hornbeamError { try context.refreshAllObjects() }?.code == .closed)
            #expect(hornbeamError { _ = try context.execute(BatchDeleteRequest(entityName: "Employee")) }?.code == .closed)
            #expect(context.object(with: ids.1).objectID.entityName == "Department")
            context.rollback()
            context.reset()
        }
        #expect(employee.name == "" && fault.managedObjectContext == nil)
    }

    @Test(
        "CON-3: changes of a container that was closed are saved when it is loaded again", .refusedByServer(.sharedDescriptions), arguments: StoreKind.allCases)
    func closedAndLoadedAgain(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        context.employee("before")
        try context.save()
        let keeper = try PersistentContainer(name: "Keeper", model: stack.model, classes: Company.classes)
        keeper.persistentStoreDescriptions = [stack.description]
        try keeper.loadPersistentStores()
        try stack.container.close()
        #expect(hornbeamError { _ = try context.fetch(FetchRequest<Employee>()) }?.code == .closed)
        try stack.container.loadPersistentStores()
        context.employee("after")
        try context.save()
        #expect(try context.fetch(FetchRequest<Employee>().sorted(by: "name")).map(\.name) == ["after", "before"])
        try keeper.close()
    }

    @Test("PSC-10: the URL of a store in memory names no file")
    func urlsOfStoresInMemory() throws {
        for name in ["plain", "with space/and slash", "ü%20?#"] {
            let description = PersistentStoreDescription.inMemory(named: name)
            #expect(!description.url.isFileURL && description.url.scheme == "x-hornbeam-memory")
            let containers = try (0..<2).map { _ in try PersistentContainer(name: "x", model: Parity.model(), classes: Parity.classes) }
            for container in containers {
                container.persistentStoreDescriptions = [.inMemory(named: name)]
                try container.loadPersistentStores()
            }
            let context = containers[0].newContext()
            _ = PEntity(context: context)
            try context.save()
            #expect(try containers[1].newContext().count(FetchRequest<PEntity>()) == 1)
            let coordinator = containers[1].persistentStoreCoordinator
            #expect(coordinator.persistentStore(for: description.url) == coordinator.persistentStores[0])
            #expect(coordinator.persistentStore(for: URL(filePath: "/" + name)) == nil)
        }
        #expect(PersistentStoreDescription.inMemory(named: "a/x").url != PersistentStoreDescription.inMemory(named: "b/x").url)
    }
}
