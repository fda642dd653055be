import Foundation
import Hornbeam
import Testing

@Suite struct PrimitiveValueTests {
    /// Sets primitive values in the hooks in which Core Data's users set them.
    final class Stamped: ManagedObject {
        static let name = Attribute<String?>("name")
        static let created = Attribute<Int>("created", default: 0)
        static let saved = Attribute<Int>("saved", default: 0)
        static let shown = Attribute<String?>("shown")
        var saves = 0

        override func awakeFromInsert() { setPrimitiveValue(1, Self.created) }
        override func awakeFromFetch() { setPrimitiveValue("shown", Self.shown) }
        override func willSave() {
            saves += 1
            if !isDeleted { setPrimitiveValue(saves, Self.saved) }
        }
    }

    private func stack(_ kind: StoreKind) throws -> Stack {
        try Stack(
            kind, ManagedObjectModel { Entity("Stamped") { Stamped.name; Stamped.created; Stamped.saved; Stamped.shown } },
            [Stamped.self])
    }

    @Test("OBJ-1, OBJ-8: values that awakeFromInsert sets are initial values, which undo does not revert", arguments: Setting.contexts)
    func awakeFromInsertIsTheBeginning(setting: Setting) throws {
        let context = setting.context(of: try stack(setting.kind))
        context.undoStack = UndoStack()
        let object = Stamped(context: context)
        context.processPendingChanges()
        object[Stamped.name] = "a"
        context.undo()
        #expect(object[Stamped.created] == 1 && object[Stamped.name] == nil)
        context.undo()
        #expect(object.managedObjectContext == nil && context.undoStack?.canUndo == false)
        context.redo()
        #expect(object[Stamped.created] == 1)
        try context.save()
        #expect(object[Stamped.created] == 1)
    }

    @Test("OBJ-5, OBJ-8: primitive values that willSave sets are saved, and willSave is not called again for them",
          arguments: StoreKind.allCases)
    func willSaveStamps(kind: StoreKind) throws {
        let stack = try stack(kind)
        let context = stack.newContext()
        let object = Stamped(context: context)
        try context.save()
        #expect(object.saves == 1 && object[Stamped.saved] == 1)
        object[Stamped.name] = "a"
        try context.save()
        #expect(object.saves == 2 && object[Stamped.saved] == 2 && !context.hasChanges)
        let same = try stack.newContext().existingObject(Stamped.self, with: object.objectID)
        #expect(same[Stamped.saved] == 2 && same[Stamped.name] == "a")
    }

    @Test("OBJ-8: a primitive value alone is no change, and is saved with the next change", arguments: StoreKind.allCases)
    func primitiveChangeAlone(kind: StoreKind) throws {
        let stack = try stack(kind)
        let context = stack.newContext()
        let object = Stamped(context: context)
        try context.save()
        let posts = Posts(context, [ManagedObjectContext.didSaveObjectIDsNotification])
        object.setPrimitiveValue(9, Stamped.created)
        #expect(object[Stamped.created] == 9 && object.primitiveValue(Stamped.created) == 9)
        #expect(!object.hasChanges && !context.hasChanges && !object.hasPersistentChangedValues && object.changedValues.isEmpty)
        try context.save()
        #expect(posts.changes.isEmpty)
        object[Stamped.name] = "a"
        #expect(object.changedValues == ["name": "a"])
        try context.save()
        let same = try stack.newContext().existingObject(Stamped.self, with: object.objectID)
        #expect(same[Stamped.created] == 9 && same[Stamped.name] == "a")
        object.setPrimitiveValue(5, Stamped.created)
        object.setPrimitiveValue(9, Stamped.created)
        #expect(!object.hasPersistentChangedValues)
    }

    @Test("OBJ-2, OBJ-8: values that awakeFromFetch sets are visible and never written", arguments: StoreKind.allCases)
    func awakeFromFetchShows(kind: StoreKind) throws {
        let stack = try stack(kind)
        let writer = stack.newContext()
        let object = Stamped(context: writer)
        try writer.save()
        let context = stack.newContext()
        let same = try context.existingObject(Stamped.self, with: object.objectID)
        #expect(same[Stamped.shown] == "shown" && !context.hasChanges)
        same[Stamped.name] = "a"
        try context.save()
        #expect(object.primitiveValue(Stamped.shown) == nil)
        try writer.refresh(object, mergeChanges: false)
        #expect(object.isFault && object.primitiveValue(Stamped.shown) == nil, "the stored value, as no hook ran")
        #expect(object[Stamped.shown] == "shown")
    }

