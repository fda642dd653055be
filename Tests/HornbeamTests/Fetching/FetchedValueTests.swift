import Foundation
import Hornbeam
import Testing

/// Values of the results of a lazy fetch, read without objects.
@Suite struct FetchedValueTests {
    private func stack(_ kind: StoreKind, count: Int) throws -> Stack {
        let stack = try Company.stack(kind)
        let maker = stack.newContext()
        for number in 0 ..< count {
            let employee = maker.employee("e\(number + 100_000)", salary: number)
            employee.hired = number % 2 == 0 ? Date(timeIntervalSinceReferenceDate: Double(number)) : nil
        }
        try maker.save()
        return stack
    }

    /// Reads the values first, since those of existing objects are read through them.
    private func expectValues(of found: FetchedObjects<Employee>, _ title: Comment) {
        let salaries = found.map(\.salary)
        let names = found.map(Employee.name)
        let dates = found.map(\.hired)
        let flags = found.map(\.isActive)
        let objects = Array(found)
        #expect(salaries == objects.map { $0.salary }, title)
        #expect(names == objects.map { $0.name }, title)
        #expect(dates == objects.map { $0.hired }, title)
        #expect(flags == objects.map { $0.isActive }, title)
        #expect(found.map(\.salary) == salaries, title)
    }

    /// Also more results than are read at once.
    @Test("FET-5: the values of an attribute of a lazy result create no objects", arguments: StoreKind.own, [0, 1, 5_000])
    func valuesCreateNoObjects(kind: StoreKind, count: Int) throws {
        let stack = try stack(kind, count: count)
        let context = stack.newContext()
        let found = try context.fetchLazily(FetchRequest<Employee>().sorted(by: "name"))
        #expect(found.map(\.salary) == Array(0 ..< count))
        #expect(found.map(\.name) == (0 ..< count).map { "e\($0 + 100_000)" })
        #expect(found.map(\.hired).compactMap { $0 }.count == (count + 1) / 2)
        #expect(context.registeredCount == 0)
        withExtendedLifetime(stack) {}
    }

    @Test("FET-5: the values of a lazy result are those of its objects, changed, deleted or new", arguments: Setting.contexts)
    func valuesOfObjects(setting: Setting) throws {
        let stack = try stack(setting.kind, count: 50)
        let context = setting.context(of: stack)
        let request = FetchRequest<Employee>().sorted(by: "name")
        let found = try context.fetchLazily(request)
        expectValues(of: found, "stored")
        found[7].salary = 1_000
        expectValues(of: found, "changed after the fetch")
        #expect(found.map(\.salary)[7] == 1_000)
        context.employee("a", salary: 3)
        context.delete(found[9])
        let changed = try context.fetchLazily(request)
        #expect(changed.count == 50 && changed.map(\.name).first == "a")
        expectValues(of: changed, "new and deleted objects")
        try context.saveToStore()
        expectValues(of: try context.fetchLazily(request), "saved")
        let other = stack.newContext()
        for employee in try other.fetch(request) { employee.salary += 1 }
        try other.save()
        expectValues(of: changed, "changed by another context")
        try context.mergeFromStore()
        expectValues(of: changed, "merged")
    }
}
