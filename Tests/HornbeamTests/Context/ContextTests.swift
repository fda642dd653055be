import Foundation
import Hornbeam
import Testing

@Suite struct ContextTests {
    @Test("MOC-13, MOC-14, MOC-15: three ways from an ID to an object", arguments: StoreKind.allCases)
    func fromIDToObject(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let context = stack.newContext()
        let object = PEntity(context: context)
        object.name = "a"
        try context.save()
        let other = stack.newContext()
        #expect(other.registeredObject(for: object.objectID) == nil)
        let fault = other.object(with: object.objectID)
        #expect(fault.isFault && other.registeredObject(for: object.objectID) === fault)
        #expect(try other.existingObject(with: object.objectID) === fault && !fault.isFault)
        context.delete(object)
        try context.save()
        let late = stack.newContext()
        let missing = late.object(with: object.objectID)
        #expect(hornbeamError { _ = try late.existingObject(with: object.objectID) }?.code.rawValue == 133_000)
        #expect(try #require(missing as? PEntity).counter == 0 && missing.isDeleted)
    }

    @Test("MOC-16: unreferenced objects are released (context.016)", arguments: Setting.contexts)
    func unusedObjectsAreReleased(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        _ = PEntity(context: context)
        try context.save()
        #expect(context.registeredObjects.isEmpty)
        _ = PEntity(context: context)
        #expect(context.registeredObjects.count == 1)
        try context.save()
        #expect(context.registeredObjects.isEmpty)
        context.retainsRegisteredObjects = true
        #expect(try context.fetch(FetchRequest<PEntity>()).count == 2)
        #expect(context.registeredObjects.count == 2)
    }

    @Test("MOC-20: refreshing all makes faults of unchanged objects only (fault.006)", arguments: Setting.contexts)
    func refreshAllObjects(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let (a, b) = (PEntity(context: context), PEntity(context: context))
        try context.save()
        _ = (a.name, b.name)
        a.name = "updated"
        try context.refreshAllObjects()
        #expect(!a.isFault && b.isFault && a.name == "updated")
    }

    @Test("MOC-22: after a reset objects are faults without a context (fault.009)", arguments: Setting.contexts)
    func resetForgetsAll(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        try context.save()
        _ = PEntity(context: context)
        context.reset()
        #expect(object.isFault && object.managedObjectContext == nil && !context.hasChanges)
        #expect(try context.fetch(FetchRequest<PEntity>()).count == 1)
        #expect(try context.fetch(FetchRequest<PEntity>())[0] !== object)
    }

    @Test("MOC-21: rollback restores values, relationships and deletions, and drops new objects", arguments: Setting.contexts)
    func rollbackRestores(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let (d, e, f) = (context.department("d"), context.employee("e"), context.employee("f"))
        e.department = d
        try context.save()
        e.name = "changed"
        f.department = d
        context.delete(d)
        let new = context.employee("new")
        context.rollback()
        #expect(!context.hasChanges && e.name == "e" && e.department === d && f.department == nil && !d.isDeleted)
        #expect(Array(d.employees) == [e])
        #expect(new.managedObjectContext == nil && !new.isInserted)
        #expect(try context.count(FetchRequest<Employee>()) == 2)
    }

    @Test("SAV-1, SAV-14, context.019: a save without changes writes and announces nothing", arguments: Setting.contexts)
    func emptySaveIsNothing(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let posts = Posts(context, [ManagedObjectContext.didSaveObjectIDsNotification])
        _ = PEntity(context: context)
        context.rollback()
        try context.save()
        #expect(posts.names.isEmpty)
    }

    @Test("an object outlives its context: it can be read", arguments: StoreKind.allCases)
    func objectsOutliveTheirContext(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let writer = stack.newContext()
        let employee = writer.employee("e", salary: 3)
        employee.department = writer.department("d")
        try writer.save()
        func read() throws -> Employee {
            let context = stack.newContext()
            return try context.existingObject(Employee.self, with: employee.objectID)
        }
        let orphan = try read()
        #expect(orphan.managedObjectContext == nil)
        #expect(orphan.name == "e" && orphan.department?.name == "d" && orphan.department?.employees.count == 1)
    }

    #if !os(iOS)
    @Test("changing an object after its context was released ends the process with a message")
    func changingAnOrphanTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let container = try PersistentContainer.inMemory(model: Parity.model(), classes: Parity.classes)
            func make() throws -> PEntity {
                let context = container.newContext()
                let object = PEntity(context: context)
                try context.save()
                return object
            }
            try make().name = "x"
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("was changed after its context was released"))
    }

    @Test("MOD-3: making an object of an abstract entity ends with a sentence; by name it is an error")
    func abstractEntityTraps() async throws {
        let model = try ManagedObjectModel { Entity("PEntity", abstract: true) { PEntity.name; PEntity.counter; PEntity.score } }
        let context = try PersistentContainer.inMemory(model: model, classes: [PEntity.self]).newContext()
        #expect(hornbeamError { try context.insert(entityNamed: "PEntity") }?.code == .unknownEntity)
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let model = try ManagedObjectModel { Entity("PEntity", abstract: true) { PEntity.name; PEntity.counter; PEntity.score } }
            let container = try PersistentContainer.inMemory(model: model, classes: [PEntity.self])
            _ = PEntity(context: container.newContext())
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("PEntity is abstract"))
    }
    #endif
}

/// The posted notifications of one context.
final class Posts {
    // @unchecked: observers run on the posting thread, which in these tests is the test's own.
    private final class Log: @unchecked Sendable {
        var names: [Notification.Name] = []
        var changes: [ObjectChanges?] = []
    }
    private let log = Log()
    private let tokens: [any NSObjectProtocol]

    /// - Parameter names: The names to observe; nil for all.
    init(_ context: ManagedObjectContext, _ names: [Notification.Name?] = [nil]) {
        let log = log
        tokens = names.map { name in
            NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { notification in
                log.names.append(notification.name)
                log.changes.append(notification.objectChanges)
            }
        }
    }

    deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }

    var names: [Notification.Name] { log.names }
    var changes: [ObjectChanges?] { log.changes }
}
