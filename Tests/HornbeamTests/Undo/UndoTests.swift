import Hornbeam
import Testing

@Suite struct UndoTests {
    private func context(_ kind: StoreKind) throws -> (Stack, ManagedObjectContext) { try context(Setting(kind: kind)) }

    private func context(_ setting: Setting) throws -> (Stack, ManagedObjectContext) {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        context.undoStack = UndoStack()
        return (stack, context)
    }

    @Test("MOC-29, UND-1, UND-5: without a stack no steps are recorded, and undo does nothing", arguments: StoreKind.allCases)
    func noStackNoUndo(kind: StoreKind) throws {
        let context = try Company.stack(kind).newContext()
        #expect(context.undoStack == nil)
        let ada = context.employee("ada")
        context.undo()
        context.redo()
        #expect(ada.name == "ada")
    }

    @Test("UND-1, UND-2: changes of one event are one step; undo reverts it, redo repeats it", arguments: Setting.saved)
    func eventsAreSteps(setting: Setting) throws {
        let (_, context) = try context(setting)
        let stack = try #require(context.undoStack)
        let ada = context.employee("ada", salary: 1)
        context.processPendingChanges()
        for salary in 2...5 { ada.salary = salary }
        ada.name = "Ada"
        #expect(stack.undoCount == 2)
        context.undo()
        #expect(ada.salary == 1 && ada.name == "ada" && stack.undoCount == 1 && stack.redoCount == 1)
        context.undo()
        #expect(ada.managedObjectContext == nil && !context.hasChanges && context.insertedObjects.isEmpty)
        context.redo()
        context.redo()
        #expect(ada.salary == 5 && ada.name == "Ada" && ada.isInserted && context.registeredObject(for: ada.objectID) === ada)
        try context.saveToStore()
        #expect(try context.count(FetchRequest<Employee>()) == 1)
    }

    @Test("UND-2: awakeFromInsert runs once, awake(fromSnapshotEvents:) is called after an undo (OBJ-1, OBJ-3)", arguments: StoreKind.allCases)
    func hooks(kind: StoreKind) throws {
        final class Watched: ManagedObject {
            static let name = Attribute<String?>("name")
            var calls: [String] = []
            override func awakeFromInsert() { calls.append("insert") }
            override func awake(fromSnapshotEvents events: SnapshotEvents) { calls.append("\(events.rawValue)") }
        }
        let stack = try Stack(kind, ManagedObjectModel { Entity("Watched") { Watched.name } }, [Watched.self])
        let context = stack.newContext()
        context.undoStack = UndoStack()
        let object = Watched(context: context)
        context.undo()
        context.redo()
        object[Watched.name] = "a"
        context.undo()
        context.redo()
        try context.save()
        context.delete(object)
        context.undo()
        object[Watched.name] = "b"
        context.rollback()
        object[Watched.name] = "c"
        try context.refresh(object, mergeChanges: true)
        #expect(object.calls == ["insert", "2", "2", "8", "8", "4", "16", "32"])
    }

    @Test("UND-2: a new change removes the steps for redo", arguments: Setting.saved)
    func newChangeDropsRedo(setting: Setting) throws {
        let (_, context) = try context(setting)
        let ada = context.employee("ada")
        context.processPendingChanges()
        ada.salary = 1
        context.undo()
        ada.salary = 2
        context.processPendingChanges()
        #expect(context.undoStack?.canRedo == false)
        context.redo()
        #expect(ada.salary == 2)
    }

    @Test("groups, names and levels")
    func groupsNamesLevels() throws {
        let (_, context) = try context(.inMemory)
        let stack = try #require(context.undoStack)
        let ada = context.employee("ada")
        context.processPendingChanges()
        stack.group("Raise") {
            ada.salary = 1
            context.processPendingChanges()
            stack.group { ada.salary = 2 }
            context.processPendingChanges()
        }
        #expect(stack.undoCount == 2 && stack.undoActionName == "Raise")
        context.undo()
        #expect(ada.salary == 0 && stack.redoActionName == "Raise" && stack.undoActionName == nil)
        context.redo()
        #expect(ada.salary == 2)
        stack.withoutRegistration { ada.salary = 9 }
        #expect(stack.undoCount == 2)
        stack.levelsOfUndo = 3
        for salary in 10..<20 {
            ada.salary = salary
            context.processPendingChanges()
            stack.setActionName("to \(salary)")
        }
        #expect(stack.undoCount == 3 && stack.undoActionName == "to 19")
        for _ in 0..<5 { context.undo() }
        #expect(ada.salary == 16 && !stack.canUndo && stack.redoCount == 3)
        stack.removeAllActions()
        #expect(!stack.canRedo)
    }

    @Test("the name of a group without changes is not that of the next step", arguments: StoreKind.allCases)
    func emptyGroups(kind: StoreKind) throws {
        let (_, context) = try context(kind)
        let stack = try #require(context.undoStack)
        let ada = context.employee("ada")
        context.processPendingChanges()
        stack.group("Raise") {}
        ada.salary = 1
        #expect(stack.undoActionName == nil)
        context.processPendingChanges()
        #expect(stack.undoCount == 2 && stack.undoActionName == nil)
    }

