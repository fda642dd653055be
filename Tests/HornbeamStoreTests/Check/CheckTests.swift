import Foundation
import HornbeamEngine
import HornbeamModel
import Testing
@testable import HornbeamStore

@Suite("Checking")
struct CheckTests {
    @Test("a library after random saves, moves and deletes is sound", arguments: 1 ... 3)
    func randomLibraryIsSound(_ seed: UInt64) throws {
        let filled = try FilledLibrary(seed: seed)
        let library = filled.library
        var generator = SeededGenerator(seed: seed)
        let shelf = try library.insert("Shelf")
        for object in filled.objects(of: library.entity("Publication")) {
            switch Int.random(in: 0 ..< 5, using: &generator) {
            case 0: try library.delete(object.reference)
            case 1: try library.update(object.reference, ["year": 1, "author": .null, "title": "new"])
            case 2 where object.entity.name == "Book": try library.update(object.reference, ["shelf": library.id(shelf)])
            case 3: try library.link(library.property("favourites", of: "Shelf"), shelf, add: [object.reference])
            default: try library.link(
                library.property("tags", of: "Publication"), object.reference, remove: try library.members(object.reference, "tags"))
            }
        }
        var parts: Set<String> = []
        let report = try library.store.check { parts.insert($0.part) }
        #expect(report.isSound, "seed \(seed): \(report)")
        #expect(report.rows == (try library.store.statistics().objectCount))
        #expect(parts.contains("pages") && parts.contains("Values"))
    }

    /// Changes trees directly, so that they contradict the store.
    private func corrupt(_ library: Library, _ change: (WriteTransaction, Schema) throws -> Void) throws {
        let transaction = try library.store.engine.begin()
        try change(transaction, library.store.schema)
        _ = try transaction.commit()
    }

