import Foundation
import Hornbeam
import Testing

/// The automatic processing and merging of the view context and its children.
@MainActor @Suite struct ViewContextTests {
    /// Waits until a condition is true, for a minute at most.
    private func wait(until holds: () -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(60)
        while !holds(), ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test("MOC-31, MOC-6: a child of the view context merges saves of other contexts and changes of its parent automatically", arguments: StoreKind.allCases)
    func childrenFollow(kind: StoreKind) async throws {
        let stack = try Company.stack(kind)
        let view = stack.container.viewContext
        let employee = view.employee("e")
        try view.save()
        let child = view.newChildContext().newChildContext()
        let controller = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "name"), in: child)
        var updates = 0
        controller.onChange = { updates += $0.objects.count }
        try controller.performFetch()
        let same = try child.existingObject(Employee.self, with: employee.objectID)
        let other = stack.newContext()
        try other.existingObject(Employee.self, with: employee.objectID).salary = 9
        try other.save()
        try await wait { updates > 0 }
        #expect(updates == 1 && same.salary == 9)
        employee.name = "renamed"
        try await wait { updates > 1 }
        #expect(updates == 2 && same.name == "renamed")
        child.employee("new")
        try await wait { updates > 2 }
        #expect(updates == 3 && controller.fetchedObjects?.count == 2)
    }

    @Test("MOC-31: a child that does not follow keeps its values", arguments: StoreKind.allCases)
    func childrenThatDoNotFollow(kind: StoreKind) async throws {
        let stack = try Company.stack(kind)
        let view = stack.container.viewContext
        let employee = view.employee("e")
        try view.save()
        let children = [view.newChildContext(), view.newChildContext()]
        children[0].automaticallyMergesChangesFromParent = false
        let same = try children.map { try $0.existingObject(Employee.self, with: employee.objectID) }
        #expect(same.map(\.name) == ["e", "e"])
        employee.name = "renamed"
        try await wait { same[1].name == "renamed" }
        #expect(same.map(\.name) == ["e", "renamed"])
    }

    /// Found with a list that was not updated: the store could not be read, and no error was reported.
    @Test("MOC-31: a failed automatic merge of the view context calls its handler", arguments: StoreKind.allCases)
    func mergeFailuresArrive(kind: StoreKind) async throws {
        let stack = try Company.stack(kind)
        let view = stack.container.viewContext
        let employee = view.employee("e")
        try view.save()
        var failures: [HornbeamError] = []
        view.onMergeFailure = { failures.append($0) }
        let coordinator = stack.container.persistentStoreCoordinator
        let other = stack.newContext()
        try other.existingObject(Employee.self, with: employee.objectID).salary = 9
        try other.save()
        try coordinator.remove(coordinator.persistentStores[0])
        try await wait { !failures.isEmpty }
        #expect(failures.first?.code == .closed && view.lastMergeFailure?.code == .closed)
    }
}
