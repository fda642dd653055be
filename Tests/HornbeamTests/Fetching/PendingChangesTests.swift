import Foundation
import Hornbeam
import Testing

@Suite struct PendingChangesTests {
    /// An entity with a transient and a stored property, and a Swift property outside the model.
    final class Note: ManagedObject {
        static let text = Attribute<String?>("text")
        static let mood = Attribute<String?>("mood", transient: true)
        var cached = 0
    }

    static func notes(_ kind: StoreKind) throws -> Stack {
        try Stack(kind, ManagedObjectModel { Entity("Note") { Note.text; Note.mood } }, [Note.self])
    }

    @Test("MOC-7: an object is in one of the three sets, and in none after it was inserted and deleted", arguments: Setting.contexts)
    func threeSets(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let (a, b, c) = (PEntity(context: context), PEntity(context: context), PEntity(context: context))
        a.name = "a"
        #expect(context.insertedObjects == [a, b, c] && context.updatedObjects.isEmpty)
        try context.save()
        #expect(context.insertedObjects.isEmpty && context.registeredObjects == [a, b, c])
        a.name = "changed"
        b.name = "changed"
        context.delete(b)
        let new = PEntity(context: context)
        let brief = PEntity(context: context)
        context.processPendingChanges()
        context.delete(brief)
        #expect(context.updatedObjects == [a] && context.deletedObjects == [b] && context.insertedObjects == [new])
        try context.save()
        #expect(context.updatedObjects.isEmpty && context.deletedObjects.isEmpty && context.insertedObjects.isEmpty)
        #expect(context.registeredObjects == [a, c, new])
    }

    @Test("MOC-8, OBJ-13, OBJ-14: a transient change is a change without values to store", arguments: Setting.contexts)
    func transientChanges(setting: Setting) throws {
        let context = setting.context(of: try Self.notes(setting.kind))
        let note = Note(context: context)
        try context.save()
        #expect(!context.hasChanges && !note.hasChanges)
        note[Note.mood] = "gay"
        #expect(context.hasChanges && note.hasChanges && note.isUpdated)
        #expect(!note.hasPersistentChangedValues && note.changedValues.isEmpty)
        try context.save()
        #expect(!context.hasChanges && note[Note.mood] == "gay")
        note[Note.text] = "x"
        #expect(note.hasPersistentChangedValues)
    }

    @Test("OBJ-17: a Swift property that is not in the model changes nothing", arguments: Setting.contexts)
    func unmodelledProperties(setting: Setting) throws {
        let context = setting.context(of: try Self.notes(setting.kind))
        let note = Note(context: context)
        try context.save()
        note.cached = 7
        #expect(!note.hasChanges && !context.hasChanges)
        try context.save()
        #expect(note.cached == 7)
    }

    @Test("OBJ-10, OBJ-11: changed values are the new ones, since the save and since the event", arguments: Setting.contexts)
    func changedValuesOfTheEvent(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let (ada, department) = (context.employee("ada"), context.department("d"))
        try context.save()
        ada.name = "Ada"
        ada.salary = 1
        #expect(ada.changedValuesForCurrentEvent == ["name": "Ada", "salary": 1])
        context.processPendingChanges()
        #expect(ada.changedValuesForCurrentEvent.isEmpty && ada.changedValues == ["name": "Ada", "salary": 1])
        ada.salary = 2
        department.employees = [ada]
        #expect(ada.changedValuesForCurrentEvent == ["salary": 2, "department": .objectID(department.objectID)])
        #expect(department.changedValues == ["employees": .set([.objectID(ada.objectID)])])
        #expect(ada.committedValues(forKeys: ["name", "salary", "department"]) == ["name": "ada", "salary": 0, "department": .null])
        #expect(ada.committedValues().count == ada.entity.properties.count)
        #expect(department.committedValues(forKeys: ["employees"]) == ["employees": .set([])])
        let new = context.employee("new")
        #expect(new.committedValues(forKeys: ["name"]) == ["name": .null])
        try context.save()
        #expect(ada.changedValues.isEmpty && ada.changedValuesForCurrentEvent.isEmpty)
    }