    @Test("an entry without a row and a row without an entry are found and named")
    func strayEntriesAreFound() throws {
        let library = try Library()
        let author = try library.insert("Author", ["name": "Ada", "born": 1815])
        try corrupt(library) { transaction, schema in
            let unique = schema.indexes.first { $0.title == "Author(name)" }!
            let fetch = schema.indexes.first { $0.title == "Author(born)" }!
            _ = try transaction.delete([1] + Array("Ada".utf8) + [0, 0], from: unique.tree)
            try transaction.put(Array(repeating: 1, count: 13), [], in: fetch.tree)
        }
        let report = try library.store.check()
        #expect(
            report.problems == [
                "Author \(author.key) is missing in the index Author(name).",
                "The index Author(born) has 1 entries without a row.",
            ])
        #expect(report.description.hasPrefix("2 problems: 1 rows, "))
    }

    @Test("an index that lacks an entry and has another without a row, and one whose entry names no object, are compared completely")
    func severalFaultsOfOneIndex() throws {
        let library = try Library()
        let tags = try ["a", "b"].map { try library.insert("Tag", ["label": .string($0), "language": "en"]) }
        let books = try ["A", "B", "C"].map { try library.insert("Book", ["title": .string($0), "isbn": .string($0)]) }
        try corrupt(library) { transaction, schema in
            let unique = try #require(schema.indexes.first { $0.title == "Tag(label, language)" })
            let isbn = try #require(schema.indexes.first { $0.title == "Publication(isbn)" })
            var keys: [[UInt8]] = []
            try transaction.index(unique.tree).forEach(in: KeyRange()) { (key, _) throws(EngineError) -> Bool in
                keys.append(Array(key))
                return true
            }
            _ = try transaction.delete(keys[0], from: unique.tree)
            try transaction.put(keys[1] + [1], [UInt8](repeating: 1, count: 8), in: unique.tree)
            keys = []
            try transaction.index(isbn.tree).forEach(in: KeyRange()) { (key, _) throws(EngineError) -> Bool in
                keys.append(Array(key))
                return true
            }
            try transaction.put(keys[0], [1, 2, 3], in: isbn.tree)
            _ = try transaction.delete(keys[2], from: isbn.tree)
        }
        #expect(
            Set(try library.store.check().problems) == [
                "Tag \(tags[0].key) is missing in the index Tag(label, language).",
                "The index Tag(label, language) has 1 entries without a row.",
                "The entry of Book \(books[0].key) in the index Publication(isbn) names no object.",
                "Book \(books[2].key) is missing in the index Publication(isbn).",
            ])
    }

    @Test("links of which one side is missing are found")
    func oneSidedLinksAreFound() throws {
        let library = try Library()
        let book = try library.insert("Book", ["title": "A"])
        let tag = try library.insert("Tag", ["label": "t"])
        try library.link(library.property("tags", of: "Book"), book, add: [tag])
        try corrupt(library) { transaction, schema in
            let link = schema.link(library.property("publications", of: "Tag"))
            _ = try transaction.delete(MemberTrees.memberKey(owner: tag.key, member: book.key), from: link.members)
        }
        let report = try library.store.check()
        #expect(report.problems.contains { $0.contains("has 1 links and its other side 0") }, "\(report)")
    }

    @Test("an entry that cannot be read is an error and a problem, never a trap")
    func brokenEntriesAreErrors() throws {
        let library = try Library()
        let shelf = try library.insert("Shelf")
        let favourites = library.property("favourites", of: "Shelf")
        try corrupt(library) { transaction, schema in
            let owner = Array(MemberTrees.memberKey(owner: shelf.key, member: 1).prefix(8))
            try transaction.put(owner, [], in: schema.link(favourites).members)
        }
        let error = try #require(throws: HornbeamError.self) {
            try library.store.snapshot().members(of: favourites, owner: shelf.key)
        }
        #expect(error.code == .damaged)
        #expect(error.message == "An entry of a relationship cannot be read. Run check, and restore from a backup.")
        let report = try library.store.check()
        #expect(report.problems.contains { $0.contains("has an entry of 8 bytes") }, "\(report)")
    }

    @Test("a to-one and members of an entity that the relationship cannot have are refused, and are problems")
    func foreignEntitiesAreRefused() throws {
        let library = try Library()
        let author = try library.insert("Author", ["name": "Ada"])
        let journal = try library.insert("Journal", ["title": "J"])
        let book = try library.insert("Book", ["title": "A", "author": library.id(author), "successor": library.id(journal)])
        let shelf = try library.insert("Shelf")
        let (favourites, publications) = (library.property("favourites", of: "Shelf"), library.property("publications", of: "Author"))
        try library.link(favourites, shelf, add: [book])
        try corrupt(library) { transaction, schema in
            let wrong = schema.table(library.entity("Desk")).number
            let table = schema.table(library.entity("Book"))
            let column = table.column(library.property("successor", of: "Book"))
            try withUnsafeBytes(of: wrong.littleEndian) { try transaction.patch(column.entityColumn, of: [book.key], values: $0, in: table.tree) }
            for (link, owner) in [(schema.link(favourites), shelf), (schema.link(publications), author)] {
                try transaction.put(MemberTrees.memberKey(owner: owner.key, member: book.key), EntityNumber.bytes(wrong), in: link.members)
            }
        }
        let snapshot = try library.store.snapshot()
        #expect(try library.value(book, "successor") == .null)
        #expect(try snapshot.count(FetchDescription(entityName: "Book", predicate: FetchPredicate(format: "successor.title == 'J'"))) == 0)
        for (relationship, owner) in [(favourites, shelf), (publications, author)] {
            let error = try #require(throws: HornbeamError.self) { try snapshot.members(of: relationship, owner: owner.key) }
            #expect(error.code == .damaged)
        }
        let problems = try library.store.check().problems
        #expect(problems.contains("“successor” of Book \(book.key) names an object of an entity that it cannot have."), "\(problems)")
        #expect(problems.contains("Book \(book.key) has another entity among “publications” of the object it names."), "\(problems)")
        #expect(problems.contains { $0.hasSuffix("links \(shelf.key) to \(book.key), which is no stored object.") }, "\(problems)")
    }

    @Test("DEL-5: references to deleted objects are counted, not called problems")
    func danglingReferencesAreCounted() throws {
        let library = try Library()
        let author = try library.insert("Author", ["name": "Ada"])
        try library.insert("Book", ["title": "A", "author": library.id(author)])
        try library.delete(author)
        let report = try library.store.check()
        #expect(report.isSound && report.danglingReferences == 1, "\(report)")
    }

    @Test("a dump shows keys, versions and values, without nulls")
    func dumpShowsRows() throws {
        let library = try Library()
        let author = try library.insert("Author", ["name": "Ada"])
        let book = try library.insert("Book", ["title": "A", "price": .decimal(Decimal(3) / 2), "author": library.id(author)])
        #expect(
            try library.store.dump(library.entity("Publication"))
                == "Book \(book.key) v1 title: \"A\" price: 1.5 author: → \(author.key)")
    }
}
