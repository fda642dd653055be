import Foundation
import Hornbeam
import Testing

@Suite struct FetchTests {
    private func stack(_ kind: StoreKind, names: [String]) throws -> (Stack, ManagedObjectContext) {
        try stack(Setting(kind: kind), names: names)
    }

    /// Stored employees, and another context according to the setting.
    private func stack(_ setting: Setting, names: [String]) throws -> (Stack, ManagedObjectContext) {
        let stack = try Company.stack(setting.kind)
        let context = stack.newContext()
        for (i, name) in names.enumerated() { _ = context.employee(name, salary: i * 10) }
        try context.save()
        let reader = setting.context(of: stack)
        if setting.isBusy { reader.department("unrelated") }
        return (stack, reader)
    }

    private let byName = FetchRequest<Employee>().sorted(by: "name")

    @Test("MOC-11: a second fetch gives the same instances with their values in memory", arguments: Setting.saved)
    func fetchIsUniquing(setting: Setting) throws {
        let (_, context) = try stack(setting, names: ["a", "b"])
        let first = try context.fetch(byName)
        first[0].salary = 99
        let second = try context.fetch(byName)
        #expect(first == second && second[0].salary == 99)
        #expect(context.object(with: first[1].objectID) === first[1])
    }

    @Test("FET-9: results are faults, or have their values if the request says so", arguments: StoreKind.allCases)
    func faultsOrFilled(kind: StoreKind) throws {
        let (stack, context) = try stack(kind, names: ["a", "b"])
        let faults = try context.fetch(byName)
        #expect(faults.allSatisfy { $0.isFault })
        #expect(faults[0].name == "a" && !faults[0].isFault && faults[1].isFault)
        var request = byName
        request.returnsObjectsAsFaults = false
        #expect(try stack.newContext().fetch(request).allSatisfy { !$0.isFault })
    }

    @Test("FET-4: limit and offset, also beyond the end (fetch.009)", arguments: Setting.saved)
    func limitAndOffset(setting: Setting) throws {
        let (_, context) = try stack(setting, names: ["a", "b", "c", "d"])
        #expect(try context.fetch(byName.offset(1)).map(\.name) == ["b", "c", "d"])
        #expect(try context.fetch(byName.offset(4)).isEmpty)
        #expect(try context.fetch(byName.offset(1).limit(2)).map(\.name) == ["b", "c"])
        #expect(try context.count(byName.offset(1).limit(2)) == 2)
        #expect(try context.count(byName.offset(9)) == 0)
        #expect(hornbeamError { _ = try context.fetch(byName.limit(-1)) }?.code == .predicateInvalid)
        for request in [byName, FetchRequest<Employee>(), FetchRequest<Employee>(predicate: try FetchPredicate(format: "name IN {'b', 'c', 'd'}"))] {
            let all = try context.fetch(request)
            #expect(try context.fetch(request.offset(1).limit(.max)) == Array(all.dropFirst()))
            #expect(try context.count(request.offset(1).limit(.max)) == all.count - 1)
            #expect(try context.fetch(request.offset(.max).limit(.max)) == [])
            #expect(try context.count(request.offset(.max).limit(.max)) == 0)
        }
        var columns = FetchRequest<[String: PropertyValue]>(entityName: "Employee")
        columns.propertiesToFetch = [.property("name")]
        columns.returnsDistinctResults = true
        (columns.fetchOffset, columns.fetchLimit) = (1, .max)
        #expect(try context.fetch(columns).count == context.count(FetchRequest<Employee>()) - 1)
    }

    @Test("FET-2: unsaved inserts, changes and deletions are included in order (fetch.001)", arguments: Setting.saved)
    func pendingChangesTakePart(setting: Setting) throws {
        let (_, context) = try stack(setting, names: ["zebra", "apple", "mango", "fig"])
        _ = context.employee("banana")
        let all = try context.fetch(byName)
        #expect(all.map(\.name) == ["apple", "banana", "fig", "mango", "zebra"])
        all[0].name = "yak"
        context.delete(all[2])
        #expect(try context.fetch(byName).map(\.name) == ["banana", "mango", "yak", "zebra"])
        #expect(try context.fetch(byName.where("name > 'b' AND name < 'n'")).map(\.name) == ["banana", "mango"])
        #expect(try context.count(byName) == 4)
        #expect(try context.fetchIDs(byName).count == 4)
        var stored = byName
        stored.includesPendingChanges = false
        #expect(try context.count(stored) == 4)
        #expect(Set(try context.fetchIDs(stored)).count == 4)
    }

