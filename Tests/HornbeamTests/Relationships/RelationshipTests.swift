import Foundation
import Hornbeam
import Testing

@Suite struct RelationshipTests {
    @Test("REL-3: setting the to-one side changes both to-many sides at once", arguments: Setting.all)
    func toOneMaintainsToMany(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let (a, b, e) = (context.department("a"), context.department("b"), context.employee("e"))
        e.department = a
        #expect(Array(a.employees) == [e] && b.employees.isEmpty)
        e.department = b
        #expect(a.employees.isEmpty && Array(b.employees) == [e])
        try setting.prepare(context)
        #expect(a.employees.isEmpty && Array(b.employees) == [e] && b.employees.count == 1)
        e.department = nil
        #expect(b.employees.isEmpty)
    }

    @Test("REL-3: adding to the to-many side sets the to-one side (relation.002, 003)", arguments: Setting.all)
    func toManyMaintainsToOne(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let (a, b) = (context.department("a"), context.department("b"))
        let employees = (0..<3).map { context.employee("\($0)") }
        a.employees = [employees[0], employees[1]]
        #expect(employees[0].department === a && employees[1].department === a)
        employees[2].department = a
        #expect(a.employees.count == 3)
        b.employees.insert(employees[0])
        #expect(a.employees.count == 2 && !a.employees.contains(employees[0]))
        #expect(employees[0].department === b)
        a.employees.remove(employees[1])
        #expect(employees[1].department == nil)
    }

    @Test("REL-12: replacing a set removes the inverse of the dropped members (relation.004)", arguments: Setting.all)
    func replacingASetNullifiesTheDropped(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let d = context.department("d")
        let (e1, e2) = (context.employee("1"), context.employee("2"))
        d.employees = [e1, e2]
        try setting.prepare(context)
        d.employees = [e1]
        #expect(e2.department == nil && (!e1.hasChanges || !setting.isSaved))
        try context.saveToStore()
        let other = stack.newContext()
        let same = try other.existingObject(Department.self, with: d.objectID)
        #expect(same.employees.objectIDs == [e1.objectID])
    }

    @Test("many to many, both ends, over saves and contexts", arguments: Setting.all)
    func manyToMany(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let projects = (0..<3).map { context.project("p\($0)") }
        let employees = (0..<3).map { context.employee("e\($0)") }
        for (i, employee) in employees.enumerated() {
            for project in projects[i...] { employee.projects.insert(project) }
        }
        #expect(projects.map(\.employees.count) == [1, 2, 3])
        try setting.prepare(context)
        #expect(projects.map(\.employees.count) == [1, 2, 3])
        projects[2].employees.remove(employees[0])
        #expect(employees[0].projects.count == 2)
        projects[0].employees.insert(employees[2])
        try context.saveToStore()
        let other = stack.newContext()
        let e0 = try other.existingObject(Employee.self, with: employees[0].objectID)
        let p0 = try other.existingObject(Project.self, with: projects[0].objectID)
        #expect(Set(e0.projects.map(\.name)) == ["p0", "p1"])
        #expect(Set(p0.employees.map(\.name)) == ["e0", "e2"])
    }

    @Test("reflexive: a relationship that is its own inverse, to one and to many", arguments: Setting.all)
    func reflexiveRelationships(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let (a, b, c) = (context.employee("a"), context.employee("b"), context.employee("c"))
        a.friends.insert(b)
        #expect(Array(b.friends) == [a])
        a.spouse = b
        #expect(b.spouse === a)
        c.spouse = b
        #expect(a.spouse == nil && b.spouse === c && c.spouse === b)
        try setting.prepare(context)
        #expect(Array(b.friends) == [a] && Array(a.friends) == [b] && b.spouse === c)
        b.friends.remove(a)
        #expect(a.friends.isEmpty)
        a.friends.insert(a)
        #expect(Array(a.friends) == [a] && a.friends.count == 1)
        try context.saveToStore()
        #expect(Array(a.friends) == [a])
    }

    @Test("REL-5: ordered to-many keeps, inserts, moves and stores its order", arguments: Setting.all)
    func orderedToMany(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let project = context.project("p")
        let steps = (0..<4).map { number in
            let step = Step(context: context)
            step.name = "\(number)"
            return step
        }
        project.tasks = ManagedArray(steps.reversed())
        #expect(project.tasks.map(\.name) == ["3", "2", "1", "0"])
        #expect(steps[0].project === project)
        try setting.prepare(context)
        #expect(project.tasks.map(\.name) == ["3", "2", "1", "0"])
        project.tasks.insert(steps[0], at: 0)
        project.tasks.remove(steps[2])
        try context.saveToStore()
        let other = stack.newContext()
        let same = try other.existingObject(Project.self, with: project.objectID)
        #expect(same.tasks.map(\.name) == ["0", "3", "1"])
        #expect(same.tasks.count == 3 && same.tasks[1].name == "3")
        #expect(steps[2].project == nil)
    }