    @Test("OBJ-2: every first access to a fault shows the values that awakeFromFetch sets", arguments: Setting.contexts, FirstAccess.allCases)
    func firstAccessShowsWhatAwakeFromFetchSets(setting: Setting, access: FirstAccess) throws {
        let stack = try stack(setting.kind)
        let writer = stack.newContext()
        let object = Stamped(context: writer)
        try writer.save()
        let context = setting.context(of: stack)
        let same = try #require(context.object(with: object.objectID) as? Stamped)
        #expect(same.isFault)
        #expect(try access.shown(of: same) == "shown")
        #expect(!context.hasChanges && same.changedValues.isEmpty)
    }

    /// Ways to read a value, each the first that happens to a fault.
    enum FirstAccess: CaseIterable {
        case token, name, keyPath, snapshot, bytes, predicate, fetchOverPendingChanges

        func shown(of object: Stamped) throws -> String? {
            switch self {
            case .token: return object[Stamped.shown]
            case .name: return text(try object.value(forKey: "shown"))
            case .keyPath: return text(try object.value(forKeyPath: "shown"))
            case .snapshot: return object.snapshot()[Stamped.shown]
            case .bytes: return object.withUTF8(of: Stamped.shown) { $0.map { String(decoding: $0, as: UTF8.self) } }
            case .predicate: return try FetchPredicate(format: "shown == 'shown'").evaluate(with: object) ? "shown" : nil
            case .fetchOverPendingChanges: return try fetched(object)
            }
        }

        private func text(_ value: PropertyValue) -> String? {
            guard case .string(let text) = value else { return nil }
            return text
        }

        /// Requests compare objects with unsaved changes by the values of their getters, for few and for many such objects.
        private func fetched(_ object: Stamped) throws -> String? {
            let context = try #require(object.managedObjectContext)
            let others = (0 ..< 20).map { _ in Stamped(context: context) }
            object[Stamped.created] = 5
            let found = try context.fetch(FetchRequest<Stamped>().where("shown == 'shown' AND created == 5"))
            object[Stamped.created] = 1
            for other in others { context.delete(other) }
            context.processPendingChanges()
            return found == [object] ? "shown" : nil
        }
    }

    @Test("OBJ-8: primitive values by name are checked, and no inverse follows", arguments: Setting.contexts)
    func primitiveValuesByName(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let (ada, department) = (context.employee("ada"), context.department("d"))
        try ada.setPrimitiveValue(.double(12), forKey: "salary")
        #expect(ada.salary == 12)
        try ada.setPrimitiveValue(.objectID(department.objectID), forKey: "department")
        #expect(ada.department === department && department.employees.isEmpty)
        #expect(try ada.primitiveValue(forKey: "department") == .objectID(department.objectID))
        #expect(try department.primitiveValue(forKey: "employees") == .set([]))
        #expect(hornbeamError { try ada.setPrimitiveValue(1, forKey: "nmae") }?.code == .unknownKey)
        #expect(hornbeamError { try ada.setPrimitiveValue(.data(Data()), forKey: "salary") }?.code == .typeMismatch)
        #expect(hornbeamError { try department.setPrimitiveValue(.set([]), forKey: "employees") }?.code == .typeMismatch)
    }

    @Test("OBJ-9: key paths go through objects and sets, with operators at their end", arguments: Setting.contexts)
    func keyPaths(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let department = context.department("d")
        let people = [("ada", 3), ("bob", 4), ("eve", 3)].map { context.employee($0.0, salary: $0.1) }
        department.employees = ManagedSet(people)
        #expect(try people[0].value(forKeyPath: "department.name") == "d")
        #expect(try people[0].value(forKeyPath: "spouse.name") == .null)
        #expect(try department.value(forKeyPath: "employees.@sum.salary") == 10)
        #expect(try department.value(forKeyPath: "employees.@count") == 3)
        #expect(try department.value(forKeyPath: "employees.salary") == .set([3, 4]))
        #expect(try people[0].value(forKeyPath: "department.employees.@max.salary") == 4)
        #expect(hornbeamError { _ = try people[0].value(forKeyPath: "department.nmae") }?.code == .unknownKey)
        #expect(hornbeamError { _ = try department.value(forKeyPath: "employees.nmae") }?.code == .unknownKey)
    }
}
