import HornbeamModel
import Testing

@Suite struct FetchValidationTests {
    private func problems(_ change: (inout FetchDescription) throws -> Void) throws -> [String] {
        var fetch = FetchDescription(entityName: "Book")
        try change(&fetch)
        do {
            try fetch.validate(for: Library.model().entity(named: "Book"))
            return []
        } catch let error as HornbeamError {
            #expect(error.code == .predicateInvalid)
            return error.details.isEmpty ? [error.message] : error.details.map(\.message)
        }
    }

    @Test("FET-2 … FET-16: a sound request has no problems")
    func soundRequestHasNoProblems() throws {
        #expect(try problems { fetch in
            fetch.predicate = try FetchPredicate(format: "author.name BEGINSWITH 'U' AND chapters.@count > 3")
            fetch.sortDescriptors = [FetchSort("author.name"), FetchSort("pages")]
            fetch.relationshipKeyPathsForPrefetching = ["author", "author.books", "chapters"]
            fetch.propertiesToFetch = ["author.name", "author", try .expression("longest", "max:(pages)")]
            fetch.propertiesToGroupBy = ["author.name", "author"]
            fetch.havingPredicate = try FetchPredicate(format: "longest > 100")
            fetch.resultType = .dictionaries
            fetch.returnsDistinctResults = true
        } == [])
    }

    @Test("FET-2: a request is checked where it is built")
    func requestIsCheckedWhereItIsBuilt() throws {
        let request = try FetchRequest<UntypedObject>(entityName: "Book").where("title == 'x'").sorted(by: "author.name")
        #expect(try request.validated(in: Library.model()) == request)
        let wrong = #expect(throws: HornbeamError.self) { try request.where("titel == 'x'").validated(in: Library.model()) }
        #expect(wrong?.message == """
            The predicate does not fit the entity “Book”: “Book” has no property “titel” (did you mean “title”?).
            """)
        #expect(throws: HornbeamError.self) { try FetchRequest<UntypedObject>(entityName: "Bok").validated(in: Library.model()) }
    }

    @Test("FET-4, FET-11, FET-12: counts, paths and columns that cannot be are named")
    func impossibleSettingsAreNamed() throws {
        #expect(try problems { $0.fetchLimit = -1 } == ["The fetchLimit of a request must be 0 or more, and -1 was given."])
        #expect(try problems { $0.relationshipKeyPathsForPrefetching = ["autor", "author.name"] } == [
            "The entity “Book” has no property “autor” (did you mean “author”?).",
            "“author.name” cannot be prefetched: “name” is an attribute, and only relationships can be.",
        ])
        #expect(try problems { $0.propertiesToFetch = ["chapters", "title.x", "pages", "pages"] } == [
            "“chapters” cannot be fetched as a column: “chapters” leads to many objects.",
            "“title.x” cannot be fetched as a column: “title” is an attribute and has no “x”.",
            "The column “pages” occurs twice: name it once, or give an expression another name.",
        ])
        #expect(try problems { $0.propertiesToFetch = [try .expression("n", "pages + 1")] } == [
            "The expression “n” is a column of dictionaries: set the resultType to dictionaries."
        ])
    }

    @Test("FET-13, FET-14, FET-15: distinct results and groups need dictionaries of named columns")
    func groupsNeedDictionaries() throws {
        #expect(try problems { $0.returnsDistinctResults = true } == [
            "Distinct results are dictionaries of named columns: set the resultType and the propertiesToFetch."
        ])
        #expect(try problems { $0.havingPredicate = try FetchPredicate(format: "pages > 1") } == [
            "A having predicate needs groups: set the propertiesToGroupBy."
        ])
        #expect(try problems { $0.propertiesToGroupBy = ["author.books.title"] } == [
            "“author.books.title” cannot be grouped by: “books” leads to many objects.",
            "Groups are dictionaries of named columns: set the resultType and the propertiesToFetch.",
        ])
        #expect(try problems { fetch in
            fetch.resultType = .dictionaries
            fetch.propertiesToFetch = ["title", "pages"]
            fetch.propertiesToGroupBy = ["title"]
        } == ["The column “pages” has many values in a group: group by it too, or fetch an expression such as max:(pages)."])
    }

    @Test("FET-2, FET-3: predicate and order are checked with the rest, all at once")
    func predicateAndOrderAreChecked() throws {
        let found = try problems { fetch in
            fetch.predicate = try FetchPredicate(format: "titel == 'x'")
            fetch.sortDescriptors = [FetchSort("chapters")]
            fetch.fetchOffset = -5
        }
        #expect(found.count == 3)
        #expect(found[0].contains("did you mean “title”?"))
    }
}
