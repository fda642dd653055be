import Foundation
import Hornbeam

final class Department: ManagedObject {
    static let name = Attribute<String>("name")
    static let budget = Attribute<Double>("budget", default: 0)
    static let employees = ToMany<Employee>("employees", inverse: "department")

    override class var tokens: [any PropertyToken] { [name, budget, employees] }

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var budget: Double { get { self[Self.budget] } set { self[Self.budget] = newValue } }
    var employees: ManagedSet<Employee> { get { self[Self.employees] } set { self[Self.employees] = newValue } }
}

final class Employee: ManagedObject {
    static let name = Attribute<String>("name")
    static let salary = Attribute<Int>("salary", default: 0)
    static let hired = Attribute<Date?>("hired")
    static let isActive = Attribute<Bool>("isActive", default: true)
    static let department = ToOne<Department>("department", inverse: "employees")
    static let projects = ToMany<Project>("projects", inverse: "employees")
    static let friends = ToMany<Employee>("friends", inverse: "friends")
    static let spouse = ToOne<Employee>("spouse", inverse: "spouse")

    override class var tokens: [any PropertyToken] {
        [name, salary, hired, isActive, department, projects, friends, spouse]
    }

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var salary: Int { get { self[Self.salary] } set { self[Self.salary] = newValue } }
    var hired: Date? { get { self[Self.hired] } set { self[Self.hired] = newValue } }
    var isActive: Bool { get { self[Self.isActive] } set { self[Self.isActive] = newValue } }
    var department: Department? { get { self[Self.department] } set { self[Self.department] = newValue } }
    var projects: ManagedSet<Project> { get { self[Self.projects] } set { self[Self.projects] = newValue } }
    var friends: ManagedSet<Employee> { get { self[Self.friends] } set { self[Self.friends] = newValue } }
    var spouse: Employee? { get { self[Self.spouse] } set { self[Self.spouse] = newValue } }
}

final class Project: ManagedObject {
    static let name = Attribute<String>("name")
    static let employees = ToMany<Employee>("employees", inverse: "projects")
    static let tasks = OrderedToMany<Step>("tasks", to: "Step", inverse: "project", deleteRule: .cascade)

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var employees: ManagedSet<Employee> { get { self[Self.employees] } set { self[Self.employees] = newValue } }
    var tasks: ManagedArray<Step> { get { self[Self.tasks] } set { self[Self.tasks] = newValue } }
}

final class Step: ManagedObject {
    static let name = Attribute<String>("name")
    static let project = ToOne<Project>("project", inverse: "tasks")

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var project: Project? { get { self[Self.project] } set { self[Self.project] = newValue } }
}

enum Company {
    static let classes: [ManagedObject.Type] = [Department.self, Employee.self, Project.self, Step.self]

    /// The company's model; the delete rules of two relationships are parameters.
    static func model(
        employees: DeleteRule = .nullify, projects: DeleteRule = .nullify
    ) throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Department") {
                Department.name
                Department.budget
                ToMany<Employee>("employees", inverse: "department", deleteRule: employees)
            }
            Entity("Employee") {
                Employee.name
                Employee.salary
                Employee.hired
                Employee.isActive
                Employee.department
                ToMany<Project>("projects", inverse: "employees", deleteRule: projects)
                Employee.friends
                Employee.spouse
            }
            Entity("Project") {
                Project.name
                Project.employees
                Project.tasks
            }
            Entity("Step") {
                Step.name
                Step.project
            }
        }
    }

    static func stack(
        _ kind: StoreKind, employees: DeleteRule = .nullify, projects: DeleteRule = .nullify
    ) throws -> Stack {
        try Stack(kind, model(employees: employees, projects: projects), classes)
    }
}

extension ManagedObjectContext {
    @discardableResult
    func employee(_ name: String, salary: Int = 0) -> Employee {
        let employee = Employee(context: self)
        employee.name = name
        employee.salary = salary
        return employee
    }

    @discardableResult
    func department(_ name: String) -> Department {
        let department = Department(context: self)
        department.name = name
        return department
    }

    @discardableResult
    func project(_ name: String) -> Project {
        let project = Project(context: self)
        project.name = name
        return project
    }
}
