import Foundation
import Hornbeam
import Testing

/// Values of members, read without objects.
struct MemberCellsTests {
    private func stack(_ kind: StoreKind, count: Int) throws -> (Stack, ManagedObjectID) {
        let stack = try Company.stack(kind)
        let maker = stack.newContext()
        let department = maker.department("d")
        for number in 0 ..< count {
            let employee = maker.employee("e\(number)", salary: number)
            employee.hired = number % 2 == 0 ? Date(timeIntervalSinceReferenceDate: Double(number)) : nil
            employee.department = department
        }
        try maker.save()
        return (stack, department.objectID)
    }

    private func expectValues(of department: Department, _ title: Comment) {
        let employees = Array(department.employees)
        #expect(department.employees.map(Employee.salary) == employees.map(\.salary), title)
        #expect(department.employees.map(Employee.name) == employees.map(\.name), title)
        #expect(department.employees.map(Employee.hired) == employees.map(\.hired), title)
        #expect(department.employees.map(Employee.isActive) == employees.map(\.isActive), title)
        #expect(department.employees.sum(Employee.salary) == employees.reduce(0) { $0 + $1.salary }, title)
        #expect(department.employees.map(\.salary) == employees.map { $0.salary }, title)
        #expect(department.employees.map(\.hired) == employees.map { $0.hired }, title)
        #expect(department.employees.sum(\.salary) == employees.reduce(0) { $0 + $1.salary }, title)
    }

    @Test("REL-4: values and sums of members create no objects", arguments: StoreKind.allCases, [0, 1, 100])
    func sumsCreateNoObjects(kind: StoreKind, count: Int) throws {
        let (stack, id) = try stack(kind, count: count)
        let context = stack.newContext()
        let department = try context.existingObject(Department.self, with: id)
        #expect(department.employees.sum(Employee.salary) == count * (count - 1) / 2)
        #expect(department.employees.map(Employee.name).count == count)
        #expect(department.employees.sum(\.salary) == count * (count - 1) / 2)
        #expect(department.employees.map(\.name).count == count)
        #expect(context.registeredObjects == [department])
        expectValues(of: department, "all stored")
    }

    @Test("REL-4: values of members are those of objects that the context holds, changed or not", arguments: StoreKind.allCases)
    func valuesOfHeldObjects(kind: StoreKind) throws {
        let (stack, id) = try stack(kind, count: 100)
        let context = stack.newContext()
        let department = try context.existingObject(Department.self, with: id)
        let held = Array(department.employees)
        expectValues(of: department, "faults")
        #expect(held.reduce(0) { $0 + $1.salary } == department.employees.sum(\.salary))
        expectValues(of: department, "fired")
        held[70].salary = 12_345
        expectValues(of: department, "changed")
        try context.save()
        expectValues(of: department, "saved")
        context.delete(held[3])
        try context.save()
        #expect(department.employees.map(\.salary).count == 99)
        expectValues(of: department, "deleted")
    }

    @Test("REL-4: values of members include unsaved changes, new and removed members, and old values of a context that does not merge",
          arguments: Setting.saved)
    func valuesIncludeChanges(setting: Setting) throws {
        let (stack, id) = try stack(setting.kind, count: 10)
        let context = setting.context(of: stack)
        let department = try context.existingObject(Department.self, with: id)
        let first = try #require(department.employees.first)
        first.salary = 1000
        #expect(department.employees.sum(Employee.salary) == 45 - first.committedSalary + 1000)
        expectValues(of: department, "changed")
        context.employee("new", salary: 5).department = department
        expectValues(of: department, "inserted")
        context.delete(first)
        expectValues(of: department, "deleted")
        let other = stack.newContext()
        for employee in try other.existingObject(Department.self, with: id).employees { employee.salary += 7 }
        try other.save()
        expectValues(of: department, "changed by another context")
        try context.mergeChanges()
        expectValues(of: department, "merged")
    }

    @Test("REL-5: values of ordered members are in order")
    func orderedValuesAreInOrder() throws {
        let stack = try Company.stack(.inMemory)
        let context = stack.newContext()
        let project = context.project("p")
        for name in ["c", "a", "b"] {
            let step = Step(context: context)
            step.name = name
            project.tasks.append(step)
        }
        #expect(project.tasks.map(Step.name) == ["c", "a", "b"])
        try context.save()
        let fresh = try stack.newContext().existingObject(Project.self, with: project.objectID)
        #expect(fresh.tasks.map(Step.name) == ["c", "a", "b"])
    }
}

extension Employee {
    fileprivate var committedSalary: Int {
        if case .int(let salary)? = committedValues(forKeys: ["salary"])["salary"] { Int(salary) } else { salary }
    }
}
