import Foundation
import Hornbeam
import Synchronization
import Testing

/// Plans and reports of fetches of dictionaries, and the names of a request's parts in errors.
@Suite struct DictionaryPlanTests {
    private func context(_ count: Int) throws -> (Stack, ManagedObjectContext) {
        let stack = try Company.stack(.inMemory)
        let maker = stack.newContext()
        for number in 0 ..< count { _ = maker.employee("e\(number)", salary: number) }
        try maker.save()
        return (stack, stack.newContext())
    }

    @Test("FET-12: a request ordered by its own column has a plan")
    func planOfColumns() throws {
        let (stack, context) = try context(5)
        let request = try FetchRequest<Employee>().where("salary > 1").sorted(by: "double", ascending: false).limit(2)
            .selecting("name", .expression("double", "salary * 2"))
        #expect(try context.fetch(request).map { $0["double"] } == [8, 6])
        #expect(
            try context.explain(request) == """
                fetch Employee
                  scan Employee: 5 rows
                  filter columns: salary > 1
                  order by ID
                  read name, double of each object
                  sort the dictionaries by double descending
                  take 2
                """)
        let plain = FetchRequest<Employee>().sorted(by: "salary").limit(2).selecting("name")
        #expect(
            try context.explain(plain) == """
                fetch Employee
                  scan Employee: 5 rows
                  sort by salary, keeping the first 2
                  take 2
                  read name of each object
                """)
        withExtendedLifetime(stack) {}
    }

    @Test("FET-14, FET-15: a plan of groups prints how they are made, filtered and ordered")
    func planOfGroups() throws {
        let (stack, context) = try context(5)
        let request = try FetchRequest<Employee>()
            .selecting("department.name", .count(as: "heads"), .sum(of: "salary", as: "sum")).grouped(by: "department.name")
            .having("heads > 5").sorted(by: "sum", ascending: false).offset(1).limit(3)
        #expect(
            try context.explain(request) == """
                fetch Employee
                  scan Employee: 5 rows
                  order by ID
                  group by department.name, totalling count:(SELF), sum:(salary)
                  keep groups with heads > 5
                  sort the dictionaries by sum descending
                  skip 1, take 3
                """)
        let whole = FetchRequest<Employee>().selecting(.sum(of: "salary", as: "sum"))
        #expect(try context.explain(whole).hasSuffix("order by ID\n  one group of all objects, totalling sum:(salary)"))
        withExtendedLifetime(stack) {}
    }

    @Test("a fetch of dictionaries is reported once, with all its time, and without values")
    func reportsOfDictionaries() throws {
        let (stack, context) = try context(500)
        let reports = Mutex<[FetchReport]>([])
        context.persistentStoreCoordinator.reportFetches(slowerThan: .zero) { report in reports.withLock { $0.append(report) } }
        let clock = ContinuousClock()
        let columns = try FetchRequest<Employee>().where("salary < 400").selecting("name", .expression("double", "salary * 2"))
        var found: [[String: PropertyValue]] = []
        let taken = try clock.measure { found = try context.fetch(columns) }
        #expect(found.count == 400)
        let groups = try FetchRequest<Employee>().selecting("isActive", .count(as: "heads")).grouped(by: "isActive").having("heads > 77")
        #expect(try context.fetch(groups).count == 1)
        context.employee("new", salary: 1)
        #expect(try context.fetch(columns).count == 401)
        let all = reports.withLock { $0 }
        #expect(all.map(\.resultCount) == [400, 1, 401])
        let first = try #require(all.first)
        // The system may run another process between the clocks' readings, so a few fetches are tried.
        var isWhole = first.duration < taken && first.duration > taken / 2
        for _ in 0..<5 where !isWhole {
            let again = try clock.measure { _ = try context.fetch(columns) }
            let duration = reports.withLock { $0.last?.duration ?? .zero }
            isWhole = duration < again && duration > again / 2
        }
        #expect(isWhole, "\(first.duration) of \(taken)")
        #expect(first.plan.contains("read name, double of each object") && !first.plan.contains("400"))
        #expect(all[1].plan.contains("keep groups with heads > $value") && !all[1].plan.contains("77"))
        withExtendedLifetime(stack) {}
    }

    @Test("an error names a sort key, a having predicate and a key path as such")
    func partsAreCalledByName() throws {
        let (stack, context) = try context(1)
        func message(_ body: () throws -> Void) -> String { hornbeamError { try body() }?.message ?? "" }
        #expect(
            message { _ = try context.fetch(FetchRequest<Employee>().sorted(by: "nmae")) }
                == "The sort key “nmae” does not fit the entity “Employee”: “Employee” has no property “nmae” (did you mean “name”?).")
        #expect(
            message { _ = try context.fetch(FetchRequest<Employee>().sorted(by: "a,b")) }
                == "“a,b” is not a key path: names, joined by dots, were expected.")
        let request = try FetchRequest<Employee>().selecting("name", .count(as: "heads")).grouped(by: "name").having("haeds > 1")
        #expect(message { _ = try context.fetch(request) }.hasPrefix("The having predicate does not fit the entity “Employee”: "))
        #expect(
            message { _ = try context.fetch(FetchRequest<ManagedObject>()) }
                == "ManagedObject is the class of the objects of every entity, and no entity was named. Name one, as in "
                + "FetchRequest<ManagedObject>(entityName: “Department”), or fetch a class of your own.")
        withExtendedLifetime(stack) {}
    }

    @Test("the first of a lazy result makes one object, or one batch", arguments: [0, 20])
    func firstOfALazyResult(batch: Int) throws {
        let (stack, context) = try context(2_000)
        let found = try context.fetchLazily(FetchRequest<Employee>().batches(of: batch))
        #expect(found.count == 2_000 && context.registeredCount == 0)
        #expect(found.first?.name == "e0")
        #expect(context.registeredCount <= max(batch, 1))
        withExtendedLifetime(stack) {}
    }
}
