import Foundation
import Hornbeam
import Synchronization
import Testing

/// Statistics of fetches: counters, reports of slow ones, plans with unsaved changes.
@Suite struct FetchReportTests {
    private func context(_ count: Int) throws -> (Stack, ManagedObjectContext) {
        let stack = try Company.stack(.inMemory)
        let maker = stack.newContext()
        for number in 0 ..< count { _ = maker.employee("e\(number)", salary: number) }
        try maker.save()
        return (stack, stack.newContext())
    }

    @Test("counters have the rows read, the leaves read and the faults fired by one request")
    func counters() throws {
        let (stack, context) = try context(2_000)
        defer { withExtendedLifetime(stack) {} }
        let before = context.fetchCounters
        let few = try context.fetch(FetchRequest<Employee>().where("salary >= 1990"))
        let fetched = context.fetchCounters - before
        #expect(fetched.fetches == 1 && fetched.rowsRead == 2_000 && fetched.leavesRead > 0 && fetched.faultsFired == 0)
        #expect(few.map(\.salary).reduce(0, +) == (1990 ..< 2000).reduce(0, +))
        #expect((context.fetchCounters - before).faultsFired == 10)
        _ = try context.count(FetchRequest<Employee>())
        #expect((context.fetchCounters - before).description == "2 fetches, 2000 rows and \(fetched.leavesRead) leaves read, 10 faults fired")
    }

    @Test("a fetch over the threshold is reported with its plan and advice, and without the values of its predicate")
    func reports() throws {
        let (stack, context) = try context(3_000)
        let reports = Reports()
        let coordinator = context.persistentStoreCoordinator
        coordinator.reportFetches(slowerThan: .zero) { reports.add($0) }
        _ = try context.fetch(FetchRequest<Employee>().where("name == 'e77'"))
        coordinator.reportFetches(slowerThan: .seconds(600)) { reports.add($0) }
        _ = try context.count(FetchRequest<Employee>().where("name == 'e78'"))
        coordinator.reportFetches(slowerThan: .zero, to: nil)
        _ = try context.fetch(FetchRequest<Employee>())
        defer { withExtendedLifetime(stack) {} }
        let report = try #require(reports.all.first)
        #expect(reports.all.count == 1 && report.resultCount == 1 && report.rowsRead == 3_000 && report.duration > .zero)
        #expect(
            report.plan == """
                fetch Employee
                  scan Employee: 3000 rows
                  filter columns, then texts: name == $value
                  order by ID
                """)
        #expect(report.advice == "an index on Employee(name) would lead to about 1 entry instead of 3000 rows")
        #expect(!report.description.contains("e77"))
    }

    @Test("a report of forEach contains the time of the fetch, not that of the closure")
    func reportsOfForEach() throws {
        let (stack, context) = try context(3_000)
        defer { withExtendedLifetime(stack) {} }
        let reports = Reports()
        let coordinator = context.persistentStoreCoordinator
        coordinator.reportFetches(slowerThan: .zero) { reports.add($0) }
        defer { coordinator.reportFetches(slowerThan: .zero, to: nil) }
        let clock = ContinuousClock()
        var closures = Duration.zero
        let all = try clock.measure {
            try context.forEach(FetchRequest<Employee>()) { employee in
                if employee.salary % 1_000 == 0 { closures += clock.measure { Thread.sleep(forTimeInterval: 0.02) } }
            }
        }
        let report = try #require(reports.all.first)
        #expect(reports.all.count == 1 && report.resultCount == 3_000 && report.rowsRead == 3_000)
        #expect(report.duration > .zero && report.duration + closures <= all)
    }

    @Test("a plan prints how unsaved changes are included")
    func explainWithChanges() throws {
        let (stack, context) = try context(3)
        defer { withExtendedLifetime(stack) {} }
        let request = try FetchRequest<Employee>().where("salary > 0")
        let plain = """
            fetch Employee
              scan Employee: 3 rows
              filter columns: salary > 0
              order by ID
            """
        #expect(try request.explain(in: context) == plain)
        try context.fetch(request)[0].salary = 5
        #expect(try request.explain(in: context) == plain + "\n  and 1 object with unsaved changes, in memory")
        let through = try FetchRequest<Department>().where("ANY employees.salary == 5")
        #expect(
            try through.explain(in: context)
                == "fetch Department\n  all objects in memory: objects that the request reads through relationships have unsaved changes")
    }
}

/// Collects reports from any thread.
private final class Reports: Sendable {
    private let list = Mutex<[FetchReport]>([])
    func add(_ report: FetchReport) { list.withLock { $0.append(report) } }
    var all: [FetchReport] { list.withLock { $0 } }
}
