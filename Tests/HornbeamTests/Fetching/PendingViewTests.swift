import Foundation
import Hornbeam
import Testing

/// Fetches with unsaved changes: the same results as testing each object, without a cost for irrelevant changes.
@Suite struct PendingViewTests {
    final class Person: ManagedObject {
        static let code = Attribute<String>("code", unique: true)
        static let rank = Attribute<Int>("rank", default: 0, indexed: true)
        static let note = Attribute<String?>("note")
        static let team = ToOne<Team>("team", inverse: "people")
    }

    final class Team: ManagedObject {
        static let name = Attribute<String?>("name")
        static let people = ToMany<Person>("people", inverse: "team")
    }

    private static func stack(_ kind: StoreKind) throws -> Stack {
        try Stack(kind, ManagedObjectModel {
            Entity("Person") { Person.code; Person.rank; Person.note; Person.team }
            Entity("Member", parent: "Person") { Attribute<Int>("fee", default: 1) }
            Entity("Team") { Team.name; Team.people }
        }, [Person.self, Team.self])
    }

    // MARK: Answers

    /// One round of random work in two contexts of a store, with every kind of request after each step.
    private struct Round {
        var random: SeededGenerator
        let context: ManagedObjectContext
        let other: ManagedObjectContext
        var next = 0

        mutating func below(_ count: Int) -> Int { Int.random(in: 0 ..< count, using: &random) }

        func people(_ context: ManagedObjectContext) throws -> [Person] { try context.fetch(FetchRequest<Person>()) }

        mutating func change() throws {
            let people = try people(context)
            let person = people.isEmpty ? nil : people[below(people.count)]
            let teams = try context.fetch(FetchRequest<Team>())
            switch below(12) {
            case 0, 1, 2:
                next += 1
                let new = below(3) == 0 ? try context.insert(entityNamed: "Member") as? Person : Person(context: context)
                new?[Person.code] = "c\(next)"
                new?[Person.rank] = below(4)
            case 3: person?[Person.rank] = below(4)
            case 4: person?[Person.note] = below(2) == 0 ? nil : "n\(below(3))"
            case 5: if let person { context.delete(person) }
            case 6:
                next += 1
                person?[Person.code] = "c\(next)"
            case 7: person?[Person.team] = teams.isEmpty || below(3) == 0 ? nil : teams[below(teams.count)]
            case 8: Team(context: context)[Team.name] = "t\(below(3))"
            case 9: if let team = teams.first { team[Team.name] = "t\(below(3))" }
            case 10: if below(3) == 0 { try context.save() } else if below(4) == 0 { context.rollback() }
            default: try changeElsewhere()
            }
        }

        /// Another context saves values, members and deletions of objects that may be pending here.
        mutating func changeElsewhere() throws {
            let people = try people(other)
            guard !people.isEmpty else { return }
            let person = people[below(people.count)]
            let teams = try other.fetch(FetchRequest<Team>())
            switch below(5) {
            case 0: person[Person.note] = "n\(below(3))"
            case 1: person[Person.team] = teams.isEmpty ? nil : teams[below(teams.count)]
            case 2: if let team = teams.last { team[Team.name] = "t\(below(3))" }
            case 3: if below(3) == 0 { other.delete(person) }
            default: person[Person.rank] = below(4)
            }
            try other.save()
        }

