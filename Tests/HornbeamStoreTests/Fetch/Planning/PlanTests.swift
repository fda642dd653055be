import Foundation
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

    @Test("FET-3 (1.29, 17): a comparison without case and accents uses the folded index, and the next element narrows it")
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
            try plan("Book", "author == %@ AND title ENDSWITH '7'", [library.id(author)]) == """
                fetch Book
                  members of Author.publications: 20 entries
                  filter columns, then texts: title ENDSWITH "7"
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

    @Test("FET-4: the largest limits do not overflow the cost of a walk in index order", arguments: [Int.max, Int.max - 1, Int.max / 4])
    func largestLimits(limit: Int) throws {
        var request = FetchDescription(entityName: "Publication")
        request.sortDescriptors = [.descending("year")]
        let all = try library.store.snapshot().fetch(request).references
        request.fetchLimit = limit
        for offset in [0, 3, 500] {
            request.fetchOffset = offset
            #expect(try library.store.snapshot().fetch(request).references == Array(all.dropFirst(offset)))
        }
    }

    @Test("an error of the evaluator is reported, whatever the order and the limit are", arguments: [0, 3])
    func evaluatorErrorInOrderedFetch(limit: Int) throws {
        var request = FetchDescription(entityName: "Publication", predicate: try FetchPredicate(format: "title == $missing"))
        request.sortDescriptors = [.ascending("year")]
        request.fetchLimit = limit
        do {
            _ = try library.store.snapshot().fetch(request)
            Issue.record("nothing was thrown")
        } catch let error as HornbeamError {
            #expect(error.code == .predicateEvaluation)
        }
    }

    @Test("FET-3: decimals that equal the same double are sorted")
    func decimalsEqualToDouble() throws {
        var changes = ChangeSet()
        let prices = try ["0.1", "0.10000000000000000000002", "0.10000000000000000000001"].map { try #require(Decimal(string: $0)) }
        let books = try prices.enumerated().map { number, price in
            try library.add("Book", ["title": "t", "isbn": .string("new \(number)"), "price": .decimal(price)], to: &changes)
        }
        _ = try library.store.save(changes)
        var request = FetchDescription(entityName: "Book", predicate: try FetchPredicate(format: "price == %@", 0.1))
        request.sortDescriptors = [.ascending("price")]
        #expect(try library.store.snapshot().fetch(request).references == [books[0], books[2], books[1]])
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

    @Test("conditions that only the evaluator can test are tested row by row")
    func evaluatorIsNamed() throws {
        #expect(
            try plan("Book", "pages + 1 > 100") == """
                fetch Book
                  scan Book: 150 rows
                  filter row by row: pages + 1 > 100
                  order by ID
                """)
        #expect(
            try plan("Book", "title ENDSWITH '7' AND (pages > 3 OR pages + 1 > 100)") == """
                fetch Book
                  scan Book: 150 rows
                  filter columns, then row by row: title ENDSWITH "7" AND (pages > 3 OR pages + 1 > 100)
                  only the evaluator can test pages + 1 > 100
                  order by ID
                """)
    }

    @Test("a predicate that is always false reads nothing")
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

    @Test("a compound constraint serves conditions on its first property, as long as each row has an entry")
    func prefixOfConstraint() throws {
        var changes = ChangeSet()
        for number in 0 ..< 60 {
            _ = try library.add("Tag", ["label": .string("label \(number / 3)"), "language": .string("l\(number)")], to: &changes)
        }
        _ = try library.store.save(changes)
        #expect(
            try plan("Tag", "label == 'label 7'") == """
                fetch Tag
                  unique index Tag(label, language): 3 entries
                  order by ID
                """)
        try library.insert("Tag", ["label": .string("label 7")])
        #expect(
            try plan("Tag", "label == 'label 7'") == """
                fetch Tag
                  scan Tag: 61 rows
                  filter columns, then texts: label == "label 7"
                  order by ID
                """)
    }

    @Test("a condition over a to-one begins at its other end")
    func pathBeginsAtOtherEnd() throws {
        #expect(
            try plan("Book", "author.name == 'Author 3' AND pages > 100") == """
                fetch Book
                  members of Author.publications where author.name == "Author 3": 20 entries
                  filter columns: pages > 100
                  order by ID
                """)
        #expect(
            try plan("Author", "ANY publications.isbn == 'isbn 17'") == """
                fetch Author
                  look up 1 object by ID, found by ANY publications.isbn == "isbn 17"
                  order by ID
                """)
    }

    @Test("an index serves ANY over several relationships")
    func pathOverSeveralRelationships() throws {
        #expect(
            try plan("Book", "ANY author.publications.isbn == 'isbn 17'") == """
                fetch Book
                  members of Author.publications where ANY author.publications.isbn == "isbn 17": 20 entries
                  order by ID
                """)
        #expect(
            try plan("Author", "ANY publications.author.publications.isbn == 'isbn 17'") == """
                fetch Author
                  look up 1 object by ID, found by ANY publications.author.publications.isbn == "isbn 17"
                  order by ID
                """)
        #expect(
            try plan("Author", "ANY publications.year == 1917") == """
                fetch Author
                  look up 1 object by ID, found by ANY publications.year == 1917
                  order by ID
                """, "by an index of values that need not be unique")
    }

    @Test("alternatives with an index each are a union of entries")
    func unionOfIndexes() throws {
        #expect(
            try plan("Book", "isbn == 'isbn 17' OR pages BETWEEN {30, 33}") == """
                fetch Book
                  any of, about 4 objects
                    unique index Publication(isbn): 1 entry
                    index Book(pages): 3 entries
                  order by ID
                """)
    }

    @Test("two conditions with an index each are an intersection where that saves reading rows")
    func intersectionOfIndexes() throws {
        var changes = ChangeSet()
        for number in 0 ..< 4_000 {
            _ = try library.add(
                "Values", ["int16": .int(Int64(number % 40)), "int32": .int(Int64(number / 100)), "string": .string("\(number)")],
                to: &changes)
        }
        _ = try library.store.save(changes)
        let text = try plan("Values", "int16 == 7 AND int32 == 11 AND string ENDSWITH '7'")
        #expect(
            text == """
                fetch Values
                  all of, about 3 objects
                    index Values(int16): 100 entries
                    index Values(int32): 100 entries
                  filter columns, then texts: string ENDSWITH "7"
                  order by ID
                """)
    }

    @Test("an index whose first elements are the order returns this order, with ties in order of ID")
    func partialOrder() throws {
        #expect(
            try plan("Publication", "title ==[cd] 'title 7'", sort: [.ascending("title"), .ascending("year")], limit: 2).contains("sort by"))
        #expect(
            try plan("Publication", "year == 1950", sort: [.descending("year")], limit: 2) == """
                fetch Publication
                  index Publication(year desc): 2 entries
                  order by ID
                  take 2
                """)
    }

    @Test("an offset is counted, not walked: over rows, and over an index")
    func offsetIsCounted() throws {
        var request = FetchDescription(entityName: "Publication")
        request.fetchOffset = 150
        request.fetchLimit = 5
        let all = try library.store.snapshot().fetch(FetchDescription(entityName: "Publication")).references
        var context = FilterContext(try library.store.snapshot())
        var plan = try FetchPlan(request, in: context.snapshot, counting: false)
        var sink = ResultSink(plan.mode, neededCount: plan.window.end, excluding: [], context: context)
        var execution = FetchExecution(plan, context.snapshot, context, sink)
        try execution.run()
        #expect(sink.skippedCount == 150 && sink.finish().map(\.reference) == Array(all[150 ..< 155]))

        request.sortDescriptors = [.ascending("year")]
        context = FilterContext(context.snapshot)
        plan = try FetchPlan(request, in: context.snapshot, counting: false)
        sink = ResultSink(plan.mode, neededCount: plan.window.end, excluding: [], context: context)
        execution = FetchExecution(plan, context.snapshot, context, sink)
        try execution.run()
        #expect(sink.skippedCount == 150 && sink.finish().count >= 5)
    }

    @Test("counting an index range reads no row")
    func countReadsNoRow() throws {
        let request = FetchDescription(entityName: "Publication", predicate: try FetchPredicate(format: "year BETWEEN {1910, 1919}"))
        #expect(try library.store.snapshot().count(request) == 20)
        let answer = try library.store.snapshot().fetch(request)
        #expect(answer.work.rowsRead == 0 && answer.references.count == 20)
    }

    @Test("the plan of a fetch that reads many rows for few results names the missing index")
    func advice() throws {
        let model = try ManagedObjectModel {
            Entity("Plain") {
                Attribute("number", .integer32, indexed: true)
                Attribute("double", .double)
                Attribute("string", .string)
                Attribute("bool", .boolean)
            }
        }
        let library = try Library(model: model)
        var changes = ChangeSet()
        for number in 0 ..< 3_000 {
            let values: Library.Values = [
                "number": .int(Int64(number)), "double": .double(Double(number)), "string": .string("s\(number % 100)"),
                "bool": .bool(number % 2 == 0),
            ]
            _ = try library.add("Plain", values, to: &changes)
        }
        _ = try library.store.save(changes)
        func advice(_ format: String?, sort: [FetchSort] = [], limit: Int = 0) throws -> String? {
            var request = FetchDescription(entityName: "Plain", predicate: try format.map { try FetchPredicate(format: $0) })
            request.sortDescriptors = sort
            request.fetchLimit = limit
            let lines = try library.store.snapshot().explain(request).split(separator: "\n").map(String.init)
            return lines.first { $0.hasPrefix("  advice: ") }.map { String($0.dropFirst(10)) }
        }
        #expect(
            try advice("string ==[c] 'S7' AND double > 2990")
                == "an index on Plain(string[c], double) would lead to about 1 entry instead of 3000 rows")
        #expect(
            try advice(nil, sort: [.descending("double")], limit: 3)
                == "an index on Plain(double desc) would lead to about 3 entries instead of 3000 rows")
        #expect(try advice("bool == YES") == nil, "half of the rows are no reason for an index")
        #expect(try advice("string ENDSWITH '7'") == nil, "no index answers that")
        #expect(try advice("number == 3") == nil, "there is one")
    }

    @Test("a plan can be printed without the values of its predicate")
    func planWithoutValues() throws {
        let request = FetchDescription(
            entityName: "Book", predicate: try FetchPredicate(format: "author.name == 'Author 3' AND title ENDSWITH '7'"))
        #expect(
            try library.store.snapshot().fetch(request).work.textWithoutValues.description == """
                fetch Book
                  members of Author.publications where author.name == $value: 20 entries
                  filter columns, then texts: title ENDSWITH $value
                  order by ID
                """)
    }

    @Test("unknown keys of predicates and sorts are named, with a suggestion")
    func unknownKeys() throws {
        let predicate = try #require(throws: HornbeamError.self) { try plan("Book", "titel == 'x'") }
        #expect(predicate.message.contains("titel") && predicate.message.contains("title"))
        let sort = try #require(throws: HornbeamError.self) { try plan("Book", sort: [.ascending("autor.name")]) }
        #expect(sort.message.contains("autor") && sort.message.contains("author"))
    }
}
