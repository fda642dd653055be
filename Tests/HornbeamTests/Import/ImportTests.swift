import Foundation
import Hornbeam
import Testing

/// Imports of rows with names into a context.
@Suite struct ImportTests {
    private let authors = ImportMapping(ShelfAuthor.self)
    private let tags = ImportMapping(ShelfTag.self)

    private var books: ImportMapping<ShelfBook, ImportRow> {
        ImportMapping(ShelfBook.self).object(ShelfBook.author, from: "author", authors).objects(ShelfBook.tags, from: "tags", tags)
    }

    private func row(_ isbn: Int, _ title: String, author: String? = nil) -> ImportRow {
        var row: ImportRow = ["isbn": .int(Int64(isbn)), "title": .string(title)]
        if let author { row["author"] = ["name": .string(author)] }
        return row
    }

    @Test("SEED-5: rows insert objects; the same rows again change nothing and write nothing", arguments: StoreKind.allCases)
    func insertsOnce(kind: StoreKind) throws {
        let stack = try Shelves.stack(kind)
        let context = stack.newContext()
        let rows = (0..<2500).map { row($0, "Book \($0)", author: "Author \($0 % 100)") }
        let first = try context.importRows(rows, with: books)
        #expect((first.inserted, first.updated, first.unchanged, first.relatedInserted) == (2500, 0, 0, 100))
        #expect(!context.hasChanges)
        let token = try stack.container.history.currentToken()
        let second = try stack.newContext().importRows(rows, with: books)
        #expect((second.inserted, second.updated, second.unchanged, second.relatedInserted, second.relatedUpdated) == (0, 0, 2500, 0, 0))
        #expect(try stack.container.history.currentToken() == token)
        let book = try #require(try context.object(ShelfBook.self, key: 2499))
        #expect(book.title == "Book 2499" && book.author?.name == "Author 99" && book.author?.books.count == 25)
    }

    @Test("SEED-5: a row edits the object with its key, and only the values that differ", arguments: Setting.contexts)
    func edits(setting: Setting) throws {
        let context = setting.context(of: try Shelves.stack(setting.kind))
        _ = try context.importRows([row(1, "one", author: "a"), row(2, "two", author: "b")], with: books)
        let report = try context.importRows([row(1, "one", author: "b"), row(2, "zwei"), row(2, "zwei"), row(3, "three")], with: books)
        #expect((report.inserted, report.updated, report.unchanged, report.rows) == (1, 2, 1, 4))
        let found = try context.objects(ShelfBook.self, keys: [1, 2, 3])
        #expect(found[1]?.author?.name == "b" && found[2]?.title == "zwei" && found[2]?.author?.name == "b")
        #expect(try context.count(ShelfAuthor.self) == 2)
    }

    @Test("SEED-6: names that are missing keep values; nulls clear or keep them, as the mapping and its fields say", arguments: StoreKind.allCases)
    func nulls(kind: StoreKind) throws {
        let context = try Shelves.stack(kind).newContext()
        func year(_ mapping: ImportMapping<ShelfBook, ImportRow>, _ row: ImportRow) throws -> Int? {
            let book = try context.upsert(ShelfBook.self, key: 1) { book in
                (book.title, book.year) = ("one", 1818)
                book.author = try context.upsert(ShelfAuthor.self, key: "a")
            }
            try context.save()
            _ = try context.importRows([row], with: mapping)
            return book.year
        }
        let plain = ImportMapping(ShelfBook.self).object(ShelfBook.author, authors)
        #expect(try year(plain, ["isbn": 1]) == 1818)
        #expect(try year(plain, ["isbn": 1, "year": .null]) == nil)
        #expect(try year(plain.nulls(.keep), ["isbn": 1, "year": .null, "author": .null]) == 1818)
        #expect(try context.object(ShelfBook.self, key: 1)?.author?.name == "a")
        #expect(try year(plain.field(ShelfBook.year, null: .keep), ["isbn": 1, "year": .null, "author": .null]) == 1818)
        #expect(try context.object(ShelfBook.self, key: 1)?.author == nil)
        #expect(try year(plain.ignoring(ShelfBook.year), ["isbn": 1, "year": 1900]) == 1818)
        let error = hornbeamError { _ = try context.importRows([["isbn": 1, "title": .null]], with: plain) }
        #expect(error?.code == .missingRequiredValue && error?.message.contains("Row 1") == true)
    }

