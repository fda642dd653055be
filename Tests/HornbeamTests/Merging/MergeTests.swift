import Foundation
import Hornbeam
import Testing

// Two contexts on one row. In the diagrams, time runs downwards:
//
//     mine                      theirs
//     reads name, counter
//                               changes, saves
//     changes, saves

@Suite struct MergeTests {
    /// Two contexts that have both read one saved object; `mine` merges automatically or keeps the values that it read.
    private struct Pair {
        let stack: Stack
        let mine: ManagedObjectContext
        let theirs: ManagedObjectContext
        let a: PEntity
        let b: PEntity

        init(_ kind: StoreKind, follows: Bool) throws {
            stack = try Parity.stack(kind)
            let writer = stack.newContext()
            let object = PEntity(context: writer)
            object.name = "name"
            object.counter = 20
            object.score = 1
            try writer.save()
            mine = follows ? stack.newContext() : stack.newStaleContext()
            theirs = stack.newOtherContext()
            a = try mine.existingObject(PEntity.self, with: object.objectID)
            b = try theirs.existingObject(PEntity.self, with: object.objectID)
            _ = (a.name, b.name)
        }

        /// The value in a new context; nil when the row is deleted.
        func stored() throws -> (name: String?, counter: Int32)? {
            let context = stack.newContext()
            guard let object = try context.fetch(FetchRequest<PEntity>()).first else { return nil }
            return (object.name, object.counter)
        }
    }

    //     mine                      theirs
    //     changes, undoes
    //                               changes, saves
    //     changes, saves
    @Test("A change that was reverted causes no conflict", arguments: StoreKind.withOtherProcess)
    func aChangeTakenBackLeavesNoOldVersionBehind(kind: StoreKind) throws {
        let pair = try Pair(kind, follows: true)
        pair.a.name = "mine"
        pair.a.name = "name"
        try pair.mine.save()
        pair.b.counter = 21
        try pair.theirs.save()
        try pair.mine.mergeChanges()
        pair.a.name = "mine"
        try pair.mine.save()
        #expect(try #require(try pair.stored()) == ("mine", 21))
    }

    @Test("merge on save: after more changes than are kept, objects held and not held show their rows or none", arguments: StoreKind.withOtherProcess)
    func tooManyChangesToTell(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let writer = stack.newContext()
        let made = (0..<2000).map { number in
            let object = PEntity(context: writer)
            object.name = "\(number)"
            return object
        }
        try writer.save()
        let ids = made.map(\.objectID)
        let reader = stack.newContext()
        let held = try reader.existingObject(PEntity.self, with: ids[0])
        let doomed = try reader.existingObject(PEntity.self, with: ids[1])
        #expect(doomed.name == "1")
        let changed = try reader.existingObject(PEntity.self, with: ids[2])
        changed.counter = 99
        #expect(try reader.fetch(FetchRequest<PEntity>()).reduce(0) { $0 + ($1.name?.count ?? 0) } == 6890)
        let count = 80
        for round in 1...count {
            var update = BatchUpdateRequest(PEntity.self, predicate: nil)
            update.set(PEntity.name, to: "round \(round)")
            _ = try writer.execute(update)
        }
        _ = try writer.execute(BatchDeleteRequest(entityName: "PEntity", objectIDs: [ids[1], ids[3]]))
        try reader.mergeChanges()
        #expect(held.name == "round \(count)")
        #expect(changed.name == "round \(count)" && changed.counter == 99)
        #expect(doomed.name == "1", "who holds a deleted object reads what it was")
        #expect(throws: (any Error).self) { try reader.existingObject(PEntity.self, with: ids[1]) }
        #expect(throws: (any Error).self) { try reader.existingObject(PEntity.self, with: ids[3]) }
        #expect(try reader.existingObject(PEntity.self, with: ids[4]).name == "round \(count)")
        #expect(try reader.fetch(FetchRequest<PEntity>()).allSatisfy { $0.name == "round \(count)" })
    }

