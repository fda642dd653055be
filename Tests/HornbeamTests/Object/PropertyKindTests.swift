import Foundation
import Hornbeam
import Testing

private final class Draft: ManagedObject {
    static let name = Attribute<String?>("name")
    static let mood = Attribute<String?>("mood", transient: true, maximumLength: 5)
    static let pinned = ToOne<Draft>("pinned")
    static let sides = ToMany<Draft>("sides")
    var name: String? { get { self[Self.name] } set { self[Self.name] = newValue } }
    var mood: String? { get { self[Self.mood] } set { self[Self.mood] = newValue } }
    var pinned: Draft? { get { self[Self.pinned] } set { self[Self.pinned] = newValue } }
    var sides: ManagedSet<Draft> { get { self[Self.sides] } set { self[Self.sides] = newValue } }
}

private func drafts(_ kind: StoreKind) throws -> Stack {
    var pinned = RelationshipDescription("pinned", to: "Draft")
    pinned.isTransient = true
    var sides = RelationshipDescription("sides", to: "Draft", toMany: true)
    sides.isTransient = true
    let entity = Entity("Draft", attributes: [
            AttributeDescription("name", .string, optional: true),
            AttributeDescription("mood", .string, optional: true, transient: true, maximumLength: 5),
        ], relationships: [pinned, sides])
    return try Stack(kind, ManagedObjectModel(entities: [entity]), [Draft.self])
}

/// The behaviour of each kind of property in objects, row by row.
@Suite struct PropertyKindTests {
    @Test("ATT-10: a transient attribute is tracked, undone and validated, and never stored", arguments: StoreKind.allCases)
    func transientAttribute(kind: StoreKind) throws {
        let stack = try drafts(kind)
        let context = stack.newContext()
        context.undoStack = UndoStack()
        let draft = Draft(context: context)
        draft.name = "a"
        try context.save()
        draft.mood = "glad"
        #expect(draft.hasChanges && draft.changedValues.isEmpty && !draft.hasPersistentChangedValues)
        context.processPendingChanges()
        context.undo()
        #expect(draft.mood == nil)
        context.redo()
        #expect(draft.mood == "glad")
        draft.mood = "ecstatic"
        #expect(hornbeamError { try context.save() }?.code == .stringTooLong)
        draft.mood = "glad"
        draft.name = "b"
        try context.save()
        #expect(draft.mood == "glad", "it stays with the object")
        #expect(try stack.newContext().existingObject(Draft.self, with: draft.objectID).mood == nil, "and is in no store")
        let request = try FetchRequest<Draft>(entityName: "Draft").where("mood == 'glad'")
        #expect(hornbeamError { _ = try context.fetch(request) }?.message.contains("is transient, so no store contains its values") == true)
        #expect(throws: HornbeamError.self) { try context.fetch(FetchRequest<Draft>(entityName: "Draft").sorted(by: "mood")) }
        #expect(try FetchPredicate(format: "mood == 'glad'").evaluate(with: draft), "in memory it is asked as any other")
    }

    @Test("ATT-10, MOC-6: a child shows its parent's transient values, whether the parent has changes or not (nested.010)",
          arguments: StoreKind.allCases, [false, true])
    func transientInAChild(kind: StoreKind, isRead: Bool) throws {
        let context = try drafts(kind).newContext()
        let draft = Draft(context: context)
        draft.name = "a"
        draft.mood = "glad"
        let child = context.newChildContext()
        func mood() throws -> String? {
            _ = try child.count(FetchRequest<Draft>())
            return try child.existingObject(Draft.self, with: draft.objectID).mood
        }
        if isRead { #expect(try mood() == "glad") }
        try context.save()
        let held = try child.existingObject(Draft.self, with: draft.objectID)
        #expect(try mood() == "glad" && !context.hasChanges)
        draft.name = "b"
        #expect(try mood() == "glad" && held.name == "b")
        try context.save()
        draft.setPrimitiveValue("sad", Draft.mood)
        #expect(try mood() == "sad")
        try context.refresh(draft, mergeChanges: false)
        #expect(try mood() == nil)
    }

    @Test("ATT-10: refreshing with changes keeps transient values, without them drops them; a child hands them up", arguments: Setting.contexts)
    func transientOverRefresh(setting: Setting) throws {
        let context = setting.context(of: try drafts(setting.kind))
        let draft = Draft(context: context)
        draft.name = "a"
        try context.save()
        draft.name = "b"
        draft.mood = "glad"
        try context.refresh(draft, mergeChanges: true)
        #expect(draft.mood == "glad" && draft.name == "b")
        try context.refresh(draft, mergeChanges: false)
        #expect(draft.mood == nil && draft.name == "a")
        let child = context.newChildContext()
        let same = try child.existingObject(Draft.self, with: draft.objectID)
        same.mood = "calm"
        same.name = "c"
        try child.save()
        #expect(draft.mood == "calm")
    }

    @Test("REL-7: transient relationships lead somewhere as long as the object is here, and are not stored", arguments: StoreKind.allCases)
    func transientRelationships(kind: StoreKind) throws {
        let stack = try drafts(kind)
        let context = stack.newContext()
        let (a, b) = (Draft(context: context), Draft(context: context))
        (a.name, b.name) = ("a", "b")
        a.pinned = b
        a.sides = [b]
        #expect(a.pinned === b && Array(a.sides) == [b])
        try context.save()
        let other = try stack.newContext().existingObject(Draft.self, with: a.objectID)
        #expect(other.pinned == nil && other.sides.isEmpty)
    }

    @Test("REL-8: an object of another store cannot be the destination, by object or by ID", arguments: StoreKind.allCases)
    func otherStoresAreOutOfReach(kind: StoreKind) async throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let other = try Company.stack(kind).newContext()
        let elsewhere = other.department("elsewhere")
        try other.save()
        let ada = context.employee("ada")
        #expect(hornbeamError { try ada.setValue(.objectID(elsewhere.objectID), forKey: "department") }?.code == .objectNotFound)
        #expect(ada.department == nil)
        try context.save()
    }

