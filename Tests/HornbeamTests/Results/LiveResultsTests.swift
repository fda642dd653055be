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
            for number in Self.requests.indices {
                let values = (flat[number].value, sectioned[number].objects, sectioned[number].sections)
                let expected = try context.fetch(Self.request(number))
                let comment: Comment = "seed \(seed), step \(step), \(setting), request \(number): \(log.suffix(4))"
                #expect(values.0 == expected && Set(values.1) == Set(expected) && values.1.count == expected.count, comment)
                #expect(values.2.map(\.name).count == Set(values.2.map(\.name)).count, comment)
                if Self.requests[number].section != "department.name" { #expect(values.1 == expected, comment) }
                #expect(flat[number].fetchError == nil && sectioned[number].fetchError == nil, comment)
            }
        }
    }
}
