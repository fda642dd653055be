import Hornbeam
import Testing

@Suite struct ChildContextTests {
    /// A saved department with two employees, and a child of the context that has them.
    private struct Family {
        let stack: Stack
        let parent: ManagedObjectContext
        let child: ManagedObjectContext
        let department: Department
        let ada: Employee

        init(_ kind: StoreKind) throws {
            stack = try Company.stack(kind)
            parent = stack.newContext()
            department = parent.department("d")
            ada = parent.employee("ada", salary: 1)
            ada.department = department
            parent.employee("bob", salary: 2).department = department
            try parent.save()
            child = parent.newChildContext()
        }

        func inChild<Object: ManagedObject>(_ object: Object) throws -> Object {
            try child.existingObject(Object.self, with: object.objectID)
        }

        func employees(_ context: ManagedObjectContext, _ format: String = "TRUEPREDICATE") throws -> [String] {
            try context.fetch(
                FetchRequest<Employee>(predicate: FetchPredicate(format: format), sortedBy: [FetchSort("name")])
            ).map(\.name)
        }
    }

    @Test("MOC-6: a child shows the unsaved changes of its parent, in values, members, fetches and counts", arguments: StoreKind.allCases)
    func childSeesParentsChanges(kind: StoreKind) throws {
        let family = try Family(kind)
        family.ada.salary = 10
        let eve = family.parent.employee("eve", salary: 5)
        eve.department = family.department
        let ada = try family.inChild(family.ada)
        #expect(ada.salary == 10 && ada !== family.ada && !ada.hasChanges)
        #expect(try family.employees(family.child) == ["ada", "bob", "eve"])
        #expect(try family.employees(family.child, "salary >= 5") == ["ada", "eve"])
        #expect(try family.child.count(FetchRequest<Employee>(predicate: FetchPredicate(format: "salary >= 5"))) == 2)
        let department = try family.inChild(family.department)
        #expect(department.employees.count == 3 && department.employees.map(\.name).sorted() == ["ada", "bob", "eve"])
        let foundEve = try family.inChild(eve)
        #expect(foundEve.objectID == eve.objectID && foundEve.department === department)
        #expect(!family.child.hasChanges)
    }

    @Test("MOC-6, NOT-7: a child that follows shows the newest values once its own change ends", arguments: StoreKind.allCases, ["rollback", "undo", "back", "refresh"])
    func endedChangeShowsTheNewestValues(kind: StoreKind, end: String) throws {
        for isFollowing in [true, false] {
            let family = try Family(kind)
            family.parent.automaticallyMergesChangesFromParent = true
            family.child.automaticallyMergesChangesFromParent = isFollowing
            family.child.undoStack = UndoStack()
            let ada = try family.inChild(family.ada)
            ada.salary = 0
            family.child.processPendingChanges()
            let other = family.stack.newContext()
            try other.existingObject(Employee.self, with: ada.objectID).salary = 4
            try other.save()
            try family.child.mergeFromStore()
            #expect(ada.salary == 0 && family.ada.salary == 4)
            switch end {
            case "rollback": family.child.rollback()
            case "undo": family.child.undo()
            case "back": ada.salary = 1
            default: try family.child.refresh(ada, mergeChanges: false)
            }
            family.child.processPendingChanges()
            let newest = isFollowing || end == "refresh" ? 4 : 1
            #expect(!ada.hasChanges && ada.salary == newest, "\(end), following \(isFollowing)")
            guard isFollowing else { continue }
            #expect(try family.child.fetch(FetchRequest<Employee>().where { $0.salary == 4 }) == [ada])
            #expect(try family.child.fetch(Employee.select(\.salary.sum)) == [6])
        }
    }

    @Test("SAV-6: a save into a parent that changes at each attempt is refused", arguments: StoreKind.allCases)
    func saveWithLastingConflictsIsRefused(kind: StoreKind) throws {
        let family = try Family(kind)
        let ada = try family.inChild(family.ada)
        ada.salary = 99
        family.ada.salary = 2
        nonisolated(unsafe) let parents = family.ada  // the save calls the policy on this thread
        family.child.mergePolicy = .custom(over: .mergeByPropertyObjectTrump) { _ in
            parents.salary += 1
            return [:]
        }
        let error = hornbeamError { try family.child.save() }
        #expect(error?.code == .mergeConflict && error?.objectIDs == [ada.objectID])
        #expect(family.ada.salary > 2 && family.ada.salary < 99 && ada.salary == 99 && family.child.hasChanges)
        family.child.mergePolicy = .mergeByPropertyObjectTrump
        try family.child.save()
        #expect(family.ada.salary == 99)
    }

