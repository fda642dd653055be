import Foundation
import Hornbeam
import Testing

/// Rows that are refused, that lack values, or that name other objects of their entity.
@Suite struct RefusedRowTests {
    private let skipping = ImportOptions(onRefusal: .skip)

    @Test("SEED-7: a refused row that would have taken an object from another owner leaves it there", arguments: StoreKind.allCases)
    func refusedRowTakesNothing(kind: StoreKind) throws {
        let context = try Shelves.stack(kind).newContext()
        let authors = try ["a", "b"].map { try context.insert(ShelfAuthor.self, key: $0) }
        let book = Shelves.book(9, in: context)
        book.author = authors[1]
        try context.save()
        let report = try authors[0].importRows(
            [["isbn": 9, "title": ""]], into: ShelfAuthor.books, with: ImportMapping(ShelfBook.self), options: skipping)
        #expect(report.refusedCount == 1)
        #expect(book.author === authors[1] && authors[1].books.contains(book) && authors[0].books.isEmpty)
        let mapping = ImportMapping(ShelfAuthor.self).objects(ShelfAuthor.books, from: "books", ImportMapping(ShelfBook.self))
        let nested = try context.importRows([["name": "a", "books": [["isbn": 9, "title": ""]]]], with: mapping, options: skipping)
        #expect(nested.refusedCount == 1)
        #expect(book.author === authors[1] && !context.hasChanges)
    }

    @Test("SEED-6: an empty list removes the members where a null keeps them", arguments: StoreKind.allCases)
    func emptyLists(kind: StoreKind) throws {
        let context = try Shelves.stack(kind).newContext()
        let mapping = ImportMapping(ShelfBook.self).objects(ShelfBook.tags, from: "tags", ImportMapping(ShelfTag.self)).nulls(.keep)
        _ = try context.importRows([["isbn": 1, "title": "one", "tags": ["x"]]], with: mapping)
        let book = try #require(try context.object(ShelfBook.self, key: 1))
        _ = try context.importRows([["isbn": 1, "tags": .null]], with: mapping)
        #expect(book.tags.count == 1)
        _ = try context.importRows([["isbn": 1, "tags": []]], with: mapping)
        #expect(book.tags.isEmpty)
    }

    @Test("SEED-5: cleaning keeps the related objects of the entity that rows named", arguments: StoreKind.allCases)
    func cleaningKeepsRelated(kind: StoreKind) throws {
        let stack = try Stack(kind, ManagedObjectModel(for: [ShelfNode.self]), [ShelfNode.self])
        let context = stack.newContext()
        let node = ImportMapping(ShelfNode.self)
        let mapping = node.object(ShelfNode.parent, from: "parent", node)
        _ = try context.importRows([["number": 7]], with: mapping)
        let report = try context.importRows([["number": 1, "parent": ["number": 2]]], with: mapping, options: ImportOptions(cleaning: ImportCleaning()))
        #expect(report.deleted == 1)
        #expect(try context.fetch(ShelfNode.self).map(\.number).sorted() == [1, 2])
    }

    @Test("SEED-5: an import with a context of its own cannot be saved by the caller")
    func savingByCaller() async throws {
        let container = try Shelves.stack(.inMemory).container
        await #expect(throws: HornbeamError.self) {
            try await container.importRows(
                from: ImportSource([["isbn": 1, "title": "one"]]), with: ImportMapping(ShelfBook.self), options: ImportOptions(saving: .byCaller))
        }
        #expect(try container.newContext().count(ShelfBook.self) == 0)
    }

    @Test(
        "SEED-6: a date is a day or a time with its zone, and nothing follows it",
        arguments: [
            "2026-01-31T12:00:00", "2026-01-31 23:59:59", "2026-01-31T99:00:00Z", "2026-01-31 rubbish", "2026-01-31T12:00:00Z rubbish", "2026-01-3",
            "2026-02-30", "2026-13-01", "2026-02-30T12:00:00Z", "2026-01-31T12:60:00Z", "2026-01-31T12:00Z", "2026-01-31T12:00:00.Z", "",
            "2026-01-31T12:00:00+01:75", "2026-01-31T12:00:00+1:000", "2026-01-31T12:00:00+0160",
        ])
    func badDates(text: String) throws {
        let context = try Shelves.stack(.inMemory).newContext()
        let row: ImportRow = ["isbn": 1, "title": "one", "added": .string(text)]
        #expect(try context.importRows([row], with: ImportMapping(ShelfBook.self), options: skipping).refusedCount == 1)
    }

    @Test(
        "SEED-6: dates in ISO 8601",
        arguments: [
            ("2026-01-31", 0), ("2026-01-31T12:00:00Z", 43_200), ("2026-01-31T12:00:00+01:00", 39_600), ("2026-01-31T12:00:00.500Z", 43_200.5),
            ("2026-01-31T12:00:00+0100", 39_600), ("2028-02-29", 65_577_600),
        ] as [(String, Double)])
    func goodDates(text: String, seconds: Double) throws {
        let context = try Shelves.stack(.inMemory).newContext()
        _ = try context.importRows([["isbn": 1, "title": "one", "added": .string(text)]], with: ImportMapping(ShelfBook.self))
        let added = try #require(try context.object(ShelfBook.self, key: 1)?.added)
        #expect(added.timeIntervalSince1970 == 1_769_817_600 + seconds)
    }

    @Test("SEED-5: whole numbers of Foundation that an attribute cannot hold are refused, and do not become one key")
    func largeNumbers() throws {
        let context = try Shelves.stack(.inMemory).newContext()
        let rows: [[String: Any]] = [["isbn": UInt64.max, "title": "a"], ["isbn": UInt64.max - 1, "title": "b"]]
        let report = try context.importRows(from: .dictionaries(rows), with: ImportMapping(ShelfBook.self), options: skipping)
        #expect(report.refusedCount == 2)
        #expect(try context.count(ShelfBook.self) == 0)
    }
}

/// Objects that name others of their entity.
@Entity final class ShelfNode: ManagedObject, UniquelyKeyed {
    @Attribute(.unique) var number: Int
    var parent: ShelfNode?

    static var uniqueKey: Hornbeam.Attribute<Int> { number }
}
