import Foundation
import Hornbeam
import Testing

/// Objects by their unique keys.
@Suite struct UniquelyKeyedTests {
    @Test("SEED-1: an insert sets the key and calls the closure; a closure that throws leaves no object", arguments: Setting.contexts)
    func insertWithKey(setting: Setting) throws {
        let context = setting.context(of: try Shelves.stack(setting.kind))
        let author = try context.insert(ShelfAuthor.self, key: "Mary Shelley") { $0.born = 1797 }
        #expect(author.name == "Mary Shelley" && author.born == 1797 && author.isInserted)
        #expect(throws: CancellationError.self) { try context.insert(ShelfAuthor.self, key: "nobody") { _ in throw CancellationError() } }
        #expect(context.insertedObjects == [author])
        try context.save()
    }

    @Test("SEED-1: the save refuses a second object with the key", arguments: StoreKind.allCases)
    func secondInsert(kind: StoreKind) throws {
        let context = try Shelves.stack(kind).newContext()
        try context.insert(ShelfBook.self, key: 1) { $0.title = "one" }
        try context.insert(ShelfBook.self, key: 1) { $0.title = "again" }
        #expect(hornbeamError { try context.save() } != nil)
    }

    @Test("SEED-2: an object is found by its key, saved or not; nil when there is none", arguments: Setting.contexts)
    func objectByKey(setting: Setting) throws {
        let context = setting.context(of: try Shelves.stack(setting.kind))
        let book = Shelves.book(7, in: context)
        #expect(try context.object(ShelfBook.self, key: 7) === book)
        try context.save()
        #expect(try context.object(ShelfBook.self, key: 7) === book)
        #expect(try context.object(ShelfBook.self, key: 8) == nil)
        #expect(try context.object(ShelfAuthor.self, key: "") == nil)
    }

    @Test("SEED-3: an upsert finds or makes the object, and configures it either way", arguments: Setting.contexts)
    func upsertByKey(setting: Setting) throws {
        let context = setting.context(of: try Shelves.stack(setting.kind))
        let made = try context.upsert(ShelfBook.self, key: 7) { $0.title = "first" }
        #expect(made.isInserted && made.isbn == 7 && made.title == "first")
        try context.save()
        let found = try context.upsert(ShelfBook.self, key: 7) { $0.title = "second" }
        #expect(found === made && made.title == "second" && !made.isInserted)
        #expect(throws: CancellationError.self) { try context.upsert(ShelfBook.self, key: 7) { _ in throw CancellationError() } }
        #expect(throws: CancellationError.self) { try context.upsert(ShelfBook.self, key: 8) { _ in throw CancellationError() } }
        #expect(try context.count(ShelfBook.self) == 1)
    }

