import Foundation
import Hornbeam
import Testing

@Suite struct HookTests {
    /// Owns parts that are deleted with it, and logs its hooks.
    final class Whole: ManagedObject {
        static let name = Attribute<String?>("name")
        static let parts = ToMany<Part>("parts", inverse: "whole", deleteRule: .cascade)
        var log: [String] = []
        var onWillSave: (Whole) -> Void = { _ in }
        var onDidSave: (Whole) -> Void = { _ in }

        override func prepareForDeletion() { log.append("prepare with \(self[Self.parts].count)") }
        override func willSave() {
            log.append("willSave")
            onWillSave(self)
        }
        override func didSave() {
            log.append("didSave")
            onDidSave(self)
        }
        override func awake(fromSnapshotEvents events: SnapshotEvents) { log.append("events \(events.rawValue)") }
    }

    final class Part: ManagedObject {
        static let whole = ToOne<Whole>("whole", inverse: "parts")
        var log: [String] = []
        override func prepareForDeletion() { log.append(self[Self.whole] == nil ? "prepare alone" : "prepare in the whole") }
    }

    private func stack(_ kind: StoreKind) throws -> Stack {
        try Stack(kind, ManagedObjectModel {
            Entity("Whole") { Whole.name; Whole.parts }
            Entity("Part") { Part.whole }
        }, [Whole.self, Part.self])
    }

    @Test("OBJ-4: prepareForDeletion comes before the delete rules, and again with each delete", arguments: Setting.contexts)
    func preparingForDeletion(setting: Setting) throws {
        let context = setting.context(of: try stack(setting.kind))
        let (whole, part) = (Whole(context: context), Part(context: context))
        part[Part.whole] = whole
        try context.save()
        whole.log = []
        context.delete(whole)
        #expect(whole.log == ["prepare with 1"])
        #expect(part.isDeleted && part.log.count == 1)
        context.delete(whole)
        #expect(whole.log.count == 2 && whole.log.last?.hasPrefix("prepare") == true)
        try context.save()
        #expect(!context.hasChanges)
    }

    @Test("SAV-3, SAV-4, OBJ-5: observers and hooks may change objects before the save, and all of it is saved",
          arguments: StoreKind.allCases)
    func changesBeforeTheSave(kind: StoreKind) throws {
        let stack = try stack(kind)
        let context = stack.newContext()
        let (whole, other) = (Whole(context: context), Whole(context: context))
        try context.save()
        other.log = []
        whole.onWillSave = { object in
            guard object[Whole.name] == "a" else { return }
            object[Whole.name] = "b"
            other[Whole.name] = "touched"
            _ = Part(context: context)
        }
        whole.log = []
        whole[Whole.name] = "a"
        try context.save()
        #expect(whole.log == ["willSave", "willSave", "didSave"] && other.log == ["willSave", "didSave"])
        #expect(!context.hasChanges)
        let fresh = stack.newContext()
        #expect(try fresh.existingObject(Whole.self, with: whole.objectID)[Whole.name] == "b")
        #expect(try fresh.existingObject(Whole.self, with: other.objectID)[Whole.name] == "touched")
        #expect(try fresh.count(FetchRequest<Part>()) == 1)
    }

    @Test("SAV-4: a willSave that changes objects in every round makes the save throw, and the context stays usable", arguments: Setting.contexts)
    func restlessHook(setting: Setting) throws {
        let context = setting.context(of: try stack(setting.kind))
        let whole = Whole(context: context)
        var number = 0
        whole.onWillSave = { object in
            number += 1
            object[Whole.name] = "\(number)"
        }
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .general && error?.entity == "Whole" && error?.objectIDs == [whole.objectID])
        #expect(error?.message == """
            willSave of Whole changed its object 1000 times over. Compare before setting a value there.
            """)
        #expect(number == 1000 && context.hasChanges)
        whole.onWillSave = { _ in }
        try context.save()
        #expect(whole[Whole.name] == "1000" && !context.hasChanges)
    }

    @Test("OBJ-5: changes of didSave are part of the next save", arguments: StoreKind.allCases)
    func changesAfterTheSave(kind: StoreKind) throws {
        let stack = try stack(kind)
        let context = stack.newContext()
        let whole = Whole(context: context)
        whole.onDidSave = { $0[Whole.name] = "after" }
        try context.save()
        #expect(context.hasChanges && whole.isUpdated && whole[Whole.name] == "after")
        #expect(try stack.newContext().existingObject(Whole.self, with: whole.objectID)[Whole.name] == nil)
        whole.onDidSave = { _ in }
        try context.save()
        #expect(try stack.newContext().existingObject(Whole.self, with: whole.objectID)[Whole.name] == "after")
    }

    @Test("OBJ-3: an object is notified that a merge policy chose its values, or that it was refreshed and kept its changes",
          arguments: StoreKind.allCases)
    func snapshotEvents(kind: StoreKind) throws {
        let stack = try stack(kind)
        let (mine, theirs) = (stack.newContext(), stack.newContext())
        let whole = Whole(context: mine)
        try mine.save()
        mine.mergePolicy = .mergeByPropertyObjectTrump
        whole.log = []
        whole[Whole.name] = "mine"
        try theirs.existingObject(Whole.self, with: whole.objectID)[Whole.name] = "theirs"
        try theirs.save()
        try mine.save()
        #expect(whole.log == ["willSave", "events 64", "didSave"])
        whole[Whole.name] = "again"
        try mine.refresh(whole, mergeChanges: true)
        #expect(whole.log.last == "events 32" && whole[Whole.name] == "again")
        mine.rollback()
        #expect(whole.log.last == "events 16" && whole[Whole.name] == "mine")
        #expect(SnapshotEvents([.undoInsertion, .undoDeletion, .undoUpdate]).rawValue == 14)
    }

    @Test("DEL-6: the results of a request are deleted with delete rules; all objects without a predicate", arguments: Setting.contexts)
    func deletingByRequest(setting: Setting) throws {
        let context = setting.context(of: try stack(setting.kind))
        for name in ["a", "a", "b"] {
            let whole = Whole(context: context)
            whole[Whole.name] = name
            Part(context: context)[Part.whole] = whole
        }
        try context.save()
        #expect(try context.delete(matching: FetchRequest<Whole>().where("name == 'a'")) == 2)
        #expect(try context.count(FetchRequest<Part>()) == 1)
        let unsaved = Whole(context: context)
        Part(context: context)[Part.whole] = unsaved
        #expect(try context.delete(matching: FetchRequest<Whole>()) == 2)
        #expect(try context.delete(matching: FetchRequest<Part>()) == 0)
        try context.save()
        #expect(try context.count(FetchRequest<Whole>()) + context.count(FetchRequest<Part>()) == 0)
        context.delete([ManagedObject]())
    }

    @Test("DEL-1: deleting several unsaved objects of which one cascades to the others", arguments: Setting.contexts)
    func deletingUnsavedTogether(setting: Setting) throws {
        let context = setting.context(of: try stack(setting.kind))
        let whole = Whole(context: context)
        let parts = (0..<3).map { _ in Part(context: context) }
        for part in parts { part[Part.whole] = whole }
        context.delete([whole] + parts as [ManagedObject])
        #expect(!context.hasChanges && parts.allSatisfy { $0.managedObjectContext == nil })
        try context.save()
    }
}
