import Foundation
import Hornbeam
import Testing

/// Detached objects, and every call with one.
///
/// Found by setting an attribute of an object whose deletion was saved: the context counted as changed, each later save threw 133020,
/// and fetches returned the object.
@Suite struct DetachedObjectTests {
    /// The ways in which an object is detached.
    enum Departure: CaseIterable {
        case deletionSaved, deletedUnsaved, insertionRolledBack, contextReset, neverHere
    }

    /// A detached object, and objects that are not detached.
    struct Scene {
        let stack: Stack
        let context: ManagedObjectContext
        let detached: Employee
        let living: Employee
        let department: Department
        let project: Project

        init(_ setting: Setting, _ departure: Departure) throws {
            stack = try Company.stack(setting.kind)
            context = setting.context(of: stack)
            detached = try Self.detached(departure, stack, context)
            living = context.employee("living")
            department = context.department("department")
            project = context.project("project")
            try setting.prepare(context)
        }

        private static func detached(
            _ departure: Departure, _ stack: Stack, _ context: ManagedObjectContext
        ) throws -> Employee {
            let object = context.employee("dead", salary: 3)
            switch departure {
            case .deletionSaved:
                try context.saveToStore()
                context.delete(object)
                try context.saveToStore()
            case .deletedUnsaved: context.delete(object)
            case .insertionRolledBack: context.rollback()
            case .contextReset:
                try context.saveToStore()
                context.reset()
            case .neverHere:
                let id = stack.newContext().employee("elsewhere").objectID
                context.delete(object)
                return try #require(context.object(with: id) as? Employee)
            }
            return object
        }
    }

    @Test("MOC-24, OBJ-19: writing to an object that left its context changes nothing and prevents no save",
          arguments: Setting.all, Departure.allCases)
    func writesAreIgnored(setting: Setting, departure: Departure) throws {
        let scene = try Scene(setting, departure)
        let (context, detached) = (scene.context, scene.detached)
        let before = (detached.name, detached.salary)
        #expect(detached.managedObjectContext == nil)
        detached.name = "x"
        detached.salary = 9
        detached.setPrimitiveValue("y", Employee.name)
        detached.department = scene.department
        detached.projects.insert(scene.project)
        detached.projects = [scene.project]
        detached.spouse = scene.living
        #expect((detached.name, detached.salary) == before && !detached.hasChanges && !detached.isUpdated)
        #expect(scene.department.employees.isEmpty && scene.project.employees.isEmpty && scene.living.spouse == nil)
        #expect(hornbeamError { try detached.setValue("z", forKey: "name") }?.code == .objectNotFound)
        scene.living.name = "changed"
        try context.saveToStore()
        #expect(!context.hasChanges)
        #expect(!(try context.fetch(FetchRequest<Employee>()).contains(detached)))
        #expect(try scene.stack.newContext().count(FetchRequest<Employee>().where("name == 'changed'")) == 1)
    }

    @Test("REL-3: an object that left the context never becomes a member of a relationship", arguments: Setting.all, Departure.allCases)
    func relationshipsTakeNoDetachedObject(setting: Setting, departure: Departure) throws {
        let scene = try Scene(setting, departure)
        let (detached, living, department) = (scene.detached, scene.living, scene.department)
        department.employees.insert(living)
        department.employees.insert(detached)
        #expect(Array(department.employees) == [living])
        department.employees = [detached, living]
        #expect(Array(department.employees) == [living])
        department.employees.remove(detached)
        living.spouse = detached
        living.friends.formUnion([detached])
        #expect(living.spouse == nil && living.friends.isEmpty)
        #expect(hornbeamError { try living.setValue(detached, forKey: "spouse") }?.code == .objectNotFound)
        let step = Step(context: scene.context)
        step.name = "step"
        scene.context.delete(step)
        scene.project.tasks.append(step)
        scene.project.tasks.insert(step, at: 0)
        scene.project.tasks = [step]
        #expect(scene.project.tasks.isEmpty)
        try scene.context.saveToStore()
        #expect(try scene.stack.newContext().fetch(FetchRequest<Department>().where("name == 'department'"))[0].employees.count == 1)
    }