    @Test("merge on save: a following context shows the saves of other contexts at its next fetch", arguments: StoreKind.withOtherProcess)
    func followingContextShowsSaves(kind: StoreKind) throws {
        let pair = try Pair(kind, follows: true)
        pair.b.name = "theirs"
        try pair.theirs.save()
        #expect(pair.a.name == "name")
        try pair.mine.mergeChanges()
        #expect(pair.a.name == "theirs")
    }

    @Test("FET-21: a context that does not follow keeps its values until it is refreshed", arguments: StoreKind.withOtherProcess)
    func staleContextKeepsValues(kind: StoreKind) throws {
        let pair = try Pair(kind, follows: false)
        pair.b.name = "theirs"
        try pair.theirs.save()
        _ = try pair.mine.count(FetchRequest<PEntity>())
        #expect(pair.a.name == "name")
        try pair.mine.refresh(pair.a, mergeChanges: false)
        #expect(pair.a.name == "theirs")
    }

    @Test("different properties changed on both sides merge without a conflict", arguments: StoreKind.withOtherProcess)
    func differentPropertiesMerge(kind: StoreKind) throws {
        let pair = try Pair(kind, follows: true)
        pair.a.counter = 21
        pair.b.name = "theirs"
        try pair.theirs.save()
        try pair.mine.save()
        let stored = try #require(try pair.stored())
        #expect(stored.name == "theirs" && stored.counter == 21)
        #expect(pair.a.name == "theirs" && pair.a.counter == 21)
    }

    @Test("NOT-7: a pending edit wins in memory, and the conflict appears at the save", arguments: StoreKind.withOtherProcess)
    func sameBothSidesConflictsAtSave(kind: StoreKind) throws {
        let pair = try Pair(kind, follows: true)
        pair.a.name = "mine"
        pair.b.name = "theirs"
        try pair.theirs.save()
        try pair.mine.mergeChanges()
        #expect(pair.a.name == "mine")
        let error = hornbeamError { try pair.mine.save() }
        #expect(error?.code.rawValue == 133_020 && error?.objectIDs == [pair.a.objectID])
        #expect(pair.mine.hasChanges && pair.a.name == "mine")
        pair.mine.mergePolicy = .mergeByPropertyObjectTrump
        try pair.mine.save()
        #expect(try #require(try pair.stored()).name == "mine")
    }

    @Test("MRG-1: without following, any change of theirs is a conflict (conflict.012)", arguments: StoreKind.withOtherProcess)
    func errorPolicyThrows(kind: StoreKind) throws {
        let pair = try Pair(kind, follows: false)
        pair.a.counter = 21
        pair.b.name = "theirs"
        try pair.theirs.save()
        #expect(hornbeamError { try pair.mine.save() }?.code == .mergeConflict)
        #expect(pair.mine.hasChanges)
    }

    static let policies: [(MergePolicy, String, Int32)] = [
        // both changed `name`; they changed `counter` to 30; I changed `score`.
        (.mergeByPropertyStoreTrump, "theirs", 30),
        (.mergeByPropertyObjectTrump, "mine", 30),
        (.overwrite, "mine", 20),
        (.rollback, "theirs", 30),
    ]

    @Test("MRG-2, MRG-3, MRG-4, MRG-5: update against update, property by property (conflict.006, 014, 016)",
          arguments: StoreKind.withOtherProcess, policies)
    func updateAgainstUpdate(kind: StoreKind, expected: (MergePolicy, String, Int32)) throws {
        let pair = try Pair(kind, follows: false)
        pair.mine.mergePolicy = expected.0
        pair.a.name = "mine"
        pair.a.score = 2
        pair.b.name = "theirs"
        pair.b.counter = 30
        try pair.theirs.save()
        try pair.mine.save()
        let stored = try #require(try pair.stored())
        #expect(stored.name == expected.1 && stored.counter == expected.2)
        #expect(pair.a.name == expected.1 && pair.a.counter == expected.2 && !pair.a.hasChanges)
        #expect(pair.a.score == (expected.0 == .rollback ? 1 : 2))
    }

