import Foundation
import Hornbeam
import Testing

/// The closures of a controller, its invalidation, and changes by the user.
@Suite struct ControllerModeTests {
    private func employees(_ setting: Setting) throws -> (ManagedObjectContext, [Employee]) {
        let context = setting.context(of: try Company.stack(setting.kind))
        let employees = (0 ..< 4).map { context.employee("e\($0)", salary: $0) }
        try context.saveToStore()
        return (context, employees)
    }

    @Test("FRC-9, FRC-13, FRC-14: the closures receive changes, difference and snapshot, in this order", arguments: Setting.contexts)
    func closuresInOrder(setting: Setting) throws {
        let (context, employees) = try employees(setting)
        let list = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "name"), in: context)
        var calls: [String] = []
        var ids: [ManagedObjectID] = []
        list.onSnapshot = { snapshot in
            calls.append("snapshot \(snapshot.objectIDs.count)")
            #expect(snapshot.objectIDs == ids && snapshot == list.snapshot)
        }
        list.onDifference = { difference in
            calls.append("difference -\(difference.removals.count) +\(difference.insertions.count)")
            guard let next = ids.applying(difference) else {
                Issue.record("the difference does not fit")
                return
            }
            ids = next
        }
        list.onChange = { calls.append("changes \($0.objects.count)") }
        try list.performFetch()
        ids = list.snapshot.objectIDs
        context.delete(employees[1])
        context.processPendingChanges()
        #expect(calls == ["changes 1", "difference -1 +0", "snapshot 3"])
        employees[0].name = "f"
        context.processPendingChanges()
        #expect(calls.suffix(3) == ["changes 1", "difference -1 +1", "snapshot 3"])
        #expect(list.fetchedObjects?.map(\.name) == ["e2", "e3", "f"])
    }

    @Test("FRC-7: each closure alone tracks the results", arguments: 0 ..< 3)
    func eachClosureTracks(closure: Int) throws {
        let (context, employees) = try employees(Setting())
        let list = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "name"), in: context)
        try list.performFetch()
        var calls = 0
        switch closure {
        case 0: list.onChange = { _ in calls += 1 }
        case 1: list.onDifference = { _ in calls += 1 }
        default: list.onSnapshot = { _ in calls += 1 }
        }
        context.delete(employees[0])
        context.processPendingChanges()
        #expect(calls == 1 && list.fetchedObjects?.count == 3)
    }

    @Test("FRC-15: a reset is announced by one call, and the next fetch continues", arguments: Setting.contexts)
    func resetIsAnnounced(setting: Setting) throws {
        let (context, _) = try employees(setting)
        let list = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "name"), in: context)
        var calls: [String] = []
        list.onChange = { _ in calls.append("changes") }
        list.onInvalidation = { calls.append("invalid \(list.isFetched)") }
        try list.performFetch()
        context.reset()
        #expect(calls == ["invalid false"] && list.sections.isEmpty)
        try list.performFetch()
        try context.delete(#require(list.fetchedObjects?.first))
        context.processPendingChanges()
        #expect(calls == ["invalid false", "changes"] && list.fetchedObjects?.count == 3)
    }

    @Test("FRC-15: results whose store is removed are deletions") func objectsOfRemovedStores() throws {
        let stack = try Company.stack(.inMemory)
        let coordinator = stack.container.persistentStoreCoordinator
        let second = try coordinator.addPersistentStore(.inMemory())
        let context = stack.newContext()
        for number in 0 ..< 4 {
            let employee = context.employee("e\(number)")
            if number % 2 == 1 { try context.assign(employee, to: second) }
        }
        try context.save()
        let list = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "name"), in: context)
        var deleted: [String] = []
        list.onChange = { changes in
            for case .delete(let object, let path) in changes.objects { deleted.append("\(path[1]) \(object.managedObjectContext == nil)") }
        }
        try list.performFetch()
        try coordinator.remove(second)
        try context.mergeChanges()
        #expect(deleted == ["3 true", "1 true"])
        #expect(list.fetchedObjects?.map(\.name) == ["e0", "e2"])
    }

    @Test("FRC-16: changes by the user update the results without a call; earlier and later ones are reported", arguments: Setting.contexts)
    func changesByTheUser(setting: Setting) throws {
        let (context, employees) = try employees(setting)
        let list = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "salary"), in: context)
        var calls = 0
        list.onChange = { _ in calls += 1 }
        try list.performFetch()
        context.delete(employees[3])
        let moved = list.performUserDrivenChange {
            for (position, number) in [2, 0, 1].enumerated() { employees[number].salary = position }
            return employees[2]
        }
        #expect(calls == 1 && list.fetchedObjects?.map(\.name) == ["e2", "e0", "e1"] && list.indexPath(for: moved) == [0, 0])
        context.processPendingChanges()
        #expect(calls == 1)
        employees[1].salary = 9
        context.processPendingChanges()
        #expect(calls == 2 && list.fetchedObjects?.map(\.name) == ["e2", "e0", "e1"])
    }

    @Test("FRC-9, FRC-11: a section that changes its place moves with its objects") func sectionsMove() throws {
        let context = try Company.stack(.inMemory).newContext()
        let rows = [("a", 1), ("a", 2), ("b", 3), ("c", 4), ("c", 5)].map { name, salary in context.employee(name, salary: salary) }
        let list = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "salary"), in: context, sectionedBy: "name")
        try list.performFetch()
        var changes: FetchedResultsChanges<Employee>?
        list.onChange = { changes = $0 }
        (rows[3].salary, rows[4].salary) = (0, -1)
        context.delete(rows[1])
        context.processPendingChanges()
        #expect(list.sections.map(\.name) == ["c", "a", "b"])
        let found = try #require(changes)
        #expect(found.deletedSections == [] && found.insertedSections == [] && found.movedSections.map(\.from) == [2] && found.movedSections.map(\.to) == [0])
        var moves: [IndexPath] = []
        for case .move(_, let from, let to) in found.objects { moves += [from, to] }
        #expect(found.objects.count == 3 && moves.map { Array($0) } == [[2, 1], [0, 0]], "one object moves in its section, one is updated, one deleted")
    }
}