    @Test("SEED-6: values are renamed, read from nested objects and converted", arguments: StoreKind.allCases)
    func conversions(kind: StoreKind) throws {
        let context = try Shelves.stack(kind).newContext()
        let mapping = ImportMapping(ShelfBook.self, from: "id")
            .field(ShelfBook.title, from: "names.main")
            .field(ShelfBook.year, as: .number(grouping: "."))
            .field(ShelfBook.added, from: "added", as: .date("dd.MM.yyyy"))
            .field(ShelfBook.rating, as: .number(decimal: ",", grouping: "."))
            .field(ShelfBook.isLent, from: "lent", as: ImportFormat { .bool($0 == "yes") })
        let uuid = UUID()
        let row: ImportRow = [
            "id": 7, "names": ["main": "Emma"], "year": "1.815", "added": "31.01.2026", "rating": "1.234,5", "lent": "yes", "price": 12.99,
            "link": "https://example.org/emma", "code": .string(uuid.uuidString),
        ]
        _ = try context.importRows([row], with: mapping)
        let book = try #require(try context.object(ShelfBook.self, key: 7))
        #expect(book.title == "Emma" && book.year == 1815 && book.rating == 1234.5 && book.isLent && book.code == uuid)
        #expect(book.added == (try Date("2026-01-31T00:00:00Z", strategy: .iso8601)))
        #expect(book.price == Decimal(string: "12.99") && book.link == URL(string: "https://example.org/emma"))
        let dates: [(PropertyValue, ImportFormat, String)] = [
            ("2026-01-31T12:00:00Z", .automatic, "2026-01-31T12:00:00Z"), ("2026-01-31T12:00:00.000+01:00", .automatic, "2026-01-31T11:00:00Z"),
            ("2026-01-31", .automatic, "2026-01-31T00:00:00Z"), (86400, .secondsSince1970, "1970-01-02T00:00:00Z"),
            (86_400_000, .millisecondsSince1970, "1970-01-02T00:00:00Z"),
        ]
        for (value, format, expected) in dates {
            _ = try context.importRows([["isbn": 7, "when": value]], with: ImportMapping(ShelfBook.self).field(ShelfBook.added, from: "when", as: format))
            #expect(book.added == (try Date(expected, strategy: .iso8601)))
        }
        for (name, value) in [("added", "yesterday"), ("code", "no"), ("year", "many"), ("price", "1,5")] as [(String, PropertyValue)] {
            let error = hornbeamError { _ = try context.importRows([["isbn": 7, name: value]], with: ImportMapping(ShelfBook.self)) }
            #expect(error?.code == .typeMismatch && error?.key == name, "\(name)")
        }
    }

    @Test("SEED-5: nested objects and lists become related objects; keys alone name them; equal ones are made once", arguments: Setting.contexts)
    func related(setting: Setting) throws {
        let context = setting.context(of: try Shelves.stack(setting.kind))
        var first = row(1, "one", author: "a")
        first["tags"] = [["word": "x"], "y"]
        var second = row(2, "two")
        second["author"] = "a"
        second["tags"] = ["y", "z", "y"]
        let report = try context.importRows([first, second], with: books)
        #expect(report.inserted == 2 && report.relatedInserted == 4)
        let found = try context.objects(ShelfBook.self, keys: [1, 2])
        #expect(found[1]?.author === found[2]?.author)
        #expect(Set((found[2]?.tags ?? []).map(\.word)) == ["y", "z"])
        #expect(try context.importRows([first, second], with: books).unchanged == 2)
        let adding = ImportMapping(ShelfBook.self).objects(ShelfBook.tags, from: "tags", tags, members: .add)
        #expect(try context.importRows([["isbn": 2, "tags": ["x"]], ["isbn": 1, "tags": .null]], with: adding).updated == 1)
        #expect(Set((found[2]?.tags ?? []).map(\.word)) == ["x", "y", "z"] && found[1]?.tags.count == 2)
        #expect(try context.importRows([["isbn": 2, "tags": ["x"]], ["isbn": 1, "tags": .null]], with: books).updated == 2)
        #expect(found[2]?.tags.count == 1 && found[1]?.tags.isEmpty == true)
        let known = ImportMapping(ShelfBook.self).object(ShelfBook.author, from: "author", authors.withoutInserting())
        #expect(hornbeamError { _ = try context.importRows([row(3, "three", author: "new")], with: known) }?.code == .objectNotFound)
        #expect(try context.count(ShelfBook.self) == 2)
    }