    @Test("SEED-4: many keys are looked up at once; missing ones are absent, or made", arguments: Setting.contexts)
    func manyKeys(setting: Setting) throws {
        let context = setting.context(of: try Shelves.stack(setting.kind))
        for isbn in 0..<50 { Shelves.book(isbn, in: context, "book \(isbn)") }
        try context.save()
        Shelves.book(100, in: context)
        context.delete(try #require(try context.object(ShelfBook.self, key: 3)))
        let found = try context.objects(ShelfBook.self, keys: [1, 2, 3, 2, 77, 100])
        #expect(Set(found.keys) == [1, 2, 100])
        for (key, book) in found { #expect(book.isbn == key) }
        var filled: [Int] = []
        let all = try context.upsert(ShelfBook.self, keys: [78, 1, 77, 78]) { book in
            filled.append(book.isbn)
            book.title = "new"
        }
        #expect(filled == [78, 77] && Set(all.keys) == [1, 77, 78])
        #expect(all[1]?.title == "book 1" && all[78]?.title == "new")
        try context.save()
        #expect(try context.objects(ShelfBook.self, keys: []).isEmpty)
        #expect(try context.count(ShelfBook.self) == 52)
    }

    @Test("SEED-4: an upsert of many merges with an object that another context saved first", arguments: StoreKind.allCases)
    func concurrentUpserts(kind: StoreKind) throws {
        let stack = try Shelves.stack(kind)
        let (one, other) = (stack.newContext(), stack.newContext())
        _ = try one.upsert(ShelfAuthor.self, keys: ["a", "b"])
        _ = try other.upsert(ShelfAuthor.self, keys: ["b", "c"])
        try one.save()
        try other.save()
        #expect(try stack.newContext().fetch(ShelfAuthor.self) { $0 = $0.inDefaultOrder() }.map(\.name) == ["a", "b", "c"])
    }

    @Test("SEED-4: an attribute without a constraint is refused for upserts")
    func withoutConstraint() throws {
        let context = try Shelves.stack(.inMemory).newContext()
        let error = hornbeamError { _ = try context.upsert(ShelfBook.self, where: ShelfBook.title, in: ["a"]) }
        #expect(error?.code == .unsupportedRequest)
        #expect(try context.objects(ShelfBook.self, where: ShelfBook.title, in: ["a"]).isEmpty)
    }

    @Test("SEED-3, SEED-4: objects without a key are not unique: null finds none of them, and an upsert by null is refused")
    func nullKeys() throws {
        let context = try Stack(.inMemory, ManagedObjectModel(for: [KeyedLoan.self]), [KeyedLoan.self]).newContext()
        let loan = try context.insert(KeyedLoan.self)
        loan.title = "A"
        try context.save()
        #expect(try context.object(KeyedLoan.self, key: nil) == nil)
        #expect(try context.objects(KeyedLoan.self, keys: [nil, "a"]).isEmpty)
        #expect(hornbeamError { try context.upsert(KeyedLoan.self, key: nil) { $0.title = "B" } }?.code == .unsupportedRequest)
        #expect(hornbeamError { _ = try context.upsert(KeyedLoan.self, keys: ["a", nil]) { $0.title = "B" } }?.code == .unsupportedRequest)
        #expect(loan.title == "A")
        #expect(try context.count(KeyedLoan.self) == 1)
    }

    @Test("SEED-2, SEED-3, SEED-4: a URL that is relative to another one is the key of the object with the absolute URL", arguments: Setting.contexts)
    func relativeURLs(setting: Setting) throws {
        let context = setting.context(of: try Stack(setting.kind, ManagedObjectModel(for: [KeyedPage.self]), [KeyedPage.self]))
        let folder = try #require(URL(string: "https://example.org/"))
        let links = try (0 ..< 2).map { (number: Int) in
            (relative: try #require(URL(string: "p\(number)", relativeTo: folder)), absolute: try #require(URL(string: "https://example.org/p\(number)")))
        }
        let page = try context.insert(KeyedPage.self, key: links[0].relative)
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            for link in [links[0].relative, links[0].absolute] {
                #expect(try context.object(KeyedPage.self, key: link) === page)
                #expect(try context.objects(KeyedPage.self, keys: [link]) == [link: page])
                #expect(try context.upsert(KeyedPage.self, key: link) === page)
                #expect(try context.upsert(KeyedPage.self, keys: [link]) == [link: page])
            }
        }
        context.reset()
        let all = try context.upsert(KeyedPage.self, keys: [links[0].relative, links[1].relative, links[1].absolute])
        #expect(all[links[0].relative]?.isInserted == false)
        #expect(all[links[1].relative]?.isInserted == true && all[links[1].relative] === all[links[1].absolute])
        try context.save()
        #expect(try context.count(KeyedPage.self) == 2)
    }

    @Test("SEED-5: a row of an import whose key is a relative URL edits the object with the absolute URL", arguments: Setting.contexts)
    func relativeURLsOfImports(setting: Setting) throws {
        let context = setting.context(of: try Stack(setting.kind, ManagedObjectModel(for: [KeyedPage.self]), [KeyedPage.self]))
        let folder = try #require(URL(string: "https://example.org/"))
        let relative = try #require(URL(string: "p", relativeTo: folder))
        let absolute = try #require(URL(string: "https://example.org/p"))
        let rows: [ImportRow] = [["link": .uri(relative), "title": "a"], ["link": .uri(absolute), "title": "b"]]
        let first = try context.importRows(rows, with: ImportMapping(KeyedPage.self))
        let second = try context.importRows(rows, with: ImportMapping(KeyedPage.self))
        #expect(first.inserted == 1 && second.inserted == 0)
        #expect(try context.fetch(KeyedPage.self).map(\.title) == ["b"])
    }

    @Test("SEED-8, SEED-9, FET-3: fetch, first, exists, count and deletion by class", arguments: Setting.contexts)
    func byClass(setting: Setting) throws {
        let context = setting.context(of: try Shelves.stack(setting.kind))
        for name in ["c", "a", "d", "b"] { try context.insert(ShelfAuthor.self, key: name) { $0.born = name == "d" ? nil : 1800 } }
        let names = try context.fetch(ShelfAuthor.self) { $0 = $0.where { $0.born == 1800 }.inDefaultOrder().limit(2) }.map(\.name)
        #expect(names == ["a", "b"])
        #expect(try context.fetch(ShelfAuthor.self).count == 4)
        #expect(try context.first(ShelfAuthor.self) { $0.born == nil }?.name == "d")
        #expect(try context.exists(ShelfAuthor.self) { $0.name == "b" })
        #expect(try context.count(ShelfAuthor.self) == 4)
        #expect(try context.delete(ShelfAuthor.self) { $0.name == "b" || $0.name == "c" } == 2)
        #expect(try context.deleteAll(ShelfAuthor.self) == 2)
        try context.save()
        #expect(try context.count(ShelfAuthor.self) == 0)
    }
}

/// Objects that may have no key.
@Entity final class KeyedLoan: ManagedObject, UniquelyKeyed {
    @Attribute(.unique) var code: String?
    var title: String = ""

    static var uniqueKey: Hornbeam.Attribute<String?> { code }
}

/// Objects whose keys are URLs.
@Entity final class KeyedPage: ManagedObject, UniquelyKeyed {
    @Attribute(.unique) var link: URL
    var title: String = ""

    static var uniqueKey: Hornbeam.Attribute<URL> { link }
}
