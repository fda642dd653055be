import Foundation
import Hornbeam
import Testing

@Suite struct DeleteTests {
    @Test("MOC-10, DEL-1: an object that was never saved vanishes (delete.017)", arguments: StoreKind.allCases)
    func unsavedObjectVanishes(kind: StoreKind) throws {
        let context = try Parity.stack(kind).newContext()
        let object = PEntity(context: context)
        context.processPendingChanges()
        context.delete(object)
        #expect(context.insertedObjects.isEmpty && context.deletedObjects.isEmpty && !context.hasChanges)
        #expect(!object.isInserted && !object.isDeleted && object.managedObjectContext == nil)
        try context.save()
        #expect(try context.count(FetchRequest<PEntity>()) == 0 && !context.hasChanges)
    }

    @Test("DEL-2: nullify removes the reference at the other end, for every kind of relationship", arguments: Setting.all)
    func nullifyLetsGo(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let d = context.department("d")
        let (e, f) = (context.employee("e"), context.employee("f"))
        let (p, q) = (context.project("p"), context.project("q"))
        d.employees = [e, f]
        e.projects = [p, q]
        e.spouse = f
        try context.saveToStore()
        // The object is deleted, and members that another context added to the same relationships stay.
        context.setMergePolicies(.mergeByPropertyObjectTrump)
        try setting.contest(stack) { others in
            let theirs = try others.existingObject(Employee.self, with: e.objectID)
            theirs.salary = 9
            try others.existingObject(Department.self, with: d.objectID).budget = 3
            theirs.friends.insert(try others.existingObject(Employee.self, with: f.objectID))
        }
        context.delete(e)
        #expect(e.isDeleted && context.deletedObjects == [e])
        #expect(Array(d.employees) == [f] && p.employees.isEmpty && q.employees.isEmpty && f.spouse == nil)
        try context.saveToStore()
        let other = stack.newContext()
        #expect(try other.existingObject(Department.self, with: d.objectID).employees.count == 1)
        #expect(try other.existingObject(Project.self, with: p.objectID).employees.count == 0)
        #expect(try other.existingObject(Employee.self, with: f.objectID).spouse == nil)
        #expect(hornbeamError { _ = try other.existingObject(with: e.objectID) }?.code == .objectNotFound)
    }

    @Test("DEL-3: cascade deletes the related objects, in a fixed order (delete.006, 009)", arguments: Setting.all)
    func cascadeDeletesTheOthers(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind, employees: .cascade, projects: .cascade))
        let d = context.department("d")
        let (e, f) = (context.employee("e"), context.employee("f"))
        let (p, q) = (context.project("p"), context.project("q"))
        d.employees = [e, f]
        e.projects = [p, q]
        try setting.prepare(context)
        context.delete(d)
        #expect([d, e, f, p, q].allSatisfy { $0.isDeleted || $0.managedObjectContext == nil })
        try context.saveToStore()
        for name in ["Department", "Employee", "Project"] {
            let left = try context.fetch(FetchRequest<ManagedObject>(entityName: name)).filter { $0["name"] != "unrelated" }
            #expect(left.isEmpty)
        }
    }

    @Test("DEL-3: a cascade over a long chain and over a cycle ends (delete.021)", arguments: StoreKind.allCases)
    func cascadeOverChainAndCycleEnds(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("Node") {
                ToOne("next", to: "Node", inverse: "previous", deleteRule: .cascade)
                ToOne("previous", to: "Node", inverse: "next", deleteRule: .cascade)
            }
        }
        let context = try Stack(kind, model).newContext()
        let nodes = try (0..<2000).map { _ in try context.insert(entityNamed: "Node") }
        for (a, b) in zip(nodes, nodes.dropFirst()) { try a.setValue(b, forKey: "next") }
        try nodes.last!.setValue(nodes.first, forKey: "next")
        try context.save()
        context.delete(nodes[7])
        #expect(context.deletedObjects.count == 2000)
        try context.save()
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Node")) == 0)
    }

    @Test("DEL-4: deny fails the save with 1600, unless the related objects are deleted too (delete.004, 013)", arguments: Setting.all)
    func denyFailsTheSave(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let parent = try context.insert(entityNamed: "PParent")
        let child = try context.insert(entityNamed: "PChild")
        try child.setValue(parent, forKey: "parent")
        #expect(hornbeamError { try parent.validateForDelete() }?.code == .deleteDenied)
        try context.saveToStore()
        context.delete(parent)
        let error = hornbeamError { try context.saveToStore() }
        #expect(error?.code == .deleteDenied && error?.code.rawValue == 1600)
        #expect(error?.entity == "PParent" && error?.key == "children" && error?.objectIDs == [parent.objectID])
        context.delete(child)
        try context.saveToStore()
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "PParent")) == 0)
    }

    @Test("DEL-5: no action leaves the other side alone (delete.024)", arguments: Setting.all)
    func noActionLeavesTheOtherSide(setting: Setting) throws {
        let model = try ManagedObjectModel {
            Entity("A") { ToOne("b", to: "B", inverse: "a") }
            Entity("B") { ToOne("a", to: "A", inverse: "b", deleteRule: .noAction) }
        }
        let stack = try Stack(setting.kind, model)
        let context = setting.context(of: stack)
        let (a, b) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "B"))
        try a.setValue(b, forKey: "b")
        try context.saveToStore()
        context.delete(b)
        #expect(!context.updatedObjects.contains(a))
        try context.saveToStore()
        let same = try stack.newContext().existingObject(with: a.objectID)
        #expect(try same.value(forKey: "b") == .objectID(b.objectID))
        let dangling = try #require(try same.object(forKey: "b"))
        #expect(hornbeamError { try dangling.fire() }?.code == .objectNotFound)
    }

    @Test("DEL-7: insert cancels a deletion before the save", arguments: Setting.all)
    func insertTakesADeletionBack(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        object.name = "kept"
        try context.saveToStore()
        context.delete(object)
        context.insert(object)
        #expect(!object.isDeleted && !context.hasChanges)
        try context.saveToStore()
        #expect(try context.fetch(FetchRequest<PEntity>()).map(\.name) == ["kept"])
    }

    @Test("OBJ-13, C-3: a deleted object stays readable with its last known values, without a context", arguments: Setting.all)
    func deletedObjectStaysReadable(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let (d, e) = (context.department("d"), context.employee("e", salary: 7))
        e.department = d
        try context.saveToStore()
        context.delete(e)
        #expect(e.isDeleted && e.name == "e")
        try context.saveToStore()
        #expect(!e.isDeleted && e.managedObjectContext == nil && e.name == "e" && e.salary == 7)
        #expect(d.employees.isEmpty && context.registeredObjects == [d])
    }

    @Test("delete.020: deleting the child, then the owner", arguments: Setting.all)
    func childThenOwner(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind, employees: .cascade))
        let (d, e) = (context.department("d"), context.employee("e"))
        e.department = d
        try setting.prepare(context)
        context.delete(e)
        #expect(!d.isDeleted && d.employees.isEmpty)
        context.delete(d)
        try context.saveToStore()
        #expect(try context.count(FetchRequest<Employee>()) == 0)
        #expect(try context.count(FetchRequest<Department>().where("name != 'unrelated'")) == 0)
    }
}