    @Test("FET-4: pending changes with limit and offset agree with a reference model", arguments: Setting.saved, [11 as UInt64, 12, 13])
    func pendingChangesAgreeWithReference(setting: Setting, seed: UInt64) throws {
        var random = SplitMix(seed)
        let names = (0..<30).map { "n\($0 % 7)-\($0)" }
        let (_, context) = try stack(setting, names: names)
        var expected = try context.fetch(FetchRequest<Employee>())
        for round in 0..<12 {
            switch random.next() % 3 {
            case 0: expected.append(context.employee("n\(random.next() % 7)-x\(round)", salary: Int(random.next() % 300)))
            case 1: expected[Int(random.next() % UInt64(expected.count))].salary = Int(random.next() % 300)
            default: context.delete(expected.remove(at: Int(random.next() % UInt64(expected.count))))
            }
            let bound = Int(random.next() % 300)
            let (offset, limit) = (Int(random.next() % 6), Int(random.next() % 6))
            let request = try FetchRequest<Employee>().where("salary >= %d", bound)
                .sorted(by: "salary", ascending: false).sorted(by: "name").offset(offset).limit(limit)
            let whole = expected.filter { $0.salary >= bound }
                .sorted { ($1.salary, $0.name) < ($0.salary, $1.name) }
            let part = whole.dropFirst(offset).prefix(limit == 0 ? .max : limit)
            #expect(try context.fetch(request).map(\.name) == part.map(\.name), "seed \(seed), round \(round)")
            #expect(try context.count(request) == part.count, "seed \(seed), round \(round)")
            if round == 6 { try context.saveToStore() }
        }
    }

    @Test("FET-3: predicates and orders through relationships see unsaved changes at the other end", arguments: Setting.saved)
    func pathsSeePendingChanges(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let (d1, d2) = (context.department("one"), context.department("two"))
        let employees = ["a", "b", "c"].map { context.employee($0) }
        employees[0].department = d1
        employees[1].department = d2
        try context.saveToStore()
        let inTwo = try FetchRequest<Employee>().where("department.name == 'two'").sorted(by: "name")
        #expect(try context.fetch(inTwo).map(\.name) == ["b"])
        d1.name = "two"
        employees[2].department = d2
        #expect(try context.fetch(inTwo).map(\.name) == ["a", "b", "c"])
        d2.name = "aaa"
        let ordered = FetchRequest<Employee>().sorted(by: "department.name").sorted(by: "name")
        #expect(try context.fetch(ordered).map(\.name) == ["b", "c", "a"])
        let any = try FetchRequest<Department>().where("ANY employees.name == 'c'")
        #expect(try context.fetch(any) == [d2])
        try context.saveToStore()
        #expect(try context.fetch(inTwo).map(\.name) == ["a"])
        #expect(try stack.newContext().fetch(any).map(\.name) == ["aaa"])
    }

    @Test("FET-7: subentities are included unless the request excludes them (fetch.018)", arguments: StoreKind.allCases)
    func subentities(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("Car") { Attribute<String?>("maker") }
            Entity("SportCar", parent: "Car") { Attribute<Int?>("speed") }
        }
        let stack = try Stack(kind, model)
        let context = stack.newContext()
        try context.insert(entityNamed: "Car")
        try context.insert(entityNamed: "SportCar")
        func counts() throws -> [Int] {
            var exact = FetchRequest<ManagedObject>(entityName: "Car")
            let all = exact
            exact.includesSubentities = false
            return try [all, exact, FetchRequest(entityName: "SportCar")].map { try context.count($0) }
        }
        #expect(try counts() == [2, 1, 1])
        try context.save()
        #expect(try counts() == [2, 1, 1])
    }

    @Test("FET-5: a lazy result makes objects when they are touched", arguments: StoreKind.allCases)
    func lazyResult(kind: StoreKind) throws {
        let (_, context) = try stack(kind, names: (0..<50).map { "\($0 + 100)" })
        let results = try context.fetchLazily(byName)
        #expect(results.count == 50 && context.registeredObjects.isEmpty)
        #expect(results[7].name == "107" && results.last?.name == "149")
        #expect(Array(results[10..<12].map(\.name)) == ["110", "111"])
        let kept = results[3]
        #expect(results[3] === kept && context.registeredObjects == [kept])
        #expect(results.objectIDs.count == 50)
    }

    @Test("a predicate evaluates on objects as on rows (object.025)", arguments: StoreKind.allCases)
    func predicateOnObjects(kind: StoreKind) throws {
        let (_, context) = try stack(kind, names: ["FIAT", "McLaren"])
        let predicate = try FetchPredicate(format: "name == 'FIAT' AND salary >= 0")
        let objects = try context.fetch(byName)
        #expect(try objects.map { try predicate.evaluate(with: $0) } == [true, false])
        #expect(try context.fetch(byName.where(predicate)).map(\.name) == ["FIAT"])
    }

    @Test("notify.017: counts follow inserts and deletions before the save", arguments: StoreKind.allCases)
    func countsFollow(kind: StoreKind) throws {
        let (_, context) = try stack(kind, names: [])
        let request = FetchRequest<Employee>()
        for _ in 0..<100 { _ = context.employee("x") }
        #expect(try context.count(request) == 100)
        for _ in 0..<100 { _ = context.employee("x") }
        #expect(try context.count(request) == 200)
        context.delete(context.insertedObjects)
        #expect(try context.count(request) == 0)
    }

    @Test("an unknown entity and an unknown key are errors with a suggestion", arguments: StoreKind.allCases)
    func unknownNames(kind: StoreKind) throws {
        let (_, context) = try stack(kind, names: ["a"])
        let entity = hornbeamError { _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Employe")) }
        #expect(entity?.code == .unknownEntity && entity?.message.contains("Employee") == true)
        let key = hornbeamError { _ = try context.fetch(byName.where("nme == 'a'")) }
        #expect(key?.code == .predicateInvalid || key?.code == .unknownKey)
        #expect(key?.message.contains("name") == true)
    }
}

/// A small random generator with a printable seed.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
