import Hornbeam

/// Random changes to a company, repeatable with a seed: objects are selected by name, so that the same seed
/// makes the same changes in any context with the same content.
struct RandomEdits {
    private var generator: SeededGenerator
    private var lastName = 0

    init(seed: UInt64) { generator = SeededGenerator(state: seed) }

    /// Makes one change and returns its description, for the log of a failure.
    mutating func edit(_ context: ManagedObjectContext) throws -> String {
        switch Int.random(in: 0..<14, using: &generator) {
        case 0, 1:
            let employee = context.employee(newName())
            return "new \(employee.name)"
        case 2:
            let department = context.department(newName())
            return "new \(department.name)"
        case 3:
            let project = context.project(newName())
            for _ in 0..<Int.random(in: 0..<3, using: &generator) { step(in: project, context) }
            return "new \(project.name)"
        default:
            return try change(context)
        }
    }

    private mutating func change(_ context: ManagedObjectContext) throws -> String {
        guard let employee: Employee = try any(context) else { return "nothing" }
        let name = employee.name
        switch Int.random(in: 0..<10, using: &generator) {
        case 0, 1:
            employee.salary = Int.random(in: 0..<5, using: &generator)
            return "\(name).salary"
        case 2:
            employee.isActive.toggle()
            return "\(name).isActive"
        case 3:
            let department: Department? = try any(context)
            employee.department = department
            return "\(name).department = \(department?.name ?? "nil")"
        case 4:
            let other: Employee? = try any(context)
            employee.spouse = other === employee ? nil : other
            return "\(name).spouse"
        case 5:
            guard let project: Project = try any(context) else { return "nothing" }
            if employee.projects.contains(project) { employee.projects.remove(project) } else { project.employees.insert(employee) }
            return "\(name).projects ± \(project.name)"
        case 6:
            guard let other: Employee = try any(context), other !== employee else { return "nothing" }
            if employee.friends.contains(other) { employee.friends.remove(other) } else { employee.friends.insert(other) }
            return "\(name).friends ± \(other.name)"
        case 7: return try changeSteps(context)
        case 8:
            guard let department: Department = try any(context) else { return "nothing" }
            let text = "delete \(department.name)"
            context.delete(department)
            return text
        default:
            context.delete(employee)
            return "delete \(name)"
        }
    }

    private mutating func changeSteps(_ context: ManagedObjectContext) throws -> String {
        guard let project: Project = try any(context) else { return "nothing" }
        let name = project.name
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: step(in: project, context)
        case 1:
            if let first = project.tasks.first {
                project.tasks.insert(first, at: Int.random(in: 0..<project.tasks.count, using: &generator))
            }
        case 2: if let last = project.tasks.last { context.delete(last) }
        default: context.delete(project)
        }
        return "steps of \(name)"
    }

    private mutating func step(in project: Project, _ context: ManagedObjectContext) {
        let step = Step(context: context)
        step.name = newName()
        project.tasks.insert(step, at: Int.random(in: 0...project.tasks.count, using: &generator))
    }

    private mutating func any<Object: ManagedObject>(_ context: ManagedObjectContext) throws -> Object? {
        let all = try context.fetch(FetchRequest<Object>()).map { ($0["name"].description, $0) }.sorted { $0.0 < $1.0 }
        return all.randomElement(using: &generator)?.1
    }

    private mutating func newName() -> String {
        lastName += 1
        return "n\(lastName)"
    }
}

extension ManagedObjectContext {
    /// The content of a company in the context, as text: objects by name, relationships by the names at their ends.
    func companyDump() throws -> String {
        var lines: [String] = []
        for entity in ["Department", "Employee", "Project", "Step"] {
            for object in try fetch(FetchRequest<ManagedObject>(entityName: entity)) {
                lines.append("\(entity) \(try Self.line(of: object))")
            }
        }
        return lines.sorted().joined(separator: "\n")
    }

    private static func line(of object: ManagedObject) throws -> String {
        try object.entity.properties.map { property in
            if property.isAttribute { return object[property.name].expandedDescription }
            let names = property.isToMany
                ? try object.objects(forKey: property.name).map { $0["name"].expandedDescription }
                : try object.object(forKey: property.name).map { [$0["name"].expandedDescription] } ?? []
            return "\(property.name): " + (property.isOrdered ? names : names.sorted()).joined(separator: ",")
        }.joined(separator: " ")
    }
}