    @Test("MRG-10: they deleted, I changed (conflict.008, 011)", arguments: StoreKind.withOtherProcess, [
        (MergePolicy.mergeByPropertyStoreTrump, false), (.rollback, false),
        (.mergeByPropertyObjectTrump, true), (.overwrite, true),
    ])
    func updateAgainstDelete(kind: StoreKind, expected: (MergePolicy, Bool)) throws {
        for follows in [false, true] {
            let pair = try Pair(kind, follows: follows)
            pair.mine.mergePolicy = expected.0
            pair.a.name = "mine"
            pair.theirs.delete(pair.b)
            try pair.theirs.save()
            try pair.mine.save()
            let stored = try pair.stored()
            #expect((stored != nil) == expected.1)
            if expected.1 {
                #expect(stored?.name == "mine" && stored?.counter == 20 && !pair.a.isDeleted)
            } else {
                #expect(pair.a.isDeleted && !pair.mine.hasChanges)
            }
        }
    }

    @Test("MRG-10: I deleted, they changed", arguments: StoreKind.withOtherProcess, [
        (MergePolicy.mergeByPropertyStoreTrump, true), (.rollback, true),
        (.mergeByPropertyObjectTrump, false), (.overwrite, false),
    ])
    func deleteAgainstUpdate(kind: StoreKind, expected: (MergePolicy, Bool)) throws {
        let pair = try Pair(kind, follows: false)
        pair.mine.mergePolicy = expected.0
        pair.mine.delete(pair.a)
        pair.b.name = "theirs"
        try pair.theirs.save()
        try pair.mine.save()
        #expect((try pair.stored() != nil) == expected.1)
    }

    @Test("both deleted: the second save has nothing left to do", arguments: StoreKind.withOtherProcess, [true, false])
    func deleteAgainstDelete(kind: StoreKind, follows: Bool) throws {
        let pair = try Pair(kind, follows: follows)
        pair.mine.mergePolicy = .mergeByPropertyObjectTrump
        pair.mine.delete(pair.a)
        pair.theirs.delete(pair.b)
        try pair.theirs.save()
        try pair.mine.save()
        #expect(try pair.stored() == nil && !pair.mine.hasChanges)
    }

    @Test("C-3: an object that another context deleted stays readable, and `isDeleted` is true", arguments: StoreKind.withOtherProcess)
    func deletedElsewhereStaysReadable(kind: StoreKind) throws {
        let pair = try Pair(kind, follows: true)
        pair.theirs.delete(pair.b)
        try pair.theirs.save()
        #expect(try pair.mine.fetch(FetchRequest<PEntity>()).isEmpty)
        #expect(pair.a.isDeleted && pair.a.name == "name" && pair.a.counter == 20 && !pair.mine.hasChanges)
        #expect(hornbeamError { try pair.a.fire() }?.code == .objectNotFound)
    }

    @Test("conflict.021: unchanged objects are not checked; MOC-26: watched ones are", arguments: StoreKind.withOtherProcess)
    func onlyWatchedObjectsAreChecked(kind: StoreKind) throws {
        for watches in [false, true] {
            let pair = try Pair(kind, follows: false)
            if watches { pair.mine.detectConflicts(for: pair.a) }
            _ = PEntity(context: pair.mine)
            pair.b.name = "theirs"
            try pair.theirs.save()
            if watches {
                #expect(hornbeamError { try pair.mine.save() }?.code == .mergeConflict)
            } else {
                try pair.mine.save()
            }
        }
    }

    @Test("MRG-11: members added on both sides are all there, and none twice", arguments: StoreKind.withOtherProcess)
    func membersOfBothSidesMerge(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let writer = stack.newContext()
        let department = writer.department("d")
        let project = writer.project("p")
        let employees = (0..<4).map { writer.employee("\($0)") }
        try writer.save()
        let (one, two) = (stack.newContext(), stack.newOtherContext())
        func add(_ range: Range<Int>, _ context: ManagedObjectContext) throws {
            let d = try context.existingObject(Department.self, with: department.objectID)
            let p = try context.existingObject(Project.self, with: project.objectID)
            for employee in employees[range] {
                let e = try context.existingObject(Employee.self, with: employee.objectID)
                d.employees.insert(e)
                p.employees.insert(e)
            }
        }
        try add(0..<3, one)
        try add(2..<4, two)
        try one.save()
        let d = try two.existingObject(Department.self, with: department.objectID)
        let p = try two.existingObject(Project.self, with: project.objectID)
        try two.mergeChanges()
        #expect(d.employees.count == 4 && d.employees.map(\.name).sorted() == ["0", "1", "2", "3"])
        #expect(p.employees.count == 4 && p.employees.map(\.name).sorted() == ["0", "1", "2", "3"])
        try two.save()
        #expect(d.employees.count == 4 && p.employees.count == 4)
    }

