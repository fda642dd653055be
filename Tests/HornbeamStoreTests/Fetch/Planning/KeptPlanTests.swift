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

    @Test("a request that would read many rows by a kept plan is planned again, and the kept plan stays for rare values")
    func frequentValuesArePlannedAgain() throws {
        let first = try #require(try fetch(20).kept)
        let (answer, kept) = try fetch(1)
        #expect(kept === first && answer.rows.count == 900)
        #expect(!answer.work.text.description.contains("Book(pages): 65 entries"))
    }
}
