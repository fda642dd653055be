import Foundation
import Hornbeam
import Testing

@Suite struct RefreshTests {
    typealias Note = PendingChangesTests.Note

    @Test("MOC-19: refreshing drops changes and transient values, or keeps both on top of the current stored values",
          arguments: StoreKind.allCases, [true, false])
    func refreshing(kind: StoreKind, mergeChanges: Bool) throws {
        let stack = try Stack(kind, ManagedObjectModel {
            Entity("Note") { Note.text; Note.mood; Attribute<Int>("size", default: 1) }
        }, [Note.self])
        let context = stack.newStaleContext()
        let note = Note(context: context)
        note[Note.text] = "stored"
        try context.save()
        try stack.container.performAndWait { other in
            let same = try other.existingObject(Note.self, with: note.objectID)
            same["size"] = 2
            try other.save()
        }
        note[Note.text] = "pending"
        note[Note.mood] = "calm"
        #expect(note["size"] == 1)
        try context.refresh(note, mergeChanges: mergeChanges)
        #expect(note.isFault == !mergeChanges)
        #expect(note[Note.text] == (mergeChanges ? "pending" : "stored") && note[Note.mood] == (mergeChanges ? "calm" : nil))
        #expect(note["size"] == 2)
        context.processPendingChanges()
        #expect(context.hasChanges == mergeChanges)
    }

    @Test("MOC-19: an unchanged object becomes a fault either way, and keeps transient values only when merging",
          arguments: StoreKind.allCases, [true, false])
    func refreshingUnchanged(kind: StoreKind, mergeChanges: Bool) throws {
        let context = try PendingChangesTests.notes(kind).newContext()
        let note = Note(context: context)
        note[Note.mood] = "calm"
        try context.save()
        try context.refresh(note, mergeChanges: mergeChanges)
        #expect(note.isFault && !context.hasChanges)
        #expect(note[Note.mood] == (mergeChanges ? "calm" : nil))
    }

    @Test("MOC-19: a deletion that is not saved is dropped by refreshing without merging", arguments: Setting.contexts)
    func refreshingDeleted(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        object.name = "a"
        try context.save()
        context.delete(object)
        try context.refresh(object, mergeChanges: false)
        #expect(!object.isDeleted && object.name == "a" && context.deletedObjects.isEmpty)
        try context.save()
        #expect(try context.count(FetchRequest<PEntity>()) == 1)
    }

    @Test("MOC-12: the calls that fire a fault, and those that do not", arguments: StoreKind.allCases)
    func callsThatFireFaults(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let writer = stack.newContext()
        let (ada, department) = (writer.employee("ada"), writer.department("d"))
        ada.department = department
        try writer.save()
        let context = stack.newContext()
        let fault = try #require(context.object(with: ada.objectID) as? Employee)
        _ = (fault.objectID, fault.entity, fault.isInserted, fault.isUpdated, fault.isDeleted, fault.hasChanges)
        _ = (fault.managedObjectContext, fault.description, fault.changedValues, fault.hashValue)
        _ = fault.primitiveValue(Employee.name)
        #expect(fault.isFault)
        #expect(fault.name == "ada" && !fault.isFault)
        let target = try #require(fault.department)
        #expect(target.isFault, "the object at the other end is a fault of its own")
        #expect(try context.object(with: department.objectID).objectIDs(forRelationshipNamed: "employees") == [ada.objectID])
        let other = try #require(stack.newContext().object(with: ada.objectID) as? Employee)
        try other.fire()
        #expect(!other.isFault)
        #expect(hornbeamError { _ = try fault.objectIDs(forRelationshipNamed: "name") }?.code == .unknownKey)
    }

    @Test("MOC-14, MOC-24: a fault without a row is a deleted object of zero values, and no save fails for it",
          arguments: StoreKind.allCases)
    func inaccessibleFaults(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let (writer, context) = (stack.newContext(), stack.newContext())
        let (ada, friend) = (writer.employee("ada", salary: 3), writer.employee("bob"))
        ada.friends.insert(friend)
        try writer.save()
        let fault = try #require(context.object(with: ada.objectID) as? Employee)
        writer.delete(ada)
        try writer.save()
        try context.mergeChanges()
        #expect(fault.name == "" && fault.salary == 0 && fault.hired == nil && fault.friends.isEmpty && fault.department == nil)
        #expect(fault.isDeleted && !fault.isFault && !fault.hasChanges && !context.hasChanges)
        let error = hornbeamError { try fault.fire() }
        #expect(error?.code.rawValue == 133_000 && error?.entity == "Employee" && error?.objectIDs == [fault.objectID])
        #expect(hornbeamError { _ = try context.existingObject(with: ada.objectID) }?.code == .objectNotFound)
        _ = context.employee("new")
        try context.save()
        #expect(try context.count(FetchRequest<Employee>()) == 2)
        context.delete(fault)
        try context.save()
        #expect(!context.hasChanges)
    }

    @Test("MOC-24: setting a value of an object whose row was deleted is a conflict at the save, and never a trap",
          arguments: StoreKind.allCases)
    func changingInaccessibleFaults(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let (writer, context) = (stack.newContext(), stack.newContext())
        let object = PEntity(context: writer)
        try writer.save()
        let fault = try #require(context.object(with: object.objectID) as? PEntity)
        writer.delete(object)
        try writer.save()
        fault.name = "x"
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .mergeConflict && error?.objectIDs == [fault.objectID])
        context.rollback()
        #expect(!context.hasChanges && fault.name == nil)
        try context.save()
        fault.name = "again"
        context.mergePolicy = .mergeByPropertyStoreTrump
        try context.save()
        #expect(fault.isDeleted && context.lastMergeReport.objects.map(\.outcome) == [.deletedByThem])
        #expect(try writer.count(FetchRequest<PEntity>()) == 0)
    }

    @Test("MOC-24, MRG-10: where objects win, an object whose row was deleted is inserted again, if its other values are valid",
          arguments: StoreKind.allCases)
    func writingInaccessibleFaultsAgain(kind: StoreKind) throws {
        let stack = try PendingChangesTests.notes(kind)
        let (writer, context) = (stack.newContext(), stack.newContext())
        let note = Note(context: writer)
        try writer.save()
        writer.delete(note)
        try writer.save()
        let fault = try #require(context.object(with: note.objectID) as? Note)
        fault[Note.text] = "again"
        context.mergePolicy = .mergeByPropertyObjectTrump
        try context.save()
        #expect(!fault.isDeleted && fault[Note.text] == "again" && !context.hasChanges)
        #expect(try stack.newContext().existingObject(Note.self, with: note.objectID)[Note.text] == "again")
    }

    @Test("OBJ-6: both hooks run once for each time that an object becomes a fault", arguments: Setting.contexts)
    func faultingHooks(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PHooked(context: context)
        try context.save()
        object.calls = []
        try context.refresh(object, mergeChanges: false)
        try context.refresh(object, mergeChanges: false)
        #expect(object.calls == ["willTurnIntoFault", "didTurnIntoFault"])
        _ = object.name
        context.reset()
        #expect(object.calls.suffix(2) == ["willTurnIntoFault", "didTurnIntoFault"])
    }
}
