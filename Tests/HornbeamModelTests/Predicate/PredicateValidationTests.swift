import Foundation
import HornbeamModel
import Testing

/// Validation of predicates for a model.
struct PredicateValidationTests {
    static let model = try! ManagedObjectModel(entities: [
        Entity("Book") {
            Attribute<String>("title")
            Attribute<Int?>("pages")
            Attribute<Date?>("published")
            Attribute<Bool>("isOpen")
            Attribute<UUID?>("code")
            Attribute<Decimal?>("price")
            Attribute<String?>("draft", transient: true)
            ToOne("author", to: "Author", inverse: "books")
            ToMany("tags", to: "Tag", inverse: "books")
        },
        Entity("Author") {
            Attribute<String>("name")
            ToMany("books", to: "Book", inverse: "author")
        },
        Entity("Tag") {
            Attribute<String>("name")
            Attribute<Int>("weight")
            ToMany("books", to: "Book", inverse: "tags")
        },
    ])

    private func complaint(_ format: String, _ arguments: (any PredicateArgument)?...) throws -> String? {
        let entity = try Self.model.entity(named: "Book")
        let predicate = try FetchPredicate(format: format, arguments: arguments)
        do {
            try predicate.validated(for: entity)
            return nil
        } catch let error as HornbeamError {
            #expect(error.code == .predicateInvalid || error.code == .predicateEvaluation)
            return error.message
        }
    }

    @Test(arguments: [
        "title == 'x' AND pages > 3 AND isOpen == YES AND isOpen == 1", "author.name BEGINSWITH[c] 'a'", "author == nil",
        "ANY tags.name == 'x'", "tags.@count > 2", "tags.@sum.weight > 10.5", "tags.@max.name == 'x'", "SELF IN author.books",
        "SUBQUERY(tags, $t, $t.weight > 3 AND $t.name == title).@count == 0", "ANY author.books.tags.name IN {'a', 'b'}",
        "pages BETWEEN {1, 3}", "pages IN {1, nil}", "published > now()", "published > CAST(0, 'NSDate')", "length:(title) > 3",
        "title.length > 3", "price * 1.2 > pages", "tags CONTAINS $t", "tags == $x", "TERNARY(pages > 3, 'a', 'b') == title", "pages < nil",
        "code == $c", "title IN 'abc'", "ANYKEY == 'x'", "noindex:(title) == 'x'", "published + 3600 > now()", "tags.name CONTAINS 'x'",
        "author.books[FIRST].title == 'x'", "title MATCHES '[a-z]+'", "uppercase(title) IN {'A'}", "ALL tags.weight > 0",
    ])
    func validPredicatesAreAccepted(format: String) throws {
        #expect(try complaint(format) == nil)
    }