        func expectRightAnswers(_ step: String) throws {
            let all = try context.fetch(FetchRequest<Person>())
            #expect(all.allSatisfy { !$0.isDeleted }, "\(step)")
            let code = all.last?[Person.code] ?? "c1"
            var formats = ["rank == 2", "rank IN {1, 3}", "rank > 1", "note == 'n1'", "note == nil", "team.name == 't1'", "team == nil"]
            formats += ["rank == 1 AND note != nil", "code == '\(code)'", "team.people.@count > 1"]
            for format in formats {
                let predicate = try FetchPredicate(format: format)
                let expected = try all.filter { try predicate.evaluate(with: $0) }
                let request = FetchRequest<Person>(predicate: predicate)
                let found = try context.fetch(request)
                #expect(found == expected, "\(step): \(format)")
                #expect(try context.count(request) == expected.count, "\(step): \(format)")
                let sorted = try context.fetch(request.sorted(by: "note").limit(2))
                let inOrder = expected.enumerated().sorted { a, b in
                    let (x, y) = (a.element[Person.note] ?? "", b.element[Person.note] ?? "")
                    return x == y ? a.offset < b.offset : x < y
                }
                #expect(sorted == inOrder.prefix(2).map(\.element), "\(step): \(format) in order")
            }
            for wanted in [code, "c2", "none"] {
                #expect(
                    try context.first(Person.self, where: Person.code, equals: wanted) == all.first { $0[Person.code] == wanted }, "\(step)")
            }
            let full = try context.fetch(FetchRequest<Team>().where("ANY people.rank == 2"))
            #expect(try full == context.fetch(FetchRequest<Team>()).filter { $0[Team.people].contains { $0[Person.rank] == 2 } }, "\(step)")
        }
    }

    @Test("FET-10: after any changes, fetches return the results of evaluating each object", arguments: StoreKind.allCases, [false, true])
    func answersAreThoseOfObjects(kind: StoreKind, isChild: Bool) throws {
        for seed in 1 ... 6 as ClosedRange<UInt64> {
            let stack = try Self.stack(kind)
            let root = stack.newContext()
            let context = isChild ? root.newChildContext() : root
            var round = Round(random: SeededGenerator(state: seed), context: context, other: stack.newContext())
            for step in 0 ..< 60 {
                do { try round.change() } catch let error as HornbeamError where error.code == .mergeConflict { context.rollback() }
                if step % 3 == 0 { try round.expectRightAnswers("seed \(seed), step \(step)") }
            }
            withExtendedLifetime(stack) {}
        }
    }

    @Test("OBJ-8: a primitive value that was set after a fetch is found by the next one", arguments: StoreKind.allCases)
    func primitiveValuesAreSeen(kind: StoreKind) throws {
        let stack = try Self.stack(kind)
        let context = stack.newContext()
        let people = (0 ..< 20).map { number in
            let person = Person(context: context)
            person[Person.code] = "c\(number)"
            return person
        }
        #expect(try context.first(Person.self, where: Person.code, equals: "x") == nil)
        people[3].setPrimitiveValue("x", Person.code)
        #expect(try context.first(Person.self, where: Person.code, equals: "x") === people[3])
        #expect(try context.count(FetchRequest<Person>(predicate: Person.code == "c3")) == 0)
    }

    @Test("FET-10: unsaved changes behind an element of a collection, and behind a SUBQUERY, are seen", arguments: StoreKind.own)
    func changesBehindOtherExpressions(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let employee = context.employee("e", salary: 1)
        employee.department = context.department("d")
        let step = Step(context: context)
        step.name = "old"
        let project = context.project("p")
        project.tasks.append(step)
        try context.save()
        let totals = try FetchRequest<Department>().where("SUBQUERY(employees, $e, $e.isActive == 1).@sum.salary == 10")
        let firsts = try FetchRequest<Project>().where("tasks[FIRST].name == 'new'")
        #expect(try context.count(totals) == 0)
        #expect(try context.count(firsts) == 0)
        employee.salary = 10
        step.name = "new"
        #expect(try context.count(totals) == 1)
        #expect(try context.count(firsts) == 1)
    }

    @Test("FET-10: a URL relative to another one is found by its whole text, with few and with many pending changes", arguments: [1, 30])
    func relativeURLs(count: Int) throws {
        let stack = try Stack(.inMemory, ManagedObjectModel { Entity("Page") { Attribute("link", .uri, optional: true) } })
        let context = stack.newContext()
        let base = try #require(URL(string: "http://example.org/"))
        for number in 0 ..< count {
            let link = try #require(URL(string: "p\(number)", relativeTo: base))
            try context.insert(entityNamed: "Page").setValue(link, forKey: "link")
        }
        let whole = try #require(URL(string: "http://example.org/p0"))
        let request = try FetchRequest<ManagedObject>(entityName: "Page").where("link == %@", whole)
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            #expect(try context.count(request) == 1)
            #expect(try context.fetch(request).count == 1)
        }
    }

    @Test("FET-10: look-ups by value follow thousands of objects that are made, changed, deleted and saved", arguments: StoreKind.own)
    func manyValues(kind: StoreKind) throws {
        let stack = try Self.stack(kind)
        let context = stack.newContext()
        func found(_ code: String) throws -> Person? { try context.first(Person.self, where: Person.code, equals: code) }
        func expectHeld(_ people: [Person]) throws {
            for person in people where try found(person[Person.code]) !== person { Issue.record("\(person[Person.code]) is not found.") }
        }
        var kept: [Person] = []
        for round in 0 ..< 3 {
            #expect(try found("none") == nil)
            let people = (0 ..< 1_500).map { number in
                let person = Person(context: context)
                person[Person.code] = "r\(round) \(number)"
                person[Person.rank] = number % 3
                return person
            }
            try expectHeld(people + kept)
            for person in people.prefix(700) { person[Person.code] += " moved" }
            #expect(try found("r\(round) 699") == nil && found("r\(round) 700") === people[700])
            for person in people.prefix(100) { context.delete(person) }
            #expect(try found("r\(round) 99 moved") == nil)
            kept += people.dropFirst(100)
            try expectHeld(kept)
            #expect(try context.fetch(FetchRequest<Person>(predicate: Person.rank == 1)).count == kept.count { $0[Person.rank] == 1 })
            try context.save()
            people[800][Person.code] = "r\(round) changed"
            #expect(try found("r\(round) 800") == nil)
            try expectHeld(kept)
        }
        withExtendedLifetime(stack) {}
    }

    @Test("FET-10: look-ups by value follow most of thousands of new objects being deleted", arguments: StoreKind.own)
    func manyRemovedValues(kind: StoreKind) throws {
        let stack = try Self.stack(kind)
        let context = stack.newContext()
        // Other changes, so that the context keeps its record of the changed objects.
        for _ in 0 ..< 3_000 { _ = Team(context: context) }
        let people = (0 ..< 2_500).map { number in
            let person = Person(context: context)
            person[Person.code] = "c\(number)"
            return person
        }
        func found(_ code: String) throws -> Person? { try context.first(Person.self, where: Person.code, equals: code) }
        #expect(try found("c2400") === people[2400])
        for number in 0 ..< 2_400 {
            context.delete(people[number])
            if number % 100 == 0 {
                #expect(try found("c\(number)") == nil && found("c\(number + 1)") === people[number + 1] && found("c2499") === people[2499])
            }
        }
        for number in 2_400 ..< 2_500 {
            #expect(try found("c\(number)") === people[number])
            people[number][Person.code] = "d\(number)"
            #expect(try found("c\(number)") == nil && found("d\(number)") === people[number])
        }
        withExtendedLifetime(stack) {}
    }

    /// An entity whose hook the test sets. Its objects are faults while only their members change, so that a fetch fires them.
    final class Box: ManagedObject {
        static let name = Attribute<String>("name", indexed: true)
        static let tag = Attribute<String>("tag", indexed: true)
        static let parts = ToMany<Part>("parts", inverse: "box")
        var whenFired: (() throws -> Void)?

        override func awakeFromFetch() {
            let body = whenFired
            whenFired = nil
            do { try body?() } catch { Issue.record(error) }
        }
    }

    final class Part: ManagedObject {
        static let box = ToOne<Box>("box", inverse: "parts")
    }

    @Test("FET-10, OBJ-2: a hook that deletes objects and fetches, while a fetch reads its values, changes no other result", arguments: StoreKind.own)
    func hooksThatFetch(kind: StoreKind) throws {
        let stack = try Stack(kind, ManagedObjectModel {
            Entity("Box") { Box.name; Box.tag; Box.parts }
            Entity("Part") { Part.box }
        }, [Box.self, Part.self])
        let maker = stack.newContext()
        for number in 0 ..< 20 {
            let box = Box(context: maker)
            (box[Box.name], box[Box.tag]) = ("b\(number)", "old")
        }
        try maker.save()
        let context = stack.newContext()
        let ids = try context.fetchIDs(FetchRequest<Box>())
        // New objects that the hook deletes, and other changes, so that the context keeps its record of them.
        for _ in 0 ..< 2_000 { _ = Part(context: context) }
        let removed = (0 ..< 1_500).map { number in
            let box = Box(context: context)
            (box[Box.name], box[Box.tag]) = ("new \(number)", "new")
            return box
        }
        let boxes = try ids.map { id in
            let box = try #require(context.object(with: id) as? Box)
            Part(context: context)[Part.box] = box
            return box
        }
        for box in boxes { #expect(box.isFault && box.isUpdated) }
        var calls = 0
        boxes[3].whenFired = {
            calls += 1
            for box in removed { context.delete(box) }
            let new = try FetchRequest<Box>().where("tag == 'new' AND parts.@count == 0")
            #expect(try context.count(new) == 0)
        }
        for number in 0 ..< 20 {
            let request = try FetchRequest<Box>().where("name == 'b\(number)' AND parts.@count == 1")
            #expect(try context.fetch(request) == [boxes[number]])
        }
        let old = try FetchRequest<Box>().where("tag == 'old' AND parts.@count == 1")
        #expect(try context.count(old) == 20)
        #expect(calls == 1)
        withExtendedLifetime(stack) {}
    }

    @Test("FET-10: look-ups follow an object whose value changes thousands of times", arguments: StoreKind.own)
    func manyFormerValues(kind: StoreKind) throws {
        let stack = try Self.stack(kind)
        let context = stack.newContext()
        let person = Person(context: context)
        let other = Person(context: context)
        other[Person.code] = "other"
        for number in 0 ..< 3_000 {
            person[Person.code] = "c\(number)"
            #expect(try context.first(Person.self, where: Person.code, equals: "c\(number)") === person)
            if number > 0 { #expect(try context.first(Person.self, where: Person.code, equals: "c\(number - 1)") == nil) }
        }
        #expect(try context.first(Person.self, where: Person.code, equals: "other") === other)
        withExtendedLifetime(stack) {}
    }

    // MARK: Costs

    /// The time of a lookup with `count` changed objects, the least of three measurements.
    private func cost(
        _ count: Int, change: (ManagedObjectContext, Int) throws -> Void, _ lookUp: (ManagedObjectContext, String) throws -> Void
    ) throws -> Duration {
        let stack = try Self.stack(.inMemory)
        let maker = stack.newContext()
        let team = Team(context: maker)
        for number in 0 ..< max(count, 1) {
            let person = Person(context: maker)
            person[Person.code] = "c\(number)"
            person[Person.team] = team
        }
        try maker.save()
        let context = stack.newContext()
        try change(context, count)
        try lookUp(context, "c0")
        return try (0 ..< 3).map { _ in
            try processorTime { for number in 0 ..< 200 { try lookUp(context, "c\(number % max(count, 1))") } }
        }.min() ?? .zero
    }

    /// Ways to make many objects pending.
    static let changes: [(String, @Sendable (ManagedObjectContext, Int) throws -> Void)] = [
        ("through the inverse", { context, count in
            for person in try context.fetch(FetchRequest<Person>().limit(count)) { person[Person.team] = nil }
        }),
        ("in another attribute", { context, count in
            for person in try context.fetch(FetchRequest<Person>().limit(count)) { person[Person.note] = "changed" }
        }),
        ("inserted", { context, count in
            for number in 0 ..< count { Person(context: context)[Person.code] = "new\(number)" }
        }),
        ("deleted", { context, count in
            for person in try context.fetch(FetchRequest<Person>().limit(count)) { context.delete(person) }
        }),
    ]

    @Test("a look-up costs the same with few and with many pending changes", arguments: changes.indices, [0, 1, 2])
    func lookUpsAreFlat(_ change: Int, _ way: Int) throws {
        let ways: [(ManagedObjectContext, String) throws -> Void] = [
            { context, code in _ = try context.first(Person.self, where: Person.code, equals: code) },
            { context, code in _ = try context.fetch(FetchRequest<Person>(predicate: Person.code == code).limit(1)) },
            { context, code in _ = try context.fetch(FetchRequest<Person>().where("code IN %@ AND rank >= 0", [code, "none"])) },
        ]
        let few = try cost(20, change: Self.changes[change].1, ways[way])
        let many = try cost(4_000, change: Self.changes[change].1, ways[way])
        #expect(many < few * 5 + .milliseconds(5), "\(Self.changes[change].0): \(few) with 20, \(many) with 4,000")
    }

    @Test("FET-10: a fetch after a save of another context costs the same with few and with many pending changes", arguments: changes.indices)
    func fetchesAfterSavesOfOthersAreFlat(_ change: Int) throws {
        func cost(_ count: Int) throws -> Duration {
            let stack = try Self.stack(.inMemory)
            let maker = stack.newContext()
            let team = Team(context: maker)
            for number in 0 ..< count {
                let person = Person(context: maker)
                person[Person.code] = "c\(number)"
                person[Person.team] = team
            }
            let spare = Team(context: maker)
            try maker.save()
            let context = stack.newContext()
            try Self.changes[change].1(context, count)
            return try (0 ..< 3).map { _ in
                try processorTime {
                    for number in 0 ..< 50 {
                        spare[Team.name] = "\(number)"
                        try maker.save()
                        _ = try context.fetch(FetchRequest<Person>(predicate: Person.code == "new\(number)"))
                    }
                }
            }.min() ?? .zero
        }
        let few = try cost(20)
        let many = try cost(4_000)
        #expect(many < few * 5 + .milliseconds(5), "\(Self.changes[change].0): \(few) with 20, \(many) with 4,000")
    }

    @Test("appending to an ordered relationship costs the same behind few and behind many appended members")
    func appendsAreFlat() throws {
        func cost(_ count: Int) throws -> Duration {
            let stack = try Company.stack(.inMemory)
            let context = stack.newContext()
            let project = context.project("p")
            let steps = (0 ..< count + 200).map { _ in Step(context: context) }
            for step in steps.prefix(count) { project.tasks.append(step) }
            let taken = processorTime { for step in steps.dropFirst(count) { project.tasks.append(step) } }
            #expect(project.tasks.objectIDs == steps.map(\.objectID))
            withExtendedLifetime(stack) {}
            return taken
        }
        let few = try (0 ..< 3).map { _ in try cost(20) }.min() ?? .zero
        let many = try (0 ..< 3).map { _ in try cost(4_000) }.min() ?? .zero
        #expect(many < few * 5 + .milliseconds(5), "\(few) behind 20, \(many) behind 4,000")
    }
}