    private func projectWithSteps(_ context: ManagedObjectContext) throws -> (Project, [Step]) {
        let project = context.project("p")
        let steps = (0..<4).map { number in
            let step = Step(context: context)
            step.name = "\(number)"
            return step
        }
        project.tasks = ManagedArray(steps[0..<3])
        try context.save()
        return (project, steps)
    }

    @Test("REL-5, MRG-11: members that another context adds and removes are merged into a pending order", arguments: StoreKind.allCases)
    func pendingOrdersFollowOthers(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let (project, steps) = try projectWithSteps(context)
        project.tasks.insert(steps[2], at: 0)
        let other = stack.newContext()
        try other.existingObject(Step.self, with: steps[0].objectID).project = nil
        try other.existingObject(Step.self, with: steps[3].objectID).project = try other.existingObject(Project.self, with: project.objectID)
        try other.save()
        try context.mergeChanges()
        #expect(project.tasks.map(\.name) == ["2", "1", "3"] && project.tasks.count == 3)
        try context.save()
        let same = try stack.newContext().existingObject(Project.self, with: project.objectID)
        #expect(same.tasks.map(\.name) == ["2", "1", "3"])
    }

    @Test("REL-5: replace names the member that is replaced, wherever it is at the assignment", arguments: StoreKind.allCases)
    func replacedMembersAreNamed(kind: StoreKind) throws {
        let context = try Company.stack(kind).newContext()
        let (project, steps) = try projectWithSteps(context)
        var tasks = project.tasks
        tasks.replace(at: 1, with: steps[3])
        project.tasks.remove(steps[0])
        project.tasks = tasks
        #expect(project.tasks.map(\.name) == ["3", "2"])
        #expect(context.hasChanges)
    }

    @Test("REL-5: a member that is added through the to-one side is appended", arguments: Setting.all)
    func orderedTakesNewcomersAtTheEnd(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let project = context.project("p")
        for name in ["a", "b"] {
            let step = Step(context: context)
            step.name = name
            step.project = project
        }
        try setting.prepare(context)
        let step = Step(context: context)
        step.name = "c"
        step.project = project
        #expect(project.tasks.map(\.name) == ["a", "b", "c"])
        try context.saveToStore()
        let same = try stack.newContext().existingObject(Project.self, with: project.objectID)
        #expect(same.tasks.map(\.name) == ["a", "b", "c"])
    }

    @Test("relation.011: a to-many may lead to objects of subentities", arguments: Setting.all)
    func destinationsOfSubentities(setting: Setting) throws {
        let model = try ManagedObjectModel {
            Entity("Root") { ToMany("children", to: "Child", inverse: "root") }
            Entity("Child", abstract: true) {
                Attribute<String?>("name")
                ToOne("root", to: "Root", inverse: "children")
            }
            Entity("ChildA", parent: "Child") { Attribute<Int?>("a") }
            Entity("ChildB", parent: "Child") { Attribute<Int?>("b") }
        }
        let stack = try Stack(setting.kind, model)
        let context = setting.context(of: stack)
        let root = try context.insert(entityNamed: "Root")
        for entity in ["ChildA", "ChildB", "ChildA"] {
            try context.insert(entityNamed: entity).setValue(root, forKey: "root")
        }
        try context.saveToStore()
        let same = try stack.newContext().existingObject(with: root.objectID)
        let names = try same.objects(forKey: "children").map(\.entity.name)
        #expect(names.sorted() == ["ChildA", "ChildA", "ChildB"])
        let child = try #require(try same.objects(forKey: "children").first)
        #expect(try child.object(forKey: "root")?.objectID == same.objectID)
    }

    @Test("MOC-12: objectIDs(forRelationshipNamed:) reads no member", arguments: StoreKind.allCases)
    func objectIDsReadNoMember(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let d = context.department("d")
        d.employees = [context.employee("1"), context.employee("2")]
        try context.save()
        let other = stack.newContext()
        let same = try other.existingObject(Department.self, with: d.objectID)
        #expect(try same.objectIDs(forRelationshipNamed: "employees").count == 2)
        #expect(same.employees.count == 2)
        #expect(other.registeredObjects == [same])
        #expect(hornbeamError { _ = try same.objectIDs(forRelationshipNamed: "emploees") }?.code == .unknownKey)
    }
}
