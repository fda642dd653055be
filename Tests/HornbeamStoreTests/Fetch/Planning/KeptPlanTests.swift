import HornbeamModel
import Testing
@testable import HornbeamStore

/// Plans that a store keeps for request shapes.
struct KeptPlanTests {
    private let library: Library
    private let shapes = RequestShapes()

    /// One page number is frequent, and the others occur once.
    init() throws {
        library = try Library()
        var changes = ChangeSet()
        for number in 0 ..< 1_000 {
            let pages = number % 10 == 0 ? number + 10 : 1
            _ = try library.add("Book", ["title": .string("t"), "year": .int(1950), "pages": .int(Int64(pages))], to: &changes)
        }
        _ = try library.store.save(changes)
    }

    private func fetch(_ pages: Int, before year: Int = 2000) throws -> (answer: FetchAnswer, kept: KeptPlan?) {
        let predicate = try FetchPredicate(format: "pages == %d AND year < %d", pages, year)
        let fetch = try ValidatedFetch(FetchDescription(entityName: "Book", predicate: predicate), in: library.store.model, shapes)
        let snapshot = try library.store.snapshot()
        let answer = try snapshot.fetch(fetch)
        let kept = snapshot.schema.keptPlans.object(for: try #require(fetch.shape), isCounting: false)
        return (answer, kept as? KeptPlan)
    }

    @Test("a kept plan is bound to the constants of each request of its shape")
    func keptPlansAreBound() throws {
        let first = try #require(try fetch(20).kept)
        let (answer, kept) = try fetch(30)
        #expect(kept === first && answer.rows.count == 1 && answer.work.rowsRead == 1)
        #expect(
            answer.work.text.description == """
                fetch Book
                  index Book(pages): 1 entry
                  filter columns: year < 2000
                  order by ID
                """)
        let (none, same) = try fetch(30, before: 1950)
        #expect(same === first && none.rows.isEmpty && none.work.text.description.contains("year < 1950"))
    }

    private func groups(_ pages: Int, _ column: FetchColumn = .count(as: "count")) throws -> (rows: [[PropertyValue]], kept: KeptPlan?) {
        var request = FetchDescription(entityName: "Book", predicate: try FetchPredicate(format: "pages == %d", pages))
        request.resultType = .dictionaries
        request.propertiesToFetch = [column]
        request.fetchLimit = 5
        let fetch = try ValidatedFetch(request, in: library.store.model, shapes)
        let snapshot = try library.store.snapshot()
        let rows = try snapshot.groups(fetch, fetch.dictionaryProgram(), excluding: [], adding: []).rows
        let shape = try #require(fetch.withoutOrder.shape)
        return (rows, snapshot.schema.keptPlans.object(for: shape, isCounting: false) as? KeptPlan)
    }

    @Test("FET-12: requests for totals are planned once, and a kept plan serves frequent values too")
    func plansOfGroupsAreKept() throws {
        let (rows, kept) = try groups(20)
        let first = try #require(kept)
        #expect(rows == [[1]])
        for (pages, count) in [(30, 1), (31, 0), (1, 900), (40, 1)] as [(Int, Int)] {
            let (rows, _) = try groups(pages)
            #expect(rows == [[.int(Int64(count))]])
        }
        let (_, again) = try groups(20)
        #expect(again === first)
        let (years, other) = try groups(20, .maximum(of: "year", as: "last"))
        #expect(years == [[1950]] && other !== first)
    }

    private func run(_ format: String, _ arguments: [any PredicateArgument]) throws -> (answer: FetchAnswer, kept: KeptPlan?) {
        let predicate = try FetchPredicate(format: format, arguments: arguments)
        let fetch = try ValidatedFetch(FetchDescription(entityName: "Book", predicate: predicate), in: library.store.model, shapes)
        let snapshot = try library.store.snapshot()
        let answer = try snapshot.fetch(fetch)
        let kept = snapshot.schema.keptPlans.object(for: try #require(fetch.shape), isCounting: false)
        return (answer, kept as? KeptPlan)
    }

    @Test("lists, ranges and alternatives have shapes, and their plans are kept",
          arguments: [
              ("pages IN {%d, %d}", [20, 30], [40, 5], 2, 1, "index Book(pages), 2 ranges: 1 entry"),
              ("pages IN %@", [20, 30], [40, 50], 2, 2, "index Book(pages), 2 ranges: 2 entries"),
              ("pages BETWEEN {%d, %d}", [20, 30], [45, 60], 2, 2, "index Book(pages): 2 entries"),
              ("pages == %d OR pages == %d", [20, 30], [40, 40], 2, 1, "any of, about 1 object"),
          ] as [(String, [Int], [Int], Int, Int, String)])
    func listsAreKept(format: String, first: [Int], second: [Int], _ firstCount: Int, _ secondCount: Int, _ plan: String) throws {
        func arguments(_ numbers: [Int]) -> [any PredicateArgument] { format.hasSuffix("%@") ? [numbers] : numbers }
        let (answer, _) = try run(format, arguments(first))
        let kept = try #require(try run(format, arguments(first)).kept)
        #expect(answer.rows.count == firstCount)
        let (other, same) = try run(format, arguments(second))
        #expect(same === kept && other.rows.count == secondCount)
        #expect(other.work.text.description.contains(plan), "\(other.work.text)")
    }

    @Test("shapes and kept plans contain no constants of the requests that made them")
    func constantsAreNotKept() throws {
        let secret = "a text that is no part of the store"
        for format in ["title == %@", "title IN {%@, 'a'}", "title == %@ OR title == 'b'", "title >= %@ AND title <= 'zz'"] {
            let predicate = try FetchPredicate(format: format, arguments: [secret])
            let fetch = try ValidatedFetch(FetchDescription(entityName: "Book", predicate: predicate), in: library.store.model, shapes)
            _ = try library.store.snapshot().fetch(fetch)
            let shape = try #require(fetch.shape)
            var text = ""
            dump(shape, to: &text)
            if let kept = try library.store.snapshot().schema.keptPlans.object(for: shape, isCounting: false) as? KeptPlan {
                dump(kept.plan.conjuncts, to: &text)
                dump(kept.plan.choice.path, to: &text)
            }
            #expect(!text.contains(secret), "\(format)")
        }
    }

    @Test("a request that would read many rows by a kept plan is planned again, and the kept plan stays for rare values")
    func frequentValuesArePlannedAgain() throws {
        let first = try #require(try fetch(20).kept)
        let (answer, kept) = try fetch(1)
        #expect(kept === first && answer.rows.count == 900)
        #expect(!answer.work.text.description.contains("Book(pages): 65 entries"))
    }
}
