import Foundation
import Hornbeam
import HornbeamModel
import Testing

/// Transitive closures over relationships.
@Suite struct ClosureTests {
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    /// Employees with random friends, spouses and projects; some have none.
    private func fill(_ context: ManagedObjectContext, count: Int, _ random: inout Random) throws {
        let projects = (0 ..< count / 3).map { context.project("p\($0)") }
        let employees = (0 ..< count).map { context.employee("e\($0)", salary: $0 % 10) }
        for employee in employees where Int.random(in: 0 ..< 4, using: &random) > 0 {
            employee.friends.insert(employees.randomElement(using: &random)!)
            employee.projects.insert(projects.randomElement(using: &random)!)
            if Int.random(in: 0 ..< 3, using: &random) == 0 { employee.spouse = employees.randomElement(using: &random)! }
        }
    }

    /// The closure found by walking the objects.
    private func expected(
        _ roots: [Employee], depth: Int, where condition: (Employee) -> Bool, _ step: (Employee) -> [Employee]
    ) -> [ManagedObjectID: Int] {
        var depths: [ManagedObjectID: Int] = [:]
        var seen = Set(roots)
        var level = roots
        for number in 0 ..< depth where !level.isEmpty {
            level = level.flatMap(step).filter { seen.insert($0).inserted && condition($0) }
            for employee in level { depths[employee.objectID] = number + 1 }
        }
        return depths
    }

    /// Compares closures over several paths with walks over the objects.
    private func check(_ context: ManagedObjectContext, seed: UInt64) throws {
        let paths: [(String, (Employee) -> [Employee])] = [
            ("friends", { Array($0.friends) }), ("spouse", { $0.spouse.map { [$0] } ?? [] }),
            ("projects.employees", { $0.projects.flatMap { Array($0.employees) } }),
            ("friends.spouse", { $0.friends.compactMap(\.spouse) }),
        ]
        for name in ["e0", "e1", "e7"] {
            let request = try FetchRequest<Employee>().where("name == %@", name)
            let roots = try context.fetch(request)
            for (path, step) in paths {
                for depth in [1, 2, nil] {
                    for isFiltered in [false, true] {
                        let condition = isFiltered ? try FetchPredicate(format: "salary < 7 AND friends.@count < 5") : nil
                        let members = try context.closure(of: request, over: path, depth: depth, where: condition)
                        let wanted = expected(
                            roots, depth: depth ?? 1000, where: { !isFiltered || ($0.salary < 7 && $0.friends.count < 5) }, step)
                        let found = Dictionary(members.map { ($0.objectID, $0.depth) }) { _, _ in -1 }
                        #expect(found == wanted, "seed \(seed): \(path) from \(name), depth \(depth ?? 0), filtered \(isFiltered)")
                        #expect(zip(members, members.dropFirst()).allSatisfy { $0.depth <= $1.depth })
                        #expect(try context.closure(of: roots, over: path, depth: depth, where: condition) == members)
                    }
                }
            }
        }
    }

    @Test("a closure has the objects that a walk over the objects reaches, with unsaved changes too", arguments: Setting.contexts, 1 ... UInt64(3))
    func agreesWithWalk(setting: Setting, seed: UInt64) throws {
        var random = Random(state: seed)
        let stack = try Company.stack(setting.kind)
        let filling = stack.newContext()
        try fill(filling, count: 60, &random)
        try filling.save()
        let context = setting.context(of: stack)
        try check(context, seed: seed)
        // Changes in the parent, then in the child. The objects of a child that does not follow its parent have older values.
        for changing in [setting.keepsWhatItHas ? nil : context.parent, context].compactMap({ $0 }) {
            var employees = try changing.fetch(FetchRequest<Employee>().sorted(by: "name"))
            let new = (0 ..< 4).map { changing.employee("new\($0)", salary: $0 * 3) }
            for employee in new { employee.friends.insert(employees.randomElement(using: &random)!) }
            employees += new
            for _ in 0 ..< 12 {
                let (a, b) = (employees.randomElement(using: &random)!, employees.randomElement(using: &random)!)
                switch Int.random(in: 0 ..< 5, using: &random) {
                case 0: a.friends = []
                case 1: a.spouse = b
                case 2: a.salary = 9
                case 3: a.projects = b.projects
                default: a.friends.insert(b)
                }
            }
            changing.delete(employees[10])
            changing.delete(employees[11])
            try check(context, seed: seed)
        }
        try context.saveToStore()
        try check(context, seed: seed)
    }