    @Test("REL-11: related objects come by themselves when they are touched, over any number of steps", arguments: StoreKind.allCases)
    func dependantsArrive(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let ada = context.employee("ada")
        ada.department = context.department("engines")
        let project = context.project("p")
        project.employees = [ada]
        try context.save()
        let fresh = stack.newContext()
        let found = try #require(try fresh.fetch(FetchRequest<Project>(entityName: "Project")).first)
        #expect(fresh.registeredObjects.count == 1)
        let employee = try #require(found.employees.first)
        #expect(employee.isFault)
        #expect(employee.department?.name == "engines" && !employee.isFault)
        #expect(found.employees.contains(employee) && employee.department?.employees.count == 1)
    }

    @Test("REL-12: members of an ordered relationship are inserted, replaced and removed by place", arguments: StoreKind.allCases)
    func orderedMembersByPlace(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let project = context.project("p")
        let steps = (0..<5).map { number in
            let step = Step(context: context)
            step.name = "\(number)"
            return step
        }
        project.tasks.append(contentsOf: steps.prefix(3))
        project.tasks.insert(steps[3], at: 1)
        #expect(project.tasks.map(\.name) == ["0", "3", "1", "2"])
        project.tasks.replace(at: 0, with: steps[4])
        #expect(project.tasks.map(\.name) == ["4", "3", "1", "2"] && steps[0].project == nil && steps[4].project === project)
        project.tasks.replace(at: 0, with: steps[2])
        #expect(project.tasks.map(\.name) == ["2", "3", "1"] && steps[4].project == nil)
        project.tasks.remove(at: 1)
        #expect(project.tasks.map(\.name) == ["2", "1"] && steps[3].project == nil)
        try project.changeObjects(forKey: "tasks") { $0.insert(steps[0], at: 0) }
        try context.save()
        let same = try stack.newContext().existingObject(Project.self, with: project.objectID)
        #expect(same.tasks.map(\.name) == ["0", "2", "1"])
    }

    @Test("REL-12: members of a set come and go one by one and together, by token and by name", arguments: Setting.contexts)
    func membersOfASet(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let people = ["a", "b", "c"].map { context.employee($0) }
        let department = context.department("d")
        department.employees.formUnion(people)
        department.employees.insert(people[0])
        #expect(department.employees.count == 3)
        department.employees.subtract(people.prefix(2))
        #expect(Array(department.employees) == [people[2]] && people[0].department == nil)
        try department.changeObjects(forKey: "employees") { $0.append(people[1]) }
        #expect(people[1].department === department)
        department.employees.removeAll()
        #expect(people.allSatisfy { $0.department == nil })
    }

    @Test("MOD-3: an abstract entity is fetched as its concrete subentities, and has no objects of its own", arguments: StoreKind.allCases)
    func abstractEntities(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("Item", abstract: true) { Attribute<String>("title", unique: true) }
            Entity("Book", parent: "Item") { Attribute<Int?>("pages") }
            Entity("Film", parent: "Item")
            Entity("Shelf") { ToMany("items", to: "Item") }
        }
        let stack = try Stack(kind, model)
        let context = stack.newContext()
        let shelf = try context.insert(entityNamed: "Shelf")
        for (entity, title) in [("Book", "b"), ("Film", "a"), ("Book", "c")] {
            let item = try context.insert(entityNamed: entity)
            try item.setValue(.string(title), forKey: "title")
            try shelf.changeObjects(forKey: "items") { $0.append(item) }
        }
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item").sorted(by: "title"))
            #expect(found.map(\.entity.name) == ["Film", "Book", "Book"])
            var own = FetchRequest<ManagedObject>(entityName: "Item")
            own.includesSubentities = false
            #expect(try context.count(own) == 0)
        }
        #expect(try shelf.objects(forKey: "items").count == 3)
        #expect(hornbeamError { _ = try context.insert(entityNamed: "Item") }?.message.contains("Item") == true)
        let twin = try context.insert(entityNamed: "Film")
        try twin.setValue(.string("b"), forKey: "title")
        #expect(throws: HornbeamError.self) { try context.save() }
    }

    @Test("PSC-12: a URI of an abstract entity names no object", arguments: StoreKind.own)
    func uriOfAnAbstractEntity(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("Item", abstract: true)
            Entity("Book", parent: "Item") { Attribute<String?>("title") }
            Entity("Shelf") { ToOne("first", to: "Item") }
        }
        let context = try Stack(kind, model).newContext()
        let book = try context.insert(entityNamed: "Book")
        let shelf = try context.insert(entityNamed: "Shelf")
        try context.save()
        let uri = try #require(URL(string: book.objectID.uriRepresentation().absoluteString.replacing("/Book/", with: "/Item/")))
        #expect(context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri) == nil)
        let id = try #require(ManagedObjectID(uriRepresentation: uri))
        #expect(hornbeamError { _ = try context.existingObject(with: id) }?.code == .objectNotFound)
        #expect(hornbeamError { try shelf.setValue(.objectID(id), forKey: "first") }?.code == .objectNotFound)
        #expect(throws: HornbeamError.self) { try context.execute(BatchInsertRequest(entityName: "Shelf", objects: [["first": .objectID(id)]])) }
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Item").where("SELF == %@", id)) == 0)
    }
}
