import Foundation
import Hornbeam
import Testing

/// Collections of members in use while their objects, their context or their store are released.
@Suite struct HeldCollectionTests {
    /// The fate of the collection's owner.
    enum Event: CaseIterable { case deleted, deletionSaved, reset, rolledBack, refreshed, closed }

    @Test("REL-5, MOC-22: a collection that outlives its object reads as empty or as it was, and can still be changed and assigned",
          arguments: Setting.saved, Event.allCases)
    func collectionsOutliveTheirObject(setting: Setting, event: Event) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let project = context.project("p")
        project.employees = [context.employee("a"), context.employee("b")]
        project.tasks = ManagedArray((0..<3).map { number in
            let step = Step(context: context)
            step.name = "\(number)"
            return step
        })
        try setting.prepare(context)
        var (employees, tasks) = (project.employees, project.tasks)
        var (changedEmployees, changedTasks) = (project.employees, project.tasks)
        changedEmployees.remove(try #require(project.employees.first))
        changedTasks.remove(at: 0)
        let firstTask = project.tasks[0]
        try perform(event, project, context, stack)
        for set in [employees, changedEmployees] {
            #expect(set.count <= 2 && Array(set).count == set.count && set.isEmpty == (set.count == 0) && set.objectIDs.count == set.count)
            _ = (set.first, set.description, set.objects)
        }
        for array in [tasks, changedTasks] {
            #expect(array.count <= 3 && Array(array).count == array.count && array.objectIDs.count == array.count)
            _ = (array.first, array.last, array.description, array.contains(firstTask))
        }
        if event == .closed { return }
        let new = context.employee("new")
        employees.insert(new)
        changedEmployees.formUnion([new])
        tasks.append(firstTask)
        changedTasks.removeAll()
        #expect(employees.contains(new) && changedEmployees.contains(new) && changedTasks.isEmpty)
        project.employees = employees
        project.tasks = tasks
        let other = context.project("other")
        other.employees = changedEmployees
        other.tasks = changedTasks
        #expect(other.employees.contains(new) && other.tasks.isEmpty)
        try context.saveToStore()
        #expect(!context.hasChanges)
    }

    private func perform(_ event: Event, _ project: Project, _ context: ManagedObjectContext, _ stack: Stack) throws {
        switch event {
        case .deleted: context.delete(project)
        case .deletionSaved:
            context.delete(project)
            try context.saveToStore()
        case .reset: context.reset()
        case .rolledBack: context.rollback()
        case .refreshed: try context.refresh(project, mergeChanges: false)
        case .closed: try stack.container.close()
        }
    }
}
