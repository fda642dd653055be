import Foundation
import Hornbeam
import Testing

/// The steps of a save (section 1.14) except hooks, validation and merging, which have suites of their own.
@Suite struct SaveStepTests {
    private func users(_ kind: StoreKind) throws -> Stack {
        try Stack(kind, ManagedObjectModel {
            Entity("User") {
                Attribute<String?>("mail", unique: true)
                Attribute<String?>("name")
                Attribute<String>("folded", derivation: "canonical:(name)")
            }
        })
    }

    private func user(_ context: ManagedObjectContext, mail: PropertyValue, name: String = "N") throws -> ManagedObject {
        let user = try context.insert(entityNamed: "User")
        user["mail"] = mail
        user["name"] = .string(name)
        return user
    }

    @Test("MOD-8 (1.29, 3): missing unique values never collide, in one save or over several", arguments: StoreKind.allCases)
    func missingUniqueValues(kind: StoreKind) throws {
        let context = try users(kind).newContext()
        for _ in 0..<2 {
            for _ in 0..<3 { _ = try user(context, mail: .null) }
            try context.save()
        }
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "User")) == 6)
    }

    @Test("SAV-10, MOC-6 (1.29, 3): unique values are looked at by the save that writes, not before and not in children",
          arguments: StoreKind.allCases)
    func constraintsAtTheRoot(kind: StoreKind) throws {
        let context = try users(kind).newContext()
        let first = try user(context, mail: "a@b")
        try context.save()
        let child = context.newChildContext()
        let second = try user(child, mail: "a@b")
        try child.save()
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "User").where("mail == 'a@b'")) == 2)
        let error = hornbeamError { try context.save() }
        #expect(error?.code.rawValue == 133_021 && error?.entity == "User" && error?.key == "mail" && error?.value == "a@b")
        #expect(error?.objectIDs == [second.objectID])
        context.delete(first)
        try context.save()
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "User")) == 1)
    }

    @Test("MRG-7: several duplicate values are one error with each of them; for two new objects of one save it names both",
          arguments: StoreKind.allCases)
    func severalTakenValues(kind: StoreKind) throws {
        let context = try users(kind).newContext()
        for mail in ["a", "b"] { _ = try user(context, mail: .string(mail)) }
        try context.save()
        let rivals = [try user(context, mail: "a"), try user(context, mail: "b")]
        let error = try #require(hornbeamError { try context.save() })
        #expect(error.code.rawValue == 133_021 && error.details.map(\.value) == ["a", "b"])
        #expect(Set(error.objectIDs) == Set(rivals.map(\.objectID)))
        #expect(!error.description.contains("“a”"), "values are not part of the text")
        context.rollback()
        let twins = [try user(context, mail: "c"), try user(context, mail: "c")]
        let twice = try #require(hornbeamError { try context.save() })
        #expect(twice.code.rawValue == 133_021 && Set(twice.objectIDs) == Set(twins.map(\.objectID)))
        #expect(twins.allSatisfy { twice.message.contains("User/t\($0.objectID.reference & ~(1 << 63))") })
    }

    @Test("SAV-10: values may be exchanged, and given on by an object that is deleted, in one save", arguments: StoreKind.allCases)
    func exchangedUniqueValues(kind: StoreKind) throws {
        let context = try users(kind).newContext()
        let (a, b, c) = (try user(context, mail: "a"), try user(context, mail: "b"), try user(context, mail: "c"))
        try context.save()
        a["mail"] = "b"
        b["mail"] = "a"
        context.delete(c)
        let d = try user(context, mail: "c")
        try context.save()
        #expect(a["mail"] == "b" && b["mail"] == "a" && d["mail"] == "c")
    }

    @Test("ATT-11 (1.29, 16): a required derived attribute is computed before it is validated", arguments: StoreKind.allCases)
    func requiredDerivedAttribute(kind: StoreKind) throws {
        let context = try users(kind).newContext()
        let ada = try user(context, mail: .null, name: "Ädä")
        try context.save()
        #expect(ada["folded"] == "ada")
        ada["name"] = .null
        #expect(hornbeamError { try context.save() }?.key == "folded")
    }

    @Test("SAV-5, SAV-11, SAV-13: a save is written completely or not at all, and throws the same error until it is corrected",
          arguments: StoreKind.allCases)
    func allOrNothing(kind: StoreKind) throws {
        let stack = try users(kind)
        let (context, other) = (stack.newContext(), stack.newContext())
        let taken = try user(context, mail: "a")
        try context.save()
        let kept = try user(context, mail: "b")
        let rival = try user(context, mail: "a")
        taken["name"] = "changed"
        for _ in 0..<3 {
            let error = hornbeamError { try context.save() }
            #expect(error?.code == .constraintConflict && error?.objectIDs == [rival.objectID])
            #expect(kept.objectID.isTemporaryID && kept.isInserted && taken.isUpdated && context.hasChanges)
            #expect(try other.fetch(FetchRequest<ManagedObject>(entityName: "User")).map { $0["name"] } == ["N"])
        }
        rival["mail"] = "c"
        try context.save()
        #expect(try other.count(FetchRequest<ManagedObject>(entityName: "User")) == 3)
    }

    @Test("SAV-7, SAV-12: after a save IDs are permanent, sets are empty, versions grow and nothing is read again",
          arguments: StoreKind.allCases)
    func afterTheSave(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let (ada, department) = (context.employee("ada"), context.department("d"))
        ada.department = department
        let temporary = ada.objectID
        try context.save()
        #expect(!ada.objectID.isTemporaryID && ada.objectID != temporary && ada.objectID.storeIdentifier != nil)
        #expect(context.registeredObject(for: temporary) == nil && context.registeredObject(for: ada.objectID) === ada)
        #expect(ada.department === department && department.employees.objectIDs == [ada.objectID])
        #expect(!ada.hasChanges && ada.changedValues.isEmpty && context.insertedObjects.isEmpty)
        #expect(!ada.isFault && ada.name == "ada")
        let posts = Posts(context, [ManagedObjectContext.didSaveObjectIDsNotification])
        for salary in 1...3 {
            ada.salary = salary
            try context.save()
        }
        let transactions = posts.changes.compactMap { $0?.transaction }
        #expect(transactions == transactions.sorted() && Set(transactions).count == 3)
    }

    @Test("SAV-8, SAV-9: of two saves from one state the second throws a conflict, in either order, because versions are compared",
          arguments: StoreKind.allCases)
    func versionsDecide(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let contexts = [stack.newStaleContext(), stack.newStaleContext()]
        let writer = stack.newContext()
        let id = try { () -> ManagedObjectID in
            let ada = writer.employee("ada")
            try writer.save()
            return ada.objectID
        }()
        let both = try contexts.map { try $0.existingObject(Employee.self, with: id) }
        for (number, object) in both.enumerated() { object.salary = number + 1 }
        try contexts[0].save()
        let error = hornbeamError { try contexts[1].save() }
        #expect(error?.code.rawValue == 133_020 && error?.objectIDs == [id])
        #expect(error?.message.contains("version") == true)
        #expect(both[1].salary == 2 && both[1].isUpdated)
        try contexts[1].refresh(both[1], mergeChanges: true)
        try contexts[1].save()
        #expect(try stack.newContext().existingObject(Employee.self, with: id).salary == 2)
    }

    @Test("SAV-2: rules and inverses are applied before anything is written", arguments: StoreKind.allCases)
    func rulesAreAppliedBeforeWriting(kind: StoreKind) throws {
        let stack = try Company.stack(kind, employees: .cascade)
        let context = stack.newContext()
        let (ada, department, project) = (context.employee("ada"), context.department("d"), context.project("p"))
        department.employees = [ada]
        project.employees = [ada]
        try context.save()
        let new = context.employee("new")
        department.employees.insert(new)
        context.delete(department)
        try context.save()
        let fresh = stack.newContext()
        #expect(try fresh.count(FetchRequest<Employee>()) == 0)
        #expect(try fresh.existingObject(Project.self, with: project.objectID).employees.isEmpty)
        #expect(new.managedObjectContext == nil && !context.hasChanges)
    }

    @Test("DEL-5: no action leaves a dangling reference, which the program can detect",
          arguments: StoreKind.allCases)
    func danglingReferences(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("A") { ToOne("b", to: "B"); Attribute<Int>("n", default: 0) }
            Entity("B") { Attribute<String?>("name") }
        }
        let stack = try Stack(kind, model)
        let context = stack.newContext()
        let (a, b) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "B"))
        try a.setValue(b, forKey: "b")
        try context.save()
        context.delete(b)
        try context.save()
        let fresh = stack.newContext()
        let same = try fresh.existingObject(with: a.objectID)
        let dangling = try #require(try same.object(forKey: "b"))
        #expect(dangling["name"] == .null && dangling.isDeleted)
        same["n"] = 1
        try fresh.save()
        #expect(same["b"] == .objectID(b.objectID))
    }
}
