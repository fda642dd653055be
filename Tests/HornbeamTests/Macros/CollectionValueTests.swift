import Foundation
import Hornbeam
import Testing

/// `ManagedSet` and `ManagedArray` are values: a mutation changes only the property or variable that it uses.
@Suite struct CollectionValueTests {
    private struct Scene {
        let context: ManagedObjectContext
        let department: Department
        let people: [Employee]
        let project: Project
        let steps: [Step]

        init(_ kind: StoreKind) throws {
            let context = try Company.stack(kind).newContext()
            self.context = context
            department = context.department("d")
            people = ["a", "b", "c", "d"].map { context.employee($0) }
            project = context.project("p")
            steps = (0..<5).map { number in
                let step = Step(context: context)
                step.name = "\(number)"
                return step
            }
            department.employees = ManagedSet(people.prefix(3))
            project.tasks = ManagedArray(steps.prefix(3))
            try context.save()
        }
    }

    @Test("REL-12: a change of a set in a variable changes only the variable, until the set is assigned", arguments: StoreKind.allCases)
    func setsThatStandAlone(kind: StoreKind) throws {
        let scene = try Scene(kind)
        var alone = ManagedSet([scene.people[0]])
        alone.insert(scene.people[3])
        alone.insert(scene.people[3])
        alone.remove(scene.people[1])
        #expect(alone.count == 2 && alone.contains(scene.people[3]) && !alone.contains(scene.people[1]))
        #expect(Array(alone) == [scene.people[0], scene.people[3]] && scene.people[3].department == nil)
        scene.department.employees = alone
        #expect(scene.department.employees.count == 2 && scene.people[3].department === scene.department && scene.people[1].department == nil)
        alone.removeAll()
        #expect(alone.isEmpty && alone.first == nil && scene.department.employees.count == 2)
    }

    @Test("REL-12: a copy in a variable is changed alone; assigning it carries its changes over", arguments: StoreKind.allCases)
    func copiesAreChangedAlone(kind: StoreKind) throws {
        let scene = try Scene(kind)
        var copy = scene.department.employees
        copy.remove(scene.people[0])
        copy.insert(scene.people[3])
        copy.insert(scene.people[1])
        #expect(copy.count == 3 && Set(copy) == Set(scene.people[1...]) && copy.objectIDs.count == 3)
        #expect(copy.indices.map { copy[$0] } == Array(copy) && copy.first == scene.people[1])
        #expect(scene.department.employees.count == 3 && scene.people[0].department === scene.department)
        #expect(!scene.context.hasChanges)
        scene.department.employees = copy
        #expect(Set(scene.department.employees) == Set(scene.people[1...]) && scene.people[0].department == nil)
    }

    @Test("REL-12: assigning a changed copy applies only the changes of the copy", arguments: StoreKind.allCases)
    func onlyOwnChangesGoBack(kind: StoreKind) throws {
        let scene = try Scene(kind)
        var copy = scene.department.employees
        copy.insert(scene.people[3])
        scene.department.employees.remove(scene.people[0])
        scene.department.employees = copy
        #expect(Set(scene.department.employees) == Set(scene.people[1...]))
    }

    @Test("REL-12: a set of one object that is assigned to another replaces the members", arguments: StoreKind.allCases)
    func setsOfOthersReplace(kind: StoreKind) throws {
        let scene = try Scene(kind)
        let other = scene.context.department("e")
        other.employees.insert(scene.people[3])
        other.employees = scene.department.employees
        #expect(Set(other.employees) == Set(scene.people[..<3]) && scene.department.employees.isEmpty && scene.people[3].department == nil)
    }

    @Test("REL-5: an array in a variable keeps its order and has each object once", arguments: StoreKind.allCases)
    func arraysThatStandAlone(kind: StoreKind) throws {
        let scene = try Scene(kind)
        let steps = scene.steps
        var alone = ManagedArray([steps[0], steps[1], steps[0]])
        alone.append(steps[2])
        alone.append(steps[2])
        alone.insert(steps[2], at: 0)
        alone.replace(at: 1, with: steps[4])
        #expect(alone.map(\.name) == ["2", "4", "1"] && steps[4].project == nil)
        alone.remove(at: 0)
        alone.remove(steps[3])
        scene.project.tasks = alone
        #expect(scene.project.tasks.map(\.name) == ["4", "1"] && steps[0].project == nil)
    }

    /// Each change alone, and each pair of changes, in the object and in a copy that is then assigned: the same result as with a Swift array.
    @Test("REL-5: changes through an object and through a copy have the same result", arguments: StoreKind.allCases)
    func changesMeanTheSame(kind: StoreKind) throws {
        let scene = try Scene(kind)
        let steps = scene.steps
        let changes: [(String, (inout ManagedArray<Step>) -> Void)] = [
            ("append", { $0.append(steps[3]) }), ("append a member", { $0.append(steps[0]) }),
            ("append two", { $0.append(contentsOf: steps[3...]) }), ("insert", { $0.insert(steps[4], at: 1) }),
            ("move", { $0.insert(steps[2], at: 0) }), ("remove", { $0.remove(steps[1]) }), ("remove at", { $0.remove(at: 0) }),
            ("replace", { $0.replace(at: 0, with: steps[4]) }), ("replace by a member", { $0.replace(at: 0, with: steps[2]) }),
            ("remove all", { $0.removeAll() }),
        ]
        for (first, change) in changes {
            for (second, then) in changes where first != "remove all" {
                var alone = ManagedArray(steps.prefix(3))
                change(&alone)
                then(&alone)
                change(&scene.project.tasks)
                then(&scene.project.tasks)
                #expect(scene.project.tasks.map(\.name) == alone.map(\.name), "\(first), \(second)")
                scene.context.rollback()
                var copy = scene.project.tasks
                change(&copy)
                then(&copy)
                #expect(copy.map(\.name) == alone.map(\.name) && copy.count == alone.count, "copy: \(first), \(second)")
                #expect(scene.project.tasks.map(\.name) == ["0", "1", "2"] && !scene.context.hasChanges)
                scene.project.tasks = copy
                #expect(scene.project.tasks.map(\.name) == alone.map(\.name), "assigned: \(first), \(second)")
                scene.context.rollback()
            }
        }
    }
}
