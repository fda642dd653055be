import Foundation
import Hornbeam

/// A directory of employees over a stack that opens at its first use: objects, predicates by format, errors of a save, a sectioned list.
@MainActor enum EmployeeDirectory {
    @Entity final class Company: ManagedObject, UniquelyKeyed {
        @Attribute(.unique) var name: String
        var employees: Set<Employee>

        static var uniqueKey: Hornbeam.Attribute<String> { name }
    }

    @Entity final class Employee: ManagedObject, UniquelyKeyed {
        @Attribute(.unique) var number: Int
        @Attribute(minimumLength: 1) var name: String
        var wage: Int = 0
        @Relationship(inverse: \Company.employees) var company: Company?

        static var uniqueKey: Hornbeam.Attribute<Int> { number }
    }

    static func run() throws -> [String] {
        let model = try ManagedObjectModel(for: Company.self, Employee.self)
        let stack = DataStack(name: "Staff", model: model, classes: [Company.self, Employee.self])
        try stack.configure { $0.persistentStoreDescriptions = [.inMemory()] }
        let context = try stack.mainContext

        let staff = [(1, "Ada", 30, "Engines"), (2, "Grace", 40, "Compilers"), (3, "Alan", 20, "Engines")]
        for (number, name, wage, company) in staff {
            let employee = Employee(in: context, number: number, name: name, wage: wage)
            employee.company = try context.upsert(Company.self, key: company)
        }
        var lines = ["Saved: \(try stack.saveMainContext())", "Saved again: \(try stack.saveMainContext())"]

        let request = try FetchRequest<Employee>().where("wage < %d AND name BEGINSWITH[cd] %@", 35, "a").sorted(by: \.name)
        lines.append("Found: " + (try context.fetch(request).map(\.name)).joined(separator: ", "))

        lines += try sections(context)
        lines += try refusal(stack)
        return lines
    }

    /// The employees by company.
    private static func sections(_ context: ManagedObjectContext) throws -> [String] {
        let request = FetchRequest<Employee>().sorted(by: \.company.name).sorted(by: \.name)
        let controller = try FetchedResultsController(request, in: context, sectionedBy: \.company.name)
        try controller.performFetch()
        return controller.sections.map { section in "\(section.name): " + section.objects.map(\.name).joined(separator: ", ") }
    }

    /// A save that fails reports each error, and the changes stay until they are rolled back.
    private static func refusal(_ stack: DataStack) throws -> [String] {
        let context = try stack.mainContext
        Employee(in: context, number: 4, name: "")
        do {
            try stack.saveMainContext()
            return ["Saved an employee without a name."]
        } catch let error as HornbeamError {
            context.rollback()
            return ["Not saved: \(error.message)", "Employees: \(try context.count(Employee.self))"]
        }
    }
}
