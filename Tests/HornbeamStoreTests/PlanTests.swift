import HornbeamModel
import Testing
@testable import HornbeamStore

@Suite("Plans")
struct PlanTests {
    let library: Library

    init() throws {
        library = try Library()
        var changes = ChangeSet()
        let authors = try (0 ..< 10).map { number in
            try library.add("Author", ["name": .string("Author \(number)"), "born": .int(Int64(1900 + number))], to: &changes)
        }
        for number in 0 ..< 200 {
            let isBook = number % 4 > 0
            _ = try library.add(
                isBook ? "Book" : "Journal",
                [
                    "title": .string("Title \(number % 50)"), "isbn": .string("isbn \(number)"),
                    "year": .int(Int64(1900 + number % 100)), "author": library.id(authors[number % 10]),
                    isBook ? "pages" : "issue": .int(Int64(number)),
                ], to: &changes)
        }
        _ = try library.store.save(changes)
    }

    private func plan(
        _ entity: String, _ format: String? = nil, _ arguments: [PropertyValue] = [], sort: [FetchSort] = [],
        limit: Int = 0, offset: Int = 0
    ) throws -> String {
        var request = FetchDescription(entityName: entity)
        request.predicate = try format.map { try FetchPredicate(format: $0, arguments: arguments) }
        request.sortDescriptors = sort
        request.fetchLimit = limit
        request.fetchOffset = offset
        return try library.store.snapshot().explain(request)
    }

    @Test("without a predicate the rows are scanned in the order of their keys")
    func plainScan() throws {
        #expect(
            try plan("Publication", limit: 5, offset: 10) == """
                fetch Publication
                  scan Book, Journal: 200 rows
                  order by ID
                  skip 10, take 5
                """)
    }

    @Test("a unique value is one entry of its index")
    func uniqueLookUp() throws {
        #expect(
            try plan("Book", "isbn == 'isbn 17'") == """
                fetch Book
                  unique index Publication(isbn): 1 entry
                  order by ID
                """)
    }

    @Test("a list of unique values is as many ranges")
    func uniqueList() throws {
        #expect(
            try plan("Publication", "isbn IN {'isbn 17', 'isbn 3', 'none'}") == """
                fetch Publication
                  unique index Publication(isbn), 3 ranges: 2 entries
                  order by ID
                """)
    }

    @Test("a comparison without case and accents uses the folded index, and the next element narrows it")
    func foldedCompound() throws {
        #expect(
            try plan("Publication", "title ==[cd] 'TITLE 7' AND year > 1950 AND price != 3") == """
                fetch Publication
                  index Publication(title[cd], year desc): 2 entries
                  filter columns, then texts: price != 3
                  order by ID
                """)
    }

    @Test("the inverse of a to-one is the index of its objects")
    func membersOfOwner() throws {
        let request = FetchDescription(entityName: "Author", predicate: try FetchPredicate(format: "name == 'Author 3'"))
        let author = try library.store.snapshot().fetch(request).references[0]
        #expect(
            try plan("Book", "author == %@ AND pages > 100", [library.id(author)]) == """
                fetch Book
                  members of Author.publications: 20 entries
                  filter columns: pages > 100
                  order by ID
                """)
    }

    @Test("an order that an index has is not sorted, and a limit stops the walk")
    func orderFromIndex() throws {
        #expect(
            try plan("Publication", sort: [.descending("year")], limit: 3) == """
                fetch Publication
                  index Publication(year desc): all 200 entries
                  order by year descending from the index
                  take 3
                """)
        #expect(
            try plan("Publication", sort: [.ascending("year")], limit: 3) == """
                fetch Publication
                  index Publication(year desc): all 200 entries
                  order by year from the index
                  take 3
                """)
    }

    @Test("a condition that most rows satisfy is scanned, cheap columns first, and the first few kept in a heap")
    func scanWithHeap() throws {
        #expect(
            try plan("Book", "title ENDSWITH '7' AND pages >= 0", sort: [.ascending("author.name")], limit: 3) == """
                fetch Book
                  scan Book: 150 rows
                  filter columns, then texts: title ENDSWITH "7" AND pages >= 0
                  sort by author.name, keeping the first 3
                  take 3
                """)
    }

    @Test("what only the evaluator can tell is said to go row by row")
    func evaluatorIsNamed() throws {
        #expect(
            try plan("Book", "pages + 1 > 100") == """
                fetch Book
                  scan Book: 150 rows
                  filter row by row: pages + 1 > 100
                  order by ID
                """)
    }

    @Test("a predicate that cannot hold reads nothing")
    func impossiblePredicate() throws {
        #expect(
            try plan("Book", "pages > 1 AND 1 == 2") == """
                fetch Book
                  nothing: no object can satisfy the predicate
                  order by ID
                """)
    }

    @Test("SELF is looked up by ID")
    func selfIsLookedUp() throws {
        let author = try library.store.snapshot().fetch(FetchDescription(entityName: "Author")).references[0]
        #expect(
            try plan("Author", "SELF == %@", [library.id(author)]) == """
                fetch Author
                  look up 1 object by ID
                  order by ID
                """)
    }

    @Test("counting an index range reads no row")
    func countReadsNoRow() throws {
        let request = FetchDescription(entityName: "Publication", predicate: try FetchPredicate(format: "year BETWEEN {1910, 1919}"))
        #expect(try library.store.snapshot().count(request) == 20)
        let answer = try library.store.snapshot().fetch(request)
        #expect(answer.rowsRead == 0 && answer.references.count == 20)
    }

    @Test("unknown keys of predicates and sorts are named, with a suggestion")
    func unknownKeys() throws {
        let predicate = try #require(throws: HornbeamError.self) { try plan("Book", "titel == 'x'") }
        #expect(predicate.message.contains("titel") && predicate.message.contains("title"))
        let sort = try #require(throws: HornbeamError.self) { try plan("Book", sort: [.ascending("autor.name")]) }
        #expect(sort.message.contains("autor") && sort.message.contains("author"))
    }
}
