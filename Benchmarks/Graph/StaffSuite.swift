import Foundation
import Hornbeam

/// Row 11: departments and their employees, walked through the relationship.
struct StaffSuite {
    let options: Options
    let folder: Folder
    let contestants: [any StaffContestant.Type]

    static let rows = [
        Row(id: "11", title: "walk 10,000 departments, sum 200,000 salaries", unit: "ns/employee", goal: .atMost(0.6, .sqlite)),
        Row(id: "11s", title: "the same sums by the relationship's sum(), without objects", unit: "ns/employee", goal: .atMost(0.2, .sqlite)),
        Row(id: "11g", title: "the same sums as one grouped fetch", unit: "ns/employee"),
    ]

    var departments: Int { options.isSmoke ? 200 : 10_000 }
    /// In each department.
    static let staff = 20

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        for repetition in 0..<options.repetitions {
            note("staff, repetition \(repetition + 1) of \(options.repetitions)")
            let order = contestants.indices.map { contestants[($0 + repetition) % contestants.count] }
            var stores: [(Contestant, any StaffContestant)] = []
            for type in order {
                let store = try type.init(path: try folder.empty("\(type.contestant.rawValue)-staff"))
                try store.load(departments: departments, staff: Self.staff)
                stores.append((type.contestant, store))
            }
            let look = Look(perRow: 1e9 / Double(departments * Self.staff))
            for (who, store) in stores { try look.each(who, "11", &results) { try store.walk() } }
            for (who, store) in stores { try look.each(who, "11s", &results) { try store.sums() } }
            for (who, store) in stores { try look.each(who, "11g", &results) { try store.groups() } }
            for (_, store) in stores { try store.close() }
        }
    }

    /// Walks, or sums repeatedly, for a profiler.
    func profile(_ step: String) throws {
        let store = try GraphStaff(path: try folder.empty("staff"))
        try store.load(departments: departments, staff: Self.staff)
        let end = now() + 8
        while now() < end {
            let seconds = try processorTimed { try step == "walk" ? store.walk() : store.sums() }.seconds
            note("\(step): \((seconds * 1e9 / Double(departments * Self.staff)).short) ns an employee")
        }
        try store.close()
    }

    static func salary(_ number: Int) -> Int { 1000 + number &* 7919 % 5000 }
}

/// A contestant with departments and employees.
protocol StaffContestant: AnyObject {
    static var contestant: Contestant { get }

    init(path: String) throws
    /// Employee i is in department i modulo the number of departments.
    func load(departments: Int, staff: Int) throws
    /// The sum over all employees, from one department to the next.
    func walk() throws -> UInt64
    /// The total of the sums of each department's employees. SQL sums in the query.
    func sums() throws -> UInt64
    /// The total of the sums by department that one query computes.
    func groups() throws -> UInt64
    func close() throws
}

@Entity final class Department: ManagedObject {
    var name: String
    var employees: ManagedSet<Employee>
}

@Entity final class Employee: ManagedObject {
    var name: String
    var salary: Int
    var department: Department?
}

final class GraphStaff: StaffContestant {
    static let contestant = Contestant.hornbeam

    private let container: PersistentContainer

    init(path: String) throws {
        container = try .open(ManagedObjectModel(for: Department.self, Employee.self), [Department.self, Employee.self], at: path)
    }

    func load(departments: Int, staff: Int) throws {
        try container.performAndWait { context in
            var request = BatchInsertRequest(Department.self, from: 0..<departments) { number, row in
                row.set(Department.name, "Department \(number)")
            }
            request.resultType = .objectIDs
            let ids = try context.execute(request).objectIDs
            try context.execute(BatchInsertRequest(Employee.self, from: 0..<(departments * staff)) { number, row in
                row.set(Employee.name, "Employee \(number)")
                row.set(Employee.salary, StaffSuite.salary(number))
                row.set(Employee.department, ids[number % departments])
            })
        }
    }

    /// Uses a new context each time, so that objects are made and not found in the registry.
    func walk() throws -> UInt64 {
        try container.performAndWait { context in
            var sum: UInt64 = 0
            for department in try context.fetch(FetchRequest<Department>()) {
                for employee in department.employees { sum &+= UInt64(employee.salary) }
            }
            return sum
        }
    }

    func sums() throws -> UInt64 {
        try container.performAndWait { context in
            try context.fetch(FetchRequest<Department>()).reduce(0) { $0 &+ UInt64($1.employees.sum(\.salary)) }
        }
    }

    func groups() throws -> UInt64 {
        try container.performAndWait { context in
            let request = FetchRequest<Employee>().selecting(.sum(of: "salary", as: "sum")).grouped(by: "department")
            var sum: UInt64 = 0
            for row in try context.fetch(request) { if case .int(let part)? = row["sum"] { sum &+= UInt64(part) } }
            return sum
        }
    }

    func close() throws { try container.close() }
}