    @Test("MOC-18, UND-1: the view context processes pending changes automatically, once for each turn of the main actor", arguments: StoreKind.allCases)
    @MainActor func viewContextProcessesChangesByItself(kind: StoreKind) async throws {
        let stack = try Parity.stack(kind)
        let view = stack.container.viewContext
        let undo = UndoStack()
        view.undoStack = undo
        let object = PEntity(context: view)
        var changes = view.changes().makeAsyncIterator()
        object.name = "a"
        object.counter = 1
        #expect(await changes.next() == ObjectChanges(inserted: [object.objectID]))
        object.name = "b"
        object.counter = 2
        #expect(await changes.next()?.changedKeys == [object.objectID: ["name", "counter"]])
        #expect(undo.undoCount == 2)
        view.undo()
        #expect(object.name == "a" && object.counter == 1)
    }

    @Test("MOC-18: processing twice notifies once, and fetching and saving process pending changes automatically", arguments: Setting.contexts)
    func processing(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let posts = Posts(context, [ManagedObjectContext.didChangeObjectsNotification])
        let object = PEntity(context: context)
        object.name = "a"
        object.name = "b"
        #expect(posts.changes.isEmpty)
        _ = try context.fetch(FetchRequest<PEntity>())
        #expect(posts.changes == [ObjectChanges(inserted: [object.objectID])])
        context.processPendingChanges()
        #expect(posts.changes.count == 1)
        try context.save()
        object.name = "c"
        object.counter = 9
        try context.save()
        #expect(posts.changes.last == ObjectChanges(updated: [object.objectID]))
        object.name = "d"
        object.name = "c"
        context.processPendingChanges()
        #expect(posts.changes.count == 2, "what was undone by hand is no change")
    }

    @Test("MOC-27, MOC-28, MOC-31: the initial settings of a context, and its name and author in notifications", arguments: StoreKind.allCases)
    func defaults(kind: StoreKind) throws {
        let context = try Parity.stack(kind).newContext()
        #expect(context.mergePolicy == .error && context.automaticallyMergesChangesFromParent)
        #expect(context.name == nil && context.transactionAuthor == nil && context.userInfo.isEmpty && context.undoStack == nil)
        #expect(!context.retainsRegisteredObjects && context.parent == nil && context.queryGenerationToken == nil)
        context.name = "importer"
        context.transactionAuthor = "me"
        context.userInfo["key"] = "value"
        let posts = Posts(context, [ManagedObjectContext.didSaveObjectIDsNotification])
        let object = PEntity(context: context)
        try context.save()
        context.transactionAuthor = nil
        object.name = "a"
        try context.save()
        #expect(posts.changes.map { $0?.author } == ["me", nil] && posts.changes.map { $0?.contextName } == ["importer", "importer"])
        #expect(context.description == "ManagedObjectContext(importer, 1 objects, 0 changed)")
    }

    @Test("MOC-5, MOC-33: any number of contexts; a released context leaves nothing in memory", arguments: StoreKind.allCases)
    func scratchContexts(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let contexts = (0..<20).map { _ in stack.newContext() }
        for (number, context) in contexts.enumerated() { PEntity(context: context).counter = Int32(number) }
        for context in contexts.prefix(10) { try context.save() }
        for context in contexts { #expect(try context.count(FetchRequest<PEntity>()) >= 10) }
        func discard() throws {
            let scratch = contexts[0].newChildContext()
            for object in try scratch.fetch(FetchRequest<PEntity>()) { object.name = "scratched" }
            #expect(scratch.hasChanges)
        }
        try discard()
        let names = try stack.newContext().fetch(FetchRequest<PEntity>()).map(\.name)
        #expect(names == Array(repeating: nil, count: 10) && !contexts[0].hasChanges)
    }

    @Test("OBJ-19, DEL-7: an object loses its context when its deletion is saved, not before", arguments: Setting.contexts)
    func losingTheContext(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        object.name = "a"
        try context.save()
        context.delete(object)
        #expect(object.isDeleted && object.managedObjectContext === context)
        try context.save()
        #expect(!object.isDeleted && object.managedObjectContext == nil && object.name == "a")
    }
}