    // MARK: Unique values

    private func uniqueStack(_ kind: StoreKind) throws -> Stack {
        try Stack(kind, ManagedObjectModel {
            Entity("User") {
                Attribute<String>("mail", unique: true)
                Attribute<String?>("name")
                ToOne("team", to: "Team", inverse: "users")
            }
            Entity("Team") { ToMany("users", to: "User", inverse: "team") }
        })
    }

    private func user(_ context: ManagedObjectContext, _ mail: String, _ name: String) throws -> ManagedObject {
        let user = try context.insert(entityNamed: "User")
        user["mail"] = .string(mail)
        user["name"] = .string(name)
        return user
    }

    @Test("MOD-8: a duplicate of a unique value is error 133021 that names the property", arguments: StoreKind.withOtherProcess)
    func duplicateIsAnError(kind: StoreKind) throws {
        let context = try uniqueStack(kind).newContext()
        _ = try user(context, "a@b", "first")
        try context.save()
        let second = try user(context, "a@b", "second")
        let error = try #require(hornbeamError { try context.save() })
        #expect(error.code.rawValue == 133_021 && error.entity == "User" && error.key == "mail")
        #expect(error.objectIDs == [second.objectID])
        #expect(error.message.contains("must be unique"))
        second["mail"] = "c@d"
        try context.save()
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "User")) == 2)
    }

    @Test("MRG-8, MRG-9: a new object replaces a stored object with its unique value, or becomes that object", arguments: StoreKind.withOtherProcess, [
        (MergePolicy.mergeByPropertyObjectTrump, "second"), (.overwrite, "second"),
        (.mergeByPropertyStoreTrump, "first"), (.rollback, "first"),
    ])
    func newObjectAgainstStored(kind: StoreKind, expected: (MergePolicy, String)) throws {
        for storedIsHere in [true, false] {
            let stack = try uniqueStack(kind)
            let writer = stack.newContext()
            let first = try user(writer, "a@b", "first")
            try writer.save()
            let context = storedIsHere ? writer : stack.newOtherContext()
            context.mergePolicy = expected.0
            let team = try context.insert(entityNamed: "Team")
            let second = try user(context, "a@b", "second")
            try second.setValue(team, forKey: "team")
            try context.save()
            let users = try context.fetch(FetchRequest<ManagedObject>(entityName: "User"))
            #expect(users.map(\.objectID) == [first.objectID])
            #expect(try users[0].value(forKey: "name") == .string(expected.1))
            #expect(try team.objects(forKey: "users").count == (expected.1 == "second" ? 1 : 0))
            #expect(!context.hasChanges)
        }
    }

    @Test("MRG-9: of two new objects with one unique value the first survives", arguments: StoreKind.withOtherProcess, [
        (MergePolicy.mergeByPropertyObjectTrump, "second"), (.mergeByPropertyStoreTrump, "first"),
    ])
    func twoNewObjects(kind: StoreKind, expected: (MergePolicy, String)) throws {
        let context = try uniqueStack(kind).newContext()
        context.mergePolicy = expected.0
        let first = try user(context, "a@b", "first")
        let second = try user(context, "a@b", "second")
        try context.save()
        let users = try context.fetch(FetchRequest<ManagedObject>(entityName: "User"))
        #expect(users == [first] && second.managedObjectContext == nil)
        #expect(try first.value(forKey: "name") == .string(expected.1))
    }
}