    @Test("a cycle ends, the roots are no results, and the smallest depth counts", arguments: StoreKind.allCases)
    func cycle(kind: StoreKind) throws {
        let context = try Company.stack(kind).newContext()
        let employees = (0 ..< 5).map { context.employee("e\($0)") }
        for number in 0 ..< 5 { employees[number].friends.insert(employees[(number + 1) % 5]) }
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            let members = try context.closure(of: [employees[0]], over: "friends")
            #expect(Set(members.map(\.objectID)) == Set(employees[1...].map(\.objectID)))
            #expect(members.map(\.depth) == [1, 1, 2, 2])
            #expect(try context.closure(of: [employees[0]], over: "friends", depth: 0).isEmpty)
            #expect(try context.closure(of: FetchRequest<Employee>(), over: "friends").isEmpty)
            #expect(try context.closure(of: [Employee](), over: "friends").isEmpty)
        }
    }

    @Test("a relationship of the same name in a sibling entity is not followed", arguments: StoreKind.own)
    func siblingWithSameName(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("Node", abstract: true) { Attribute("name", .string, optional: true) }
            Entity("Part", parent: "Node") { ToOne("next", to: "Node") }
            Entity("End", parent: "Node") { ToOne("next", to: "Paper") }
            Entity("Paper") { Attribute("name", .string, optional: true) }
        }
        let context = try Stack(kind, model).newContext()
        let part = try context.insert(entityNamed: "Part")
        let end = try context.insert(entityNamed: "End")
        let paper = try context.insert(entityNamed: "Paper")
        try part.setValue(end, forKey: "next")
        try end.setValue(paper, forKey: "next")
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            let members = try context.closure(of: FetchRequest<ManagedObject>(entityName: "Part"), over: "next")
            #expect(members.map(\.objectID) == [end.objectID])
        }
    }

    @Test("MOC-17: a new object with a permanent ID is reached over a one-way relationship", arguments: [false, true])
    func newObjectWithPermanentID(isChild: Bool) throws {
        let model = try ManagedObjectModel {
            Entity("Link") {
                Attribute("name", .string, optional: true)
                ToOne("next", to: "Link")
            }
        }
        let context = try Stack(.inMemory, model).newContext()
        let first = try context.insert(entityNamed: "Link")
        try first.setValue("first", forKey: "name")
        try context.save()
        let second = try context.insert(entityNamed: "Link")
        try context.obtainPermanentIDs(for: [second])
        let linking = isChild ? context.newChildContext() : context
        try linking.object(with: first.objectID).setValue(linking.object(with: second.objectID), forKey: "next")
        let members = try linking.closure(of: FetchRequest<ManagedObject>(entityName: "Link").where("name == 'first'"), over: "next")
        #expect(members.map(\.objectID) == [second.objectID])
    }

    @Test("OBJ-19: detached objects lead to no others")
    func detachedRoots() throws {
        let context = try Company.stack(.inMemory).newContext()
        let (first, second) = (context.employee("a"), context.employee("b"))
        first.friends.insert(second)
        try context.save()
        #expect(try context.closure(of: [first], over: "friends").map(\.objectID) == [second.objectID])
        context.reset()
        #expect(first.friends.isEmpty)
        #expect(try context.closure(of: [first], over: "friends").isEmpty)
    }

    @Test("an impossible path, a negative depth and a bad condition are errors")
    func errors() throws {
        let context = try Company.stack(.inMemory).newContext()
        let request = FetchRequest<Employee>()
        for (path, message) in [
            ("department", "the path leads to “Department”, which does not have the relationship “department”."),
            ("name", "“name” is not a stored relationship."),
        ] {
            let error = hornbeamError { _ = try context.closure(of: request, over: path) }
            #expect(error?.code == .predicateInvalid)
            #expect(error?.message == "A closure of “Employee” over “\(path)” is impossible: \(message)")
        }
        #expect(hornbeamError { _ = try context.closure(of: request, over: "friend") }?.code == .unknownKey)
        #expect(hornbeamError { _ = try context.closure(of: request, over: "") }?.code == .unknownKey)
        #expect(hornbeamError { _ = try context.closure(of: request, over: "friends", depth: -1) }?.code == .predicateInvalid)
        let condition = try FetchPredicate(format: "age > 3")
        #expect(hornbeamError { _ = try context.closure(of: request, over: "friends", where: condition) }?.code == .predicateInvalid)
    }
}