    @Test("UND-3, UND-4: saving keeps the steps, rollback and reset drop them, and no other context has them", arguments: Setting.saved)
    func saveKeepsSteps(setting: Setting) throws {
        let (stack, context) = try context(setting)
        let ada = context.employee("ada", salary: 1)
        try context.saveToStore()
        ada.salary = 2
        try context.saveToStore()
        context.delete(ada)
        try context.saveToStore()
        context.undo()
        #expect(ada.isInserted && ada.salary == 2 && ada.name == "ada")
        try context.saveToStore()
        #expect(try stack.newContext().existingObject(Employee.self, with: ada.objectID).salary == 2)
        context.undo()
        try context.saveToStore()
        #expect(try stack.newContext().existingObject(Employee.self, with: ada.objectID).salary == 1)
        context.undo()
        try context.saveToStore()
        #expect(try stack.newContext().count(FetchRequest<Employee>()) == 0)
        for _ in 0..<3 { context.redo() }
        try context.saveToStore()
        #expect(try stack.newContext().count(FetchRequest<Employee>()) == 0)
        context.undo()
        context.rollback()
        #expect(context.undoStack?.canUndo == false && context.undoStack?.canRedo == false)
        _ = context.employee("bob")
        context.processPendingChanges()
        #expect(stack.newContext().undoStack == nil)
        context.reset()
        #expect(context.undoStack?.canUndo == false)
    }

    @Test("UND-2: undoing a deletion restores both ends of every relationship", arguments: Setting.saved, [false, true])
    func deletionsAreUndone(setting: Setting, saves: Bool) throws {
        let (stack, context) = try context(setting)
        let department = context.department("d")
        let ada = context.employee("ada")
        let bob = context.employee("bob")
        department.employees = [ada, bob]
        ada.spouse = bob
        ada.friends.insert(bob)
        let project = context.project("p")
        project.employees.insert(ada)
        for name in ["x", "y", "z"] {
            let step = Step(context: context)
            step.name = name
            project.tasks.append(step)
        }
        try context.saveToStore()
        let before = try context.companyDump()
        context.delete([ada, department, project])
        context.processPendingChanges()
        if saves { try context.saveToStore() }
        #expect(try context.companyDump().split(separator: "\n").count == 1)
        #expect(bob.department == nil && bob.spouse == nil && bob.friends.isEmpty)
        context.undo()
        #expect(try context.companyDump() == before)
        #expect(context.hasChanges == saves)
        try context.saveToStore()
        #expect(try stack.newContext().companyDump() == before)
    }

    @Test("UND-2: undoing all steps restores the first state, redoing all steps the last, after any edits, saves and saves of children",
          arguments: StoreKind.allCases, 1...8)
    func randomWalk(kind: StoreKind, seed: Int) throws {
        let (stack, context) = try context(kind)
        let undo = try #require(context.undoStack)
        var walk = Walk(seed: UInt64(seed))
        try context.save()
        var states = [try context.companyDump()]
        var place = 0
        var log: [String] = []
        for _ in 0..<90 {
            switch walk.next(8) {
            case 0...3:
                let what = try undo.group { try walk.edits.edit(context) }
                log.append(what)
                note(try context.companyDump(), undo, &states, &place)
            case 4:
                let child = context.newChildContext()
                for _ in 0...walk.next(3) { log.append("child: " + (try walk.edits.edit(child))) }
                try child.save()
                note(try context.companyDump(), undo, &states, &place)
            case 5 where undo.canUndo:
                context.undo()
                place -= 1
                log.append("undo")
            case 6 where undo.canRedo:
                context.redo()
                place += 1
                log.append("redo")
            case 7:
                try context.save()
                log.append("save")
                #expect(try stack.newContext().companyDump() == states[place], "seed \(seed): \(log.suffix(15))")
            default: continue
            }
            let dump = try context.companyDump()
            guard dump == states[place], undo.undoCount == place else {
                Issue.record("seed \(seed), step \(place) of \(undo.undoCount): \(log.suffix(15))\n\(dump)\n--- expected\n\(states[place])")
                return
            }
        }
        while undo.canUndo { context.undo() }
        #expect(try context.companyDump() == states[0], "seed \(seed)")
        while undo.canRedo { context.redo() }
        #expect(try context.companyDump() == states[states.count - 1], "seed \(seed)")
        try context.save()
        #expect(try stack.newContext().companyDump() == states[states.count - 1], "seed \(seed)")
    }

    /// Records the state after an edit, unless the edit changed nothing.
    private func note(_ dump: String, _ undo: UndoStack, _ states: inout [String], _ place: inout Int) {
        guard undo.undoCount > place else { return }
        states.removeSubrange((place + 1)...)
        states.append(dump)
        place += 1
    }

    private struct Walk {
        var generator: SeededGenerator
        var edits: RandomEdits
        init(seed: UInt64) {
            generator = SeededGenerator(state: seed)
            edits = RandomEdits(seed: seed + 1000)
        }
        mutating func next(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }
    }
}