    @Test("SEED-5: an object is found by a predicate, or never", arguments: StoreKind.allCases)
    func predicates(kind: StoreKind) throws {
        let context = try Shelves.stack(kind).newContext()
        let mapping = ImportMapping(ShelfBook.self, matching: { row in try FetchPredicate(format: "title == %@", row["title"]) })
        #expect(try context.importRows([row(1, "one"), row(2, "two")], with: mapping).inserted == 2)
        #expect(try context.importRows([row(10, "one")], with: mapping).updated == 1)
        #expect(try context.fetch(ShelfBook.self).map(\.isbn).sorted() == [2, 10])
        #expect(try context.importRows([["word": "a"]], with: ImportMapping(inserting: ShelfTag.self)).inserted == 1)
        #expect(hornbeamError { _ = try context.importRows([["word": "a"]], with: ImportMapping(inserting: ShelfTag.self)) } != nil)
        #expect(!context.hasChanges)
    }

    @Test("SEED-7: with an owner, its relationship is set; members that did not come are cleaned", arguments: Setting.contexts)
    func owner(setting: Setting) throws {
        let context = setting.context(of: try Shelves.stack(setting.kind))
        let author = try context.insert(ShelfAuthor.self, key: "a")
        let other = try context.insert(ShelfAuthor.self, key: "b")
        Shelves.book(9, in: context).author = other
        try context.save()
        let mapping = ImportMapping(ShelfBook.self)
        let report = try author.importRows([row(1, "one"), row(2, "two"), row(9, "nine")], into: ShelfAuthor.books, with: mapping)
        #expect((report.inserted, report.updated) == (2, 1))
        #expect(Set(author.books.map(\.isbn)) == [1, 2, 9] && other.books.isEmpty)
        Shelves.book(50, in: context)
        try context.save()
        let cleaned = try author.importRows(
            [row(2, "two")], into: ShelfAuthor.books, with: mapping, options: ImportOptions(cleaning: ImportCleaning()))
        #expect(cleaned.deleted == 2 && cleaned.unchanged == 1 && cleaned.cleaning == .done)
        #expect(try context.fetch(ShelfBook.self).map(\.isbn).sorted() == [2, 50])
        let error = hornbeamError { _ = try author.importRows([["word": "x"]], into: ToMany<ShelfTag>("books"), with: tags) }
        #expect(error?.code == .typeMismatch)
    }
}

/// Values of every type, imported again.
@Suite struct ImportedValueTests {
    @Entity final class Sample: ManagedObject {
        var number: Int
        var small: Int?
        var share: Double?
        var single: Float?
        var truth: Bool?
        var text: String?
        var day: Date?
        var amount: Decimal?
        var bytes: Data?
        var link: URL?
        var code: UUID?
        var list: [String]?
    }

    /// For each attribute values that differ from each other.
    private static let values: [(String, [PropertyValue])] = [
        ("small", [0, 1, -1, .null]), ("share", [0.0, 0.5, 1, .double(.nan), .double(-.infinity), .null]), ("single", [0.0, 0.1, .double(.nan), .null]),
        ("truth", [true, false, .null]), ("text", ["", "a", "ä", "a\u{308}", "a text that is longer than fifteen bytes", .null]),
        ("day", [.date(Date(timeIntervalSinceReferenceDate: 0)), "2026-01-31T12:00:00Z", .null]), ("amount", [0.1, 1, .null]),
        ("bytes", ["", "AAEC", .null]), ("link", ["https://example.org", .null]),
        ("code", ["E621E1F8-C36C-495A-93FC-0C247A3E6E5F", .null]), ("list", [[], ["a"], ["a", "b"], .null]),
    ]

    @Test("SEED-5: equal values are unchanged, and different ones are changes, for every type", arguments: StoreKind.allCases)
    func everyType(kind: StoreKind) throws {
        let context = try Stack(kind, ManagedObjectModel(for: Sample.self), [Sample.self]).newContext()
        let mapping = ImportMapping(Sample.self, key: Sample.number)
        _ = try context.importRows([["number": 1]], with: mapping)
        for (name, values) in Self.values {
            for value in values + values.reversed().dropFirst() {
                let row: ImportRow = ["number": 1, name: value]
                #expect(try context.importRows([row], with: mapping).updated == 1, "\(name) \(value)")
                #expect(try context.importRows([row], with: mapping).unchanged == 1, "\(name) \(value)")
            }
        }
    }
}
