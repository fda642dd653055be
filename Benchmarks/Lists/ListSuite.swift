import Foundation
import Hornbeam

/// Rows L1 to L3: the processor time of a controller with 100,000 results in the order of two attributes, which another context changes.
struct ListSuite {
    let options: Options
    let folder: Folder

    static let rows = [
        Row(id: "L1", title: "10 k of 100 k results change in one save of another context: merge, new results, differences", unit: "ms", goal: .atMost(60)),
        Row(id: "L1m", title: "… the merge without a controller", unit: "ms"),
        Row(id: "L1s", title: "… with 1,000 sections", unit: "ms"),
        Row(id: "L2", title: "1 of 100 k results changes: new results, differences", unit: "ms"),
        Row(id: "L3", title: "fetch of 100 k results in 1,000 sections", unit: "ms"),
        Row(id: "L3c", title: "… with a section cache", unit: "ms"),
    ]

    private var count: Int { options.isSmoke ? 2_000 : 100_000 }

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        let path = try folder.empty("lists")
        let container = try PersistentContainer.open(
            ManagedObjectModel(for: Department.self, Employee.self), [Department.self, Employee.self], at: path, keepsHistory: true)
        try container.performAndWait { context in
            _ = try context.execute(BatchInsertRequest(Employee.self, from: 0..<count) { number, row in
                row.set(Employee.name, "Employee \(number)")
                row.set(Employee.salary, StaffSuite.salary(number) % 1000)
            })
        }
        for repetition in 0..<options.repetitions {
            note("lists, repetition \(repetition + 1) of \(options.repetitions)")
            try measureFetches(container, &results)
            try measureChanges(container, nil, ["L1", "L2"], &results)
            try measureChanges(container, "salary", ["L1s"], &results)
            try measureMerge(container, &results)
        }
        try container.close()
        _ = try folder.empty("lists")
    }

    private var request: FetchRequest<Employee> { FetchRequest<Employee>().sorted(by: \.salary).sorted(by: \.name) }

    private func measureFetches(_ container: PersistentContainer, _ results: inout Results) throws {
        try fetch(container, cacheName: "staff", nil, &results)
        for _ in 0..<3 {
            try fetch(container, cacheName: nil, "L3", &results)
            try fetch(container, cacheName: "staff", "L3c", &results)
        }
    }

    /// - Parameter id: Nil for the fetch that writes the cache.
    private func fetch(_ container: PersistentContainer, cacheName: String?, _ id: String?, _ results: inout Results) throws {
        let list = try FetchedResultsController(request, in: container.newContext(), sectionedBy: "salary", cacheName: cacheName)
        let (seconds, _) = try processorTimed { try list.performFetch() }
        guard let id else { return }
        results.check(id, .hornbeam, UInt64(list.sections.reduce(0) { $0 + $1.count }), expected: UInt64(count))
        results.add(id, .hornbeam, seconds * 1e3)
    }

    private func measureChanges(
        _ container: PersistentContainer, _ section: String?, _ ids: [String], _ results: inout Results
    ) throws {
        let context = container.newContext()
        let list = try FetchedResultsController(request, in: context, sectionedBy: section)
        var changed = 0
        list.onChange = { changed += $0.objects.count }
        try list.performFetch()
        for id in ids {
            let part = id == "L2" ? 1 : count / 10
            for round in 0..<3 {
                try change(container, part, round)
                changed = 0
                let (seconds, _) = try processorTimed { try context.mergeChanges() }
                results.add(id, .hornbeam, seconds * 1e3)
                results.check(id, .hornbeam, UInt64(changed), expected: UInt64(part))
            }
        }
    }

    private func measureMerge(_ container: PersistentContainer, _ results: inout Results) throws {
        let context = container.newContext()
        let employees = try context.fetch(request)
        try change(container, count / 10, 5)
        let (seconds, _) = try processorTimed { try context.mergeChanges() }
        results.add("L1m", .hornbeam, seconds * 1e3)
        withExtendedLifetime(employees) {}
    }

    /// Changes the salaries of employees that are spread over the list.
    private func change(_ container: PersistentContainer, _ part: Int, _ round: Int) throws {
        try container.performAndWait { context in
            let employees = try context.fetch(FetchRequest<Employee>())
            for number in 0..<part { employees[number * (count / part)].salary = (employees[number * (count / part)].salary + 389 + round) % 1000 }
            try context.save()
        }
    }
}
