import Hornbeam
import Testing

/// Conflicts between objects of several entities that inherit one unique attribute.
@Suite struct SubentityConflictTests {
    private func stack(_ kind: StoreKind) throws -> Stack {
        let model = try ManagedObjectModel {
            Entity("Party") {
                Attribute("mail", .string, optional: true, unique: true)
                Attribute("name", .string, optional: true)
            }
            Entity("Person", parent: "Party") { Attribute("age", .integer32, optional: true) }
            Entity("Firm", parent: "Party")
        }
        return try Stack(kind, model)
    }

    @discardableResult
    private func insert(_ entity: String, _ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
        let object = try context.insert(entityNamed: entity)
        try object.setValue("a@b", forKey: "mail")
        try object.setValue(.string(name), forKey: "name")
        return object
    }

    private func parties(_ stack: Stack) throws -> [ManagedObject] {
        try stack.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Party").sorted(by: "name"))
    }

    @Test("MRG-8, MRG-9: objects of sibling entities do not become one", arguments: Setting.contexts, [false, true])
    func siblingsAreRefused(setting: Setting, isStored: Bool) throws {
        for policy in [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback] {
            for isRead in [false, true] {
                let stack = try stack(setting.kind)
                let context = setting.context(of: stack)
                context.setMergePolicies(policy)
                let writer = isStored ? stack.newOtherContext() : context
                let firm = try insert("Firm", "firm", writer)
                if isStored { try writer.save() }
                let read = try isStored && isRead ? context.existingObject(with: firm.objectID) : nil
                let person = try insert("Person", "person", context)
                try person.setValue(30, forKey: "age")
                let error = try #require(hornbeamError { try context.saveToStore() })
                #expect(error.code == .constraintConflict && !error.message.contains("mergePolicy"))
                try person.setValue("c@d", forKey: "mail")
                try context.saveToStore()
                let found = try parties(stack)
                #expect(found.map { $0.entity.name } == ["Firm", "Person"])
                #expect(try found.map { try $0.value(forKey: "mail") } == ["a@b", "c@d"])
                withExtendedLifetime(read) {}
            }
        }
    }

    @Test("MRG-8: an upsert does not become an object of a sibling entity", arguments: StoreKind.withOtherProcess)
    func upsertIsRefused(kind: StoreKind) throws {
        let stack = try stack(kind)
        let writer = stack.newOtherContext()
        try insert("Firm", "firm", writer)
        try writer.save()
        let context = stack.newContext()
        let person = try context.upsert(entityNamed: "Person", ["mail": "a@b"])
        #expect(person.isInserted)
        #expect(hornbeamError { try context.save() }?.code == .constraintConflict)
        #expect(try parties(stack).map { $0.entity.name } == ["Firm"])
    }

    @Test("MRG-8: a new object of the superentity becomes the stored one of a subentity", arguments: Setting.contexts, [false, true])
    func superentityIsMerged(setting: Setting, isRead: Bool) throws {
        let stack = try stack(setting.kind)
        let writer = stack.newOtherContext()
        let stored = try insert("Person", "stored", writer)
        try stored.setValue(30, forKey: "age")
        try writer.save()
        let context = setting.context(of: stack)
        context.setMergePolicies(.mergeByPropertyObjectTrump)
        let read = try isRead ? context.existingObject(with: stored.objectID) : nil
        try insert("Party", "new", context)
        try context.saveToStore()
        let found = try parties(stack)
        #expect(found.map(\.objectID) == [stored.objectID])
        #expect(try found.map { try $0.value(forKey: "name") } == ["new"])
        #expect(try found.map { try $0.value(forKey: "age") } == [30])
        #expect(!context.hasChanges)
        withExtendedLifetime(read) {}
    }

    @Test("MRG-9: of two new objects the one of the subentity survives", arguments: Setting.contexts)
    func subentitySurvives(setting: Setting) throws {
        let stack = try stack(setting.kind)
        let context = setting.context(of: stack)
        context.setMergePolicies(.mergeByPropertyObjectTrump)
        try insert("Party", "party", context)
        try insert("Person", "person", context).setValue(30, forKey: "age")
        try context.saveToStore()
        let found = try parties(stack)
        #expect(found.map { $0.entity.name } == ["Person"])
        #expect(try found.map { try $0.value(forKey: "age") } == [30])
    }
}
