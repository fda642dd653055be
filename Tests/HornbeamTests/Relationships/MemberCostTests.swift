import Foundation
import Hornbeam
import Testing

/// The cost of changing and walking large relationships, by the times of two sizes.
@Suite struct MemberCostTests {
    /// The least time of three runs, each with a new project of that many stored or unsaved steps.
    private func cost(
        _ count: Int, isSaved: Bool, undoes: Bool = false, _ body: (Project, [Step]) throws -> Void
    ) throws -> Duration {
        try (0 ..< 3).map { _ in
            let stack = try Company.stack(.inMemory)
            let context = stack.newContext()
            let project = context.project("p")
            let steps = (0 ..< count).map { number in
                let step = Step(context: context)
                step.name = "\(number)"
                return step
            }
            project.tasks = ManagedArray(steps)
            if isSaved { try context.save() }
            if undoes { context.undoStack = UndoStack() }
            let taken = try processorTime { try body(project, steps) }
            withExtendedLifetime(stack) {}
            return taken
        }.min() ?? .zero
    }

    /// Ways to remove many members of an ordered relationship.
    static let changes: [(String, @Sendable (Project, [Step]) throws -> Void)] = [
        ("removing all", { project, _ in
            project.tasks.removeAll()
            #expect(project.tasks.isEmpty)
        }),
        ("assigning none", { project, _ in project.tasks = [] }),
        ("assigning every other one", { project, steps in
            let kept = steps.indices.filter { $0 % 2 == 1 }.map { steps[$0] }
            project.tasks = ManagedArray(kept)
            #expect(project.tasks.objectIDs == kept.map(\.objectID))
        }),
        ("assigning the reverse", { project, steps in
            project.tasks = ManagedArray(steps.reversed())
            #expect(project.tasks.objectIDs == steps.reversed().map(\.objectID))
        }),
        ("removing all and taking it back", { project, steps in
            guard let context = project.managedObjectContext else { return }
            context.processPendingChanges()
            project.tasks.removeAll()
            context.processPendingChanges()
            context.undo()
            #expect(project.tasks.objectIDs == steps.map(\.objectID))
        }),
    ]

    @Test("REL-5, REL-12: replacing the members of an ordered relationship takes time linear in their number",
          arguments: changes.indices, [false, true])
    func replacementsAreLinear(_ change: Int, isSaved: Bool) throws {
        let undoes = change == Self.changes.count - 1
        let few = try cost(400, isSaved: isSaved, undoes: undoes, Self.changes[change].1)
        let many = try cost(4_000, isSaved: isSaved, undoes: undoes, Self.changes[change].1)
        #expect(many < few * 30 + .milliseconds(20), "\(Self.changes[change].0): \(few) for 400, \(many) for 4,000")
    }

    @Test("REL-5: undo restores members that were removed together, in their order, and redo removes them again", arguments: Setting.all)
    func undoneReplacements(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let project = context.project("p")
        let steps = (0 ..< 6).map { number in
            let step = Step(context: context)
            step.name = "\(number)"
            return step
        }
        project.tasks = ManagedArray(steps)
        try setting.prepare(context)
        context.undoStack = UndoStack()
        project.tasks = [steps[4], steps[1]]
        context.processPendingChanges()
        #expect(project.tasks.map(\.name) == ["4", "1"] && steps.filter { $0.project === project }.count == 2)
        context.undo()
        #expect(Array(project.tasks) == steps && steps.allSatisfy { $0.project === project })
        context.redo()
        #expect(project.tasks.map(\.name) == ["4", "1"] && steps.filter { $0.project === project }.count == 2)
        context.undo()
        try context.saveToStore()
        #expect(Array(project.tasks) == steps)
    }

    // MARK: Walking

    /// The time of a hundred searches that end with the first member.
    private func searchCost(_ count: Int) throws -> Duration {
        let stack = try Company.stack(.inMemory)
        let maker = stack.newContext()
        let department = maker.department("d")
        for number in 0 ..< count { maker.employee("\(number)").department = department }
        try maker.save()
        let context = stack.newContext()
        let same = try context.existingObject(Department.self, with: department.objectID)
        return (0 ..< 3).map { _ in
            processorTime { for _ in 0 ..< 100 { #expect(same.employees.first { _ in true } != nil) } }
        }.min() ?? .zero
    }

    @Test("MOC-12: a search that ends with the first member costs the same in a small and in a large relationship")
    func searchesReadWhatTheyNeed() throws {
        let few = try searchCost(100)
        let many = try searchCost(8_000)
        #expect(many < few * 5 + .milliseconds(5), "\(few) of 100, \(many) of 8,000")
    }

    @Test("MOC-12: the first member of a set or an array makes one object, a search those that it reads", arguments: StoreKind.allCases)
    func firstMembersMakeOneObject(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let maker = stack.newContext()
        let (made, project) = (maker.department("d"), maker.project("p"))
        for number in 0 ..< 200 {
            maker.employee("\(number)").department = made
            let step = Step(context: maker)
            step.name = "\(number)"
            project.tasks.append(step)
        }
        try maker.save()
        let context = stack.newContext()
        context.retainsRegisteredObjects = true
        let department = try context.existingObject(Department.self, with: made.objectID)
        let tasks = try context.existingObject(Project.self, with: project.objectID).tasks
        #expect(department.employees.first != nil && context.registeredObjects.count == 3)
        #expect(tasks.first?.name == "0" && context.registeredObjects.count == 4)
        #expect(department.employees.first { $0.name == "3" } != nil && context.registeredObjects.count <= 2 + 64 + 1)
    }

    @Test("MOC-12: a walk shows the members of the moment when it began, whatever is changed, saved and merged meanwhile",
          arguments: Setting.saved, [1, 63, 64, 65, 129, 300])
    func walksShowOneState(setting: Setting, count: Int) throws {
        let stack = try Company.stack(setting.kind)
        let maker = stack.newContext()
        let made = maker.department("d")
        let employees = (0 ..< count).map { maker.employee("\($0)") }
        for employee in employees { employee.department = made }
        try maker.save()
        let context = setting.context(of: stack)
        let department = try context.existingObject(Department.self, with: made.objectID)
        var names: [String] = []
        for (place, employee) in department.employees.enumerated() {
            names.append(employee.name)
            if place == 0 {
                maker.employee("new").department = made
                employees[count - 1].department = nil
                try maker.save()
                try context.mergeChanges()
            } else if place == 5 {
                department.employees.remove(employee)
            }
        }
        #expect(names == employees.map(\.name))
        #expect(Array(department.employees).count == department.employees.count)
    }
}