    @Test("MOC-10, DEL-1: deleting, inserting, refreshing and watching an object that left the context does nothing",
          arguments: Setting.all, Departure.allCases)
    func contextCallsAreIgnored(setting: Setting, departure: Departure) throws {
        let scene = try Scene(setting, departure)
        let (context, detached) = (scene.context, scene.detached)
        let changed = context.hasChanges
        context.delete(detached)
        context.delete([detached, detached])
        context.insert(detached)
        context.detectConflicts(for: detached)
        try context.refresh(detached, mergeChanges: true)
        try context.refresh(detached, mergeChanges: false)
        try context.obtainPermanentIDs(for: [detached])
        #expect(context.hasChanges == changed && !detached.hasChanges && !detached.isInserted)
        #expect(hornbeamError { try detached.fire() }?.code == .objectNotFound)
        let store = scene.stack.container.persistentStoreCoordinator.persistentStores[0]
        #expect(hornbeamError { try context.assign(detached, to: store) }?.code == .unsupportedRequest)
        scene.living.name = "changed"
        try context.saveToStore()
        #expect(try scene.stack.newContext().count(FetchRequest<Employee>().where("name == 'changed'")) == 1)
    }

    @Test("OBJ-19, MOC-22: reading an object that left its context never ends the process", arguments: Setting.all, Departure.allCases)
    func readingIsTotal(setting: Setting, departure: Departure) throws {
        let scene = try Scene(setting, departure)
        let detached = scene.detached
        #expect(["dead", ""].contains(detached.name) && [0, 3].contains(detached.salary))
        #expect(detached.department == nil && detached.projects.isEmpty && Array(detached.friends).isEmpty && detached.spouse == nil)
        #expect(!detached.description.isEmpty && !detached.objectID.description.isEmpty)
        _ = (detached.changedValues, detached.committedValues(), detached.changedValuesForCurrentEvent, detached.hasPersistentChangedValues, detached.isFault)
        _ = (detached.primitiveValue(Employee.name), detached.withUTF8(of: Employee.name) { $0.count }, detached.snapshot(depth: 1))
        _ = try? (detached.value(forKey: "name"), detached.value(forKeyPath: "department.name"), detached.object(forKey: "department"))
        _ = try? detached.objectIDs(forRelationshipNamed: "projects")
        _ = try? detached.validateForUpdate()
        _ = try? detached.validateForDelete()
        _ = try FetchPredicate(format: "salary >= 0").evaluate(with: detached)
    }

    @Test("OBJ-5: setting a value in didSave on an object that the save deletes leaves no change", arguments: StoreKind.allCases)
    func didSaveOfADeletedObject(kind: StoreKind) throws {
        let context = try Stack(kind, ManagedObjectModel { Entity("Eager") { Eager.name } }, [Eager.self]).newContext()
        let object = Eager(context: context)
        try context.save()
        context.delete(object)
        try context.save()
        #expect(!context.hasChanges && object.managedObjectContext == nil)
        Eager(context: context).name = "next"
        try context.save()
        #expect(try context.count(FetchRequest<Eager>()) == 1)
    }

    @Test("MRG-8: an object that a unique conflict merged into another object accepts no more changes", arguments: StoreKind.allCases)
    func objectsFoldedIntoOthers(kind: StoreKind) throws {
        let model = try ManagedObjectModel { Entity("Eager") { Attribute<String?>("name", unique: true) } }
        let context = try Stack(kind, model, [Eager.self]).newContext()
        context.mergePolicy = .mergeByPropertyObjectTrump
        let pair = [Eager(context: context), Eager(context: context)]
        for object in pair { object.name = "same" }
        try context.save()
        let folded = try #require(pair.first { $0.managedObjectContext == nil })
        folded.name = "x"
        try context.save()
        #expect(try context.fetch(FetchRequest<Eager>()).map(\.name) == ["saved"])
    }
}

/// Sets its name in `didSave`.
final class Eager: ManagedObject {
    static let name = Attribute<String?>("name")
    override class var tokens: [any PropertyToken] { [name] }
    var name: String? { get { self[Self.name] } set { self[Self.name] = newValue } }
    override func didSave() { if name != "saved" { name = "saved" } }
}