    @Test("MOC-6: the changes of a child are visible in no other context until it saves", arguments: StoreKind.allCases)
    func childKeepsToItself(kind: StoreKind) throws {
        let family = try Family(kind)
        let ada = try family.inChild(family.ada)
        ada.salary = 99
        family.child.delete(try #require(ada.department))
        let new = family.child.employee("new")
        #expect(family.ada.salary == 1 && family.ada.department === family.department && !family.parent.hasChanges)
        #expect(try family.employees(family.parent) == ["ada", "bob"])
        #expect(family.parent.registeredObject(for: new.objectID) == nil)
        family.child.rollback()
        #expect(ada.salary == 1 && ada.department?.name == "d")
    }

    @Test("SAV-6: a child's save passes all changes to its parent, including transient values, and writes nothing to the store", arguments: StoreKind.allCases)
    func saveGoesOneLevelUp(kind: StoreKind) throws {
        let family = try Family(kind)
        let ada = try family.inChild(family.ada)
        let eve = family.child.employee("eve")
        eve.department = ada.department
        ada.salary = 7
        ada.spouse = eve
        try family.child.save()
        #expect(!family.child.hasChanges && family.parent.hasChanges && eve.objectID.isTemporaryID && !eve.isInserted)
        let above = try #require(family.parent.registeredObject(for: eve.objectID) as? Employee)
        #expect(above.isInserted && above.name == "eve" && above.department === family.department)
        #expect(family.ada.salary == 7 && family.ada.spouse === above && above.spouse === family.ada)
        #expect(family.department.employees.count == 3)
        #expect(try family.employees(family.stack.newContext()) == ["ada", "bob"])
        #expect(eve.name == "eve" && ada.spouse === eve)
    }

    @Test("MOC-6, MOC-17 (1.29, 14): the save of the root context assigns permanent IDs in all contexts", arguments: StoreKind.allCases)
    func rootSaveMakesIDsPermanent(kind: StoreKind) throws {
        let family = try Family(kind)
        let grandchild = family.child.newChildContext()
        let eve = grandchild.employee("eve")
        let early = grandchild.employee("early")
        try grandchild.obtainPermanentIDs(for: [early])
        #expect(!early.objectID.isTemporaryID && early.isInserted)
        try grandchild.save()
        try family.child.save()
        let middle = try family.child.existingObject(Employee.self, with: eve.objectID)
        try family.parent.save()
        #expect(!eve.objectID.isTemporaryID && eve.objectID == middle.objectID)
        #expect(try family.employees(family.stack.newContext()) == ["ada", "bob", "early", "eve"])
        #expect(eve.name == "eve" && middle.name == "eve")
        eve.salary = 3
        try grandchild.save()
        try family.child.save()
        try family.parent.save()
        #expect(try family.stack.newContext().existingObject(Employee.self, with: eve.objectID).salary == 3)
    }

    @Test("DEL-1, DEL-2: a deletion in a child reaches the store through the parent, with its rules", arguments: StoreKind.allCases)
    func deletionGoesUp(kind: StoreKind) throws {
        let family = try Family(kind)
        let late = family.parent.employee("late")
        let department = try family.inChild(family.department)
        family.child.delete(department)
        late.department = family.department
        family.child.mergePolicy = .mergeByPropertyObjectTrump
        try family.child.save()
        #expect(family.department.isDeleted && late.department == nil && family.ada.department == nil)
        #expect(department.managedObjectContext == nil)
        try family.parent.save()
        let fresh = family.stack.newContext()
        #expect(try fresh.count(FetchRequest<Department>()) == 0 && family.employees(fresh) == ["ada", "bob", "late"])
    }

    @Test("MRG-12: parent and child changed one property: the child's policy decides, `error` by default", arguments: StoreKind.allCases, [
        (MergePolicy.error, 0, 0), (.mergeByPropertyObjectTrump, 20, 1), (.mergeByPropertyStoreTrump, 10, 1),
        (.overwrite, 20, 0), (.rollback, 10, 1),
    ])
    func conflictWithParent(kind: StoreKind, expected: (MergePolicy, Int, Int)) throws {
        let family = try Family(kind)
        let ada = try family.inChild(family.ada)
        ada.salary = 20
        family.ada.salary = 10
        family.ada.isActive = false
        family.child.mergePolicy = expected.0
        guard expected.0 != .error else {
            let error = hornbeamError { try family.child.save() }
            #expect(error?.code == .mergeConflict && error?.objectIDs == [ada.objectID])
            #expect(family.child.hasChanges && family.ada.salary == 10)
            return
        }
        try family.child.save()
        #expect(family.ada.salary == expected.1 && family.ada.isActive == (expected.2 == 0))
        #expect(ada.salary == expected.1)
    }

    @Test("different properties changed in parent and child merge without a conflict", arguments: StoreKind.allCases)
    func differentPropertiesMerge(kind: StoreKind) throws {
        let family = try Family(kind)
        let ada = try family.inChild(family.ada)
        ada.salary = 20
        family.ada.name = "ada lovelace"
        try family.child.save()
        #expect(family.ada.salary == 20 && family.ada.name == "ada lovelace" && ada.name == "ada lovelace")
    }

    @Test("MRG-10: the parent deleted what the child changed", arguments: StoreKind.allCases, [
        (MergePolicy.error, false), (.mergeByPropertyObjectTrump, true), (.mergeByPropertyStoreTrump, false),
    ])
    func parentDeleted(kind: StoreKind, expected: (MergePolicy, Bool)) throws {
        let family = try Family(kind)
        let ada = try family.inChild(family.ada)
        ada.salary = 20
        family.parent.delete(family.ada)
        family.child.mergePolicy = expected.0
        if expected.0 == .error {
            #expect(hornbeamError { try family.child.save() }?.code == .mergeConflict)
            family.child.rollback()
        } else {
            try family.child.save()
        }
        #expect(family.ada.isDeleted == !expected.1)
        try family.parent.save()
        #expect(try family.employees(family.stack.newContext()) == (expected.1 ? ["ada", "bob"] : ["bob"]))
    }

    @Test("MOC-31: a child follows its parent at its next fetch, or keeps the values that it has read", arguments: StoreKind.allCases, [true, false])
    func childFollowsParent(kind: StoreKind, follows: Bool) throws {
        let family = try Family(kind)
        family.child.automaticallyMergesChangesFromParent = follows
        let ada = try family.inChild(family.ada)
        #expect(ada.salary == 1)
        family.ada.salary = 2
        #expect(ada.salary == 1)
        try family.child.mergeChanges()
        #expect(ada.salary == (follows ? 2 : 1))
        try family.child.refresh(ada, mergeChanges: false)
        #expect(ada.salary == 2)
        family.parent.rollback()
        try family.child.refresh(ada, mergeChanges: false)
        #expect(ada.salary == 1)
    }

    @Test("MOC-6: a child sees the saves of other contexts after its parent has merged them", arguments: StoreKind.allCases)
    func childSeesForeignSaves(kind: StoreKind) throws {
        let family = try Family(kind)
        let ada = try family.inChild(family.ada)
        ada.isActive = false
        let other = family.stack.newContext()
        try other.existingObject(Employee.self, with: family.ada.objectID).salary = 50
        try other.save()
        try family.child.mergeChanges()
        #expect(ada.salary == 50 && family.ada.salary == 50 && !ada.isActive)
        try family.child.save()
        try family.parent.save()
        let stored = try family.stack.newContext().existingObject(Employee.self, with: family.ada.objectID)
        #expect(stored.salary == 50 && !stored.isActive)
    }

    @Test("SAV-5, VAL-3: a child validates before it passes any change to its parent", arguments: StoreKind.allCases)
    func childValidates(kind: StoreKind) throws {
        let family = try Family(kind)
        _ = Employee(context: family.child)
        #expect(hornbeamError { try family.child.save() }?.code == .missingRequiredValue)
        #expect(!family.parent.hasChanges && family.child.hasChanges)
    }

    @Test("OBJ-1: awakeFromInsert is called once, not again in the parent", arguments: Setting.contexts)
    func awakeFromInsertOnce(setting: Setting) throws {
        let parent = setting.context(of: try Parity.stack(setting.kind))
        let child = parent.newChildContext()
        let object = PHooked(context: child)
        object.name = "x"
        try child.save()
        let above = try #require(parent.registeredObject(for: object.objectID) as? PHooked)
        #expect(object.calls == ["awakeFromInsert", "willSave", "willSave", "didSave"])
        #expect(above.calls == [] && above.note == "stamped")
    }

    @Test("edits made at any depth and saved upwards leave the store as edits made in one context do", arguments: StoreKind.allCases, 1...6)
    func depthMakesNoDifference(kind: StoreKind, seed: Int) throws {
        let (flat, deep) = (try Company.stack(kind), try Company.stack(kind))
        let plain = flat.newContext()
        var chain = [deep.newContext()]
        for _ in 0..<3 { chain.append(chain[chain.count - 1].newChildContext()) }
        var (first, second) = (RandomEdits(seed: UInt64(seed)), RandomEdits(seed: UInt64(seed)))
        var log: [String] = []
        for round in 1...60 {
            let bottom = chain[3]
            let done = try (first.edit(plain), second.edit(bottom))
            log.append(done.0)
            #expect(done.0 == done.1)
            if round % 7 == 0 { try bottom.save() }
            if round % 11 == 0 { for context in chain.reversed() { try context.save() } }
            if round % 13 == 0 { try plain.save() }
            let dumps = try (plain.companyDump(), bottom.companyDump())
            guard dumps.0 == dumps.1 else {
                Issue.record("seed \(seed), round \(round): \(log.suffix(12))\n\(dumps.0)\n--- deep\n\(dumps.1)")
                return
            }
        }
        try plain.save()
        for context in chain.reversed() { try context.save() }
        #expect(try flat.newContext().companyDump() == deep.newContext().companyDump(), "seed \(seed)")
    }
}