    @Test func unknownKeyIsSuggested() throws {
        #expect(try complaint("titel == 'x'") == """
            The predicate does not fit the entity “Book”: “Book” has no property “titel” (did you mean “title”?).
            """)
        #expect(try complaint("author.nmae == 'x'") == """
            The predicate does not fit the entity “Book”: “Author” has no property “nmae” (did you mean “name”?).
            """)
    }

    @Test func wrongTypesAreNamed() throws {
        #expect(try complaint("title > 5") == """
            The predicate does not fit the entity “Book”: > cannot compare “title”, which is a string, with a number. \
            Give a value of the same type, or convert with CAST.
            """)
        #expect(try complaint("pages BEGINSWITH 'x'")?.contains("BEGINSWITH cannot compare “pages”, which is a number, with a string") == true)
        #expect(try complaint("published == 'today'")?.contains("which is a date, with a string") == true)
        #expect(try complaint("code == 'x'")?.contains("which is a UUID, with a string") == true)
        #expect(try complaint("author < 'x'")?.contains("an object of the entity “Author”") == true)
        #expect(try complaint("pages IN {'a', 'b'}")?.contains("IN cannot compare “pages”, which is a number, with a collection") == true)
    }

    @Test func manyValuesWithoutAnyAreExplained() throws {
        #expect(try complaint("tags.name == 'x'") == """
            The predicate does not fit the entity “Book”: “tags.name” leads to many values, which == cannot compare with a string; \
            write ANY tags.name or ALL tags.name.
            """)
        #expect(try complaint("tags == nil")?.contains("tags.@count == 0 tests for an empty collection") == true)
        #expect(try complaint("ANY title == 'x'") == """
            The predicate does not fit the entity “Book”: ANY, SOME and NONE needs a collection, but “title” is a string. \
            Leave the word out, or start with a to-many relationship.
            """.replacingOccurrences(of: "NONE needs", with: "NONE need"))
    }

    @Test(arguments: [
        ("draft == 'x'", "transient"), ("title.@count > 1", "@count needs a collection, but has a string"), ("tags.@sum.name > 1", "needs numbers"),
        ("pages IN 5", "IN needs a collection or two strings, but has a number"), ("pages BETWEEN 5", ""),
        ("title + 1 > 3", "needs numbers or dates, but has a string"),
        ("length:(pages) > 1", "needs a string, but has a number"), ("trim:(pages) == 'x'", "trim: needs a string, but has a number"),
        ("substring(title, 'a', 2) == 'x'", "substring:from:length: needs numbers, but has a string"),
        ("replace(title, 1, 'x') == 'x'", "replace:occurrencesOf:with: needs strings, but has a number"), ("title.foo == 1", "There is no key “foo” in a string"),
        ("title UNION tags == 1", "need collections"), ("SUBQUERY(title, $x, $x == 1).@count > 0", "SUBQUERY needs a collection"),
        ("pages[0] == 1", "An index needs a collection"), ("title MATCHES '('", "not a regular expression"), ("title UTI-CONFORMS-TO 'x'", "registry"),
        ("FETCH($a, $b) == 1", "FETCH is evaluated by a context only"), ("SUBQUERY(tags, $t, $t.title == 'x').@count > 0", "“Tag” has no property “title”"),
        ("author == author.books", ""), ("tags > 3", "leads to many values"),
    ])
    func impossiblePredicatesAreRefused(format: String, part: String) throws {
        guard let predicate = try? FetchPredicate(format: format) else { return }
        let entity = try Self.model.entity(named: "Book")
        let error = #expect(throws: HornbeamError.self) { try predicate.validated(for: entity) }
        #expect(part.isEmpty || error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test func transientPropertiesAreFineInMemory() throws {
        let entity = try Self.model.entity(named: "Book")
        try FetchPredicate(format: "draft == 'x'").validated(for: entity, readsStore: false)
    }

    @Test("FET-3: sorts lead over to-one relationships to attributes")
    func sortsAreChecked() throws {
        let entity = try Self.model.entity(named: "Book")
        try FetchSort("author.name").validated(for: entity)
        let error = #expect(throws: HornbeamError.self) { try FetchSort("tags.name").validated(for: entity) }
        #expect(error?.message == """
            Objects of the entity “Book” cannot be sorted by “tags.name”, which is a collection. \
            Sort by an attribute, of the entity itself or over to-one relationships.
            """)
    }

    @Test(.enabled(if: CaseFile.areAvailable)) func everySharedCaseFitsItsModel() throws {
        var refused: [String] = []
        for entry in try CaseFile("evaluate.jsonl").cases {
            guard let name = entry["objects"]?["fixture"]?.text else { continue }
            let fixture = try Fixture(name)
            let entity = try fixture.model.entity(named: entry["objects"]?["entity"]?.text ?? "")
            let predicate = try entry.predicate(fixture.identity)
            do { try predicate.validated(for: entity) } catch { refused.append("\(predicate): \((error as? HornbeamError)?.message ?? "")") }
        }
        #expect(refused == [])
    }
}
