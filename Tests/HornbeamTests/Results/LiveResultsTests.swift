import Hornbeam
import Testing

/// Live results after random changes are those of a fetch.
@MainActor @Suite struct LiveResultsTests {
    private static let requests: [(format: String?, sorts: [FetchSort], section: String?, limit: Int)] = [
        (nil, [], nil, 0),
        ("salary > 1", [FetchSort("salary", ascending: false), FetchSort("name")], "salary", 0),
        (nil, [FetchSort("department.name"), FetchSort("salary")], "department.name", 0),
        ("salary < 3", [FetchSort("salary"), FetchSort("name")], nil, 5),
        ("friends.@count > 0", [FetchSort("name")], nil, 0),
    ]

    private static func request(_ number: Int) throws -> FetchRequest<Employee> {
        let (format, sorts, _, limit) = requests[number]
        var request = FetchRequest<Employee>(sortedBy: sorts).limit(limit)
        request.predicate = try format.map { try FetchPredicate(format: $0) }
        return request
    }

    @Test("FRC-8, FRC-17: live results are those of a fetch", arguments: Setting.contexts.filter(\.follows), UInt64(1) ... 3)
    func resultsAreThoseOfAFetch(setting: Setting, seed: UInt64) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        context.undoStack = UndoStack()
        var edits = RandomEdits(seed: seed)
        var others = RandomEdits(seed: seed &+ 1000)
        var generator = SeededGenerator(state: seed &* 37)
        for _ in 0 ..< 30 { _ = try edits.edit(context) }
        try context.saveToStore()
        let flat = try Self.requests.indices.map { LiveValue(context.results(of: try Self.request($0))) }
        let sectioned = try Self.requests.indices.map { FetchedResults(try Self.request($0), in: context, sectionedBy: Self.requests[$0].section) }
        let batched = try Self.requests.indices.map {
            FetchedResults(try Self.request($0).batches(of: 2), in: context, sectionedBy: Self.requests[$0].section)
        }
        let counts = try Self.requests.indices.map { LiveValue(context.liveCount(of: try Self.request($0))) }
        let existences = try Self.requests.indices.map { LiveValue(context.liveExistence(of: try Self.request($0))) }
        let totals = LiveValue(context.results(of: Employee.select(\.count, \.salary.sum)))
        var log: [String] = []
        for step in 0 ..< 60 {
            switch Int.random(in: 0 ..< 10, using: &generator) {
            case 0: context.undo()
            case 1: context.rollback()
            case 2, 3:
                log.append("save")
                do { try context.saveToStore() } catch { context.rollback() }
            case 4:
                log.append("others")
                let other = stack.newContext()
                for _ in 0 ..< 3 { log.append(try others.edit(other)) }
                try other.save()
                try context.mergeFromStore()
            default: log.append(try edits.edit(context))
            }
            // Several events, one event or none come before the next value.
            if step % 3 == 0 { continue }
            context.processPendingChanges()
            let total = try context.fetch(FetchRequest<Employee>()).reduce(0) { $0 + $1.salary }
            #expect(totals.value?.first?.1 ?? 0 == total, "seed \(seed), step \(step), \(setting): \(log.suffix(4))")
            for number in Self.requests.indices {
                let values = (flat[number].value, sectioned[number].objects, sectioned[number].sections)
                let expected = try context.fetch(Self.request(number))
                let comment: Comment = "seed \(seed), step \(step), \(setting), request \(number): \(log.suffix(4))"
                #expect(values.0 == expected && Set(values.1) == Set(expected) && values.1.count == expected.count, comment)
                let rows = batched[number].objects
                #expect(Set(rows) == Set(expected) && rows.count == expected.count && batched[number].fetchError == nil, comment)
                #expect(batched[number].sections.map(\.name) == values.2.map(\.name) || Self.requests[number].section == "department.name", comment)
                #expect(values.2.map(\.name).count == Set(values.2.map(\.name)).count, comment)
                if Self.requests[number].section != "department.name" { #expect(values.1 == expected, comment) }
                #expect(counts[number].value == expected.count && existences[number].value == !expected.isEmpty, comment)
                #expect(flat[number].fetchError == nil && sectioned[number].fetchError == nil, comment)
            }
        }
    }

    @Test("FRC-8, FRC-17: results and counts test the changed objects without a fetch; totals ignore other entities", arguments: StoreKind.allCases)
    func changedObjectsAreTestedWithoutAFetch(kind: StoreKind) throws {
        let context = try Company.stack(kind).newContext()
        let employees = (0 ..< 100).map { context.employee("e\($0)", salary: $0) }
        try context.save()
        let request = FetchRequest<Employee>().where { $0.salary >= 50 }.sorted(by: \.salary)
        let list = try FetchedResultsController(request, in: context, sectionedBy: "isActive")
        list.onChange = { _ in }
        try list.performFetch()
        let results = LiveValue(context.results(of: request))
        let count = LiveValue(context.liveCount(of: request))
        let existence = LiveValue(context.liveExistence(of: request))
        let totals = LiveValue(context.results(of: Employee.select(\.salary.sum)))
        // The keys of the results are fetched after the first change.
        employees[0].salary = 1000
        context.processPendingChanges()
        #expect(count.value == 51 && existence.value == true && results.value?.count == 51 && totals.value?.first == 4950 + 1000)
        var fetches = context.fetchCounters.fetches
        for number in 1 ..< 10 {
            employees[number].salary = 1000 + number
            employees[number + 80].salary = number
            if number == 5 { context.delete(employees[70]) }
            if number == 6 { context.employee("new", salary: 60) }
            if number == 7 { try context.save() }
            context.processPendingChanges()
            let expected = number < 5 || number > 5 ? 51 : 50
            #expect(count.value == expected && existence.value == true && results.value?.count == expected && list.fetchedObjects?.count == expected)
        }
        #expect(context.fetchCounters.fetches == fetches)
        _ = totals.value
        fetches = context.fetchCounters.fetches
        context.department("Sales")
        context.processPendingChanges()
        #expect(totals.value?.count == 1 && context.fetchCounters.fetches == fetches)
    }
}
