import Foundation
import Hornbeam
import Testing

@Suite(.refusedByServer(.generations)) struct QueryGenerationTests {
    private func company(_ kind: StoreKind, retaining count: Int = 0) throws -> Stack {
        try Stack(kind, Company.model(), Company.classes) { $0.retainedGenerations = count }
    }

    private func names(_ context: ManagedObjectContext) throws -> [String] {
        try context.fetch(FetchRequest<Employee>(sortedBy: [FetchSort("name")])).map(\.name)
    }

    @Test("QGN-1: pinned, a context reads one state by fetch, count, fault and relationship", arguments: StoreKind.allCases)
    func pinnedReadsOneState(kind: StoreKind) throws {
        let stack = try company(kind)
        let (writer, reader) = (stack.newContext(), stack.newContext())
        #expect(reader.queryGenerationToken == nil)
        let (a, b, d) = (writer.employee("a", salary: 1), writer.employee("b"), writer.department("d"))
        d.employees = [a]
        try writer.save()
        try reader.setQueryGeneration(from: .current)
        let fault = reader.object(with: a.objectID)
        a.name = "A"
        d.employees = [b]
        try writer.save()
        writer.delete(b)
        _ = writer.employee("c")
        try writer.save()
        #expect(try names(reader) == ["a", "b"])
        #expect(try reader.count(FetchRequest<Employee>()) == 2)
        #expect(fault["name"] == "a" && fault["salary"] == 1)
        let department = try reader.existingObject(Department.self, with: d.objectID)
        #expect(department.employees.map(\.name) == ["a"])
        #expect(try reader.existingObject(Employee.self, with: b.objectID).department == nil)
        try reader.refreshAllObjects()
        #expect(try names(reader) == ["a", "b"])
        try reader.setQueryGeneration(from: nil)
        #expect(try names(reader) == ["A", "c"])
        #expect(fault["name"] == "A" && department.employees.isEmpty && reader.queryGenerationToken == nil)
    }

    @Test("QGN-1: a token pins other contexts to the same state, on any thread", arguments: StoreKind.allCases)
    func tokensTravel(kind: StoreKind) async throws {
        let stack = try company(kind)
        let writer = stack.newContext()
        let a = writer.employee("a")
        try writer.save()
        try writer.setQueryGeneration(from: .current)
        let token = try #require(writer.queryGenerationToken)
        try await stack.container.performBackgroundTask { context in
            context.delete(try context.fetch(FetchRequest<Employee>()))
            try context.save()
        }
        let id = a.objectID
        let name = try await stack.container.performBackgroundTask { context in
            try context.setQueryGeneration(from: token)
            #expect(context.queryGenerationToken == token)
            return try context.existingObject(Employee.self, with: id).name
        }
        #expect(name == "a")
        #expect(try writer.count(FetchRequest<Employee>()) == 1)
        #expect(try stack.newContext().count(FetchRequest<Employee>()) == 0)
        let newest = try stack.container.persistentStoreCoordinator.currentQueryGeneration()
        #expect(newest != token && newest.transaction == token.transaction.map { $0 + 1 })
    }

    @Test("QGN-2, MOC-30: setting, saving, merging and resetting move a pinned context; batches do not", arguments: StoreKind.allCases)
    func callsThatMoveAPinnedContext(kind: StoreKind) throws {
        let stack = try company(kind)
        let (writer, reader) = (stack.newContext(), stack.newContext())
        var count = 0
        func add() throws {
            _ = writer.employee("e\(count)")
            try writer.save()
            count += 1
        }
        func shown() throws -> Int { try reader.count(FetchRequest<Employee>()) }
        try add()
        try reader.setQueryGeneration(from: .current)
        try add()
        #expect(try shown() == count - 1)
        try reader.setQueryGeneration(from: .current)
        #expect(try shown() == count)
        try add()
        _ = reader.department("d")
        #expect(try shown() == count - 1)
        try reader.save()
        #expect(try shown() == count && reader.queryGenerationToken != nil)
        try add()
        try reader.mergeChanges()
        #expect(try shown() == count)
        try add()
        try reader.mergeChanges(from: ObjectChanges())
        #expect(try shown() == count)
        try add()
        reader.reset()
        #expect(try shown() == count && reader.queryGenerationToken != nil)
        try add()
        var batch = BatchUpdateRequest(entityName: "Employee")
        batch.set(Employee.salary, to: 5)
        try reader.execute(batch)
        #expect(try shown() == count - 1)
        #expect(try reader.fetch(FetchRequest<Employee>()).allSatisfy { $0.salary == 0 })
        try reader.setQueryGeneration(from: nil)
        #expect(try reader.fetch(FetchRequest<Employee>()).allSatisfy { $0.salary == 5 })
    }

    @Test("QGN-4: children are never pinned, tokens are of one store", arguments: StoreKind.allCases)
    func childrenAndTokensOfOtherStoresAreRefused(kind: StoreKind) throws {
        let stack = try company(kind)
        let parent = stack.newContext()
        try parent.setQueryGeneration(from: .current)
        let child = parent.newChildContext()
        #expect(child.queryGenerationToken == nil)
        let refused = hornbeamError { try child.setQueryGeneration(from: .current) }
        #expect(refused?.code.rawValue == 134_091 && refused?.message.contains("child context") == true)
        let foreign = try company(kind).container.persistentStoreCoordinator.currentQueryGeneration()
        #expect(hornbeamError { try parent.setQueryGeneration(from: foreign) }?.code == .unsupportedRequest)
        let coordinator = stack.container.persistentStoreCoordinator
        #expect(hornbeamError { _ = try coordinator.queryGeneration(at: 999_999) }?.code == .snapshotExpired)
        let other = stack.newContext()
        _ = other.employee("a")
        try other.save()
        #expect(try child.count(FetchRequest<Employee>()) == 0)
        try parent.setQueryGeneration(from: nil)
        #expect(try child.count(FetchRequest<Employee>()) == 1)
    }

    @Test("QGN-6: a save from an old state conflicts with later saves of other contexts, and the policy resolves the conflicts",
          arguments: StoreKind.allCases, [
            ("error", nil), ("storeTrump", "theirs"), ("objectTrump", "mine"), ("overwrite", "mine"), ("rollback", "theirs"),
          ] as [(String, String?)])
    func savingFromAnOldState(kind: StoreKind, expected: (policy: String, name: String?)) throws {
        let policies: [String: MergePolicy] = [
            "error": .error, "storeTrump": .mergeByPropertyStoreTrump, "objectTrump": .mergeByPropertyObjectTrump,
            "overwrite": .overwrite, "rollback": .rollback,
        ]
        let stack = try company(kind)
        let (theirs, mine) = (stack.newContext(), stack.newContext())
        let a = theirs.employee("a")
        try theirs.save()
        mine.mergePolicy = try #require(policies[expected.policy])
        try mine.setQueryGeneration(from: .current)
        a.name = "theirs"
        try theirs.save()
        let same = try mine.existingObject(Employee.self, with: a.objectID)
        same.name = "mine"
        if let name = expected.name {
            try mine.save()
            #expect(same.name == name)
            #expect(try stack.newContext().existingObject(Employee.self, with: a.objectID).name == name)
        } else {
            #expect(hornbeamError { try mine.save() }?.code.rawValue == 133_020)
            mine.rollback()
            #expect(same.name == "a")
            try mine.mergeChanges()
            #expect(same.name == "theirs")
        }
    }

    @Test("QGN-1, QGN-3: a context moves to retained transactions and forward again, and objects show each state at once",
          arguments: StoreKind.allCases)
    func timeTravel(kind: StoreKind) throws {
        let stack = try company(kind, retaining: 10)
        let coordinator = stack.container.persistentStoreCoordinator
        let (writer, reader) = (stack.newContext(), stack.newContext())
        let (a, b) = (writer.employee("a", salary: 0), writer.employee("b"))
        try writer.save()
        let (mine, gone) = (reader.object(with: a.objectID), reader.object(with: b.objectID))
        #expect(mine["salary"] == 0 && gone["name"] == "b")
        let first = try #require(coordinator.currentQueryGeneration().transaction)
        for salary in 1...5 {
            a.salary = salary
            if salary == 3 { writer.delete(b) }
            try writer.save()
        }
        try reader.mergeChanges()
        #expect(mine["salary"] == 5 && gone.isDeleted)
        for salary in [0, 4, 2, 3, 1] {
            try reader.setQueryGeneration(from: coordinator.queryGeneration(at: first + UInt64(salary)))
            #expect(mine["salary"] == .int(Int64(salary)))
            #expect(gone.isDeleted == (salary >= 3))
            #expect(try names(reader) == (salary < 3 ? ["a", "b"] : ["a"]))
        }
        mine["name"] = "pending"
        try reader.setQueryGeneration(from: nil)
        #expect(mine["salary"] == 5 && mine["name"] == "pending" && gone.isDeleted)
        try reader.save()
        #expect(try names(writer) == ["pending"])
        try writer.setQueryGeneration(from: coordinator.queryGeneration(at: first))
        #expect(a.name == "a" && a.salary == 0)
        a.salary = 9
        #expect(hornbeamError { try writer.save() }?.code == .mergeConflict)
        writer.mergePolicy = .mergeByPropertyObjectTrump
        try writer.save()
        #expect(a.salary == 9 && a.name == "pending")
    }

    @Test("QGN-5: a state that is not retained is released, and pinning to it throws an error", arguments: StoreKind.allCases)
    func notRetained(kind: StoreKind) throws {
        let stack = try company(kind, retaining: 2)
        let coordinator = stack.container.persistentStoreCoordinator
        let writer = stack.newContext()
        for number in 0..<6 {
            _ = writer.employee("e\(number)")
            try writer.save()
        }
        _ = try coordinator.currentQueryGeneration()
        let kept = try #require(coordinator.retainedTransactions().values.first)
        let newest = try #require(kept.last)
        #expect(kept.suffix(3) == [newest - 2, newest - 1, newest])
        let error = hornbeamError { _ = try coordinator.queryGeneration(at: newest - 4) }
        #expect(error?.code.rawValue == 9_111)
    }

    @Test("a walk through all states shows each as it was saved, children included", arguments: StoreKind.allCases, 1...3)
    func randomTravel(kind: StoreKind, seed: Int) throws {
        let stack = try company(kind, retaining: 40)
        let coordinator = stack.container.persistentStoreCoordinator
        let (writer, reader) = (stack.newContext(), stack.newContext())
        let child = reader.newChildContext()
        var edits = RandomEdits(seed: UInt64(seed))
        var generator = SeededGenerator(state: UInt64(seed))
        var states: [UInt64: String] = [:]
        for _ in 0..<25 {
            for _ in 0...2 { _ = try edits.edit(writer) }
            try writer.save()
            let transaction = try #require(coordinator.currentQueryGeneration().transaction)
            states[transaction] = try writer.companyDump()
            guard let past = states.keys.sorted().randomElement(using: &generator) else { continue }
            try reader.setQueryGeneration(from: coordinator.queryGeneration(at: past))
            #expect(try reader.companyDump() == states[past], "seed \(seed), \(past) of \(transaction)")
            #expect(try child.companyDump() == states[past], "seed \(seed), \(past) of \(transaction), in the child")
            if Bool.random(using: &generator) {
                try reader.setQueryGeneration(from: nil)
                #expect(try reader.companyDump() == states[transaction], "seed \(seed), back at \(transaction)")
                #expect(try child.companyDump() == states[transaction], "seed \(seed), back at \(transaction), in the child")
            }
        }
    }
}
