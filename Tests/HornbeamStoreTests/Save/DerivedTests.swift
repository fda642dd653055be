import Foundation
import HornbeamModel
import Testing
@testable import HornbeamStore

private func derivedModel() throws -> ManagedObjectModel {
    try ManagedObjectModel {
        Entity("Author") {
            Attribute<String?>("name")
            Attribute<String?>("search", indexed: true, derivation: "canonical:(name)")
            Attribute<Int?>("bookCount", indexed: true, derivation: "books.@count")
            Attribute<Int?>("pages", derivation: "books.pages.@sum")
            Attribute<Int32?>("longest", derivation: "books.pages.@max")
            Attribute<Double?>("average", derivation: "books.pages.@avg")
            ToMany("books", to: "Book", inverse: "author")
            ToMany("prizes", to: "Prize")
            Attribute<Int?>("money", derivation: "prizes.amount.@sum")
            ToOne("country", to: "Country")
        }
        Entity("Book") {
            Attribute<String?>("title")
            Attribute<Int32?>("pages")
            Attribute<String?>("loud", derivation: "uppercase:(title)")
            Attribute<String?>("authorName", derivation: "author.name")
            Attribute<String?>("country", derivation: "lowercase:(author.country.name)")
            Attribute<Date?>("written", derivation: "now()")
            ToOne("author", to: "Author", inverse: "books")
        }
        Entity("Novel", parent: "Book") { Attribute<String?>("again", derivation: "title") }
        Entity("Country") { Attribute<String?>("name") }
        Entity("Prize") { Attribute<Int?>("amount") }
    }
}

@Suite("Derived attributes") struct DerivedTests {
    let library: Library

    init() throws { library = try Library(model: derivedModel()) }

    @Test("ATT-11: every derivation is computed when the object is inserted")
    func insertion() throws {
        let country = try library.insert("Country", ["name": "Norway"])
        let author = try library.insert("Author", ["name": "Åse", "country": library.id(country)])
        let book = try library.insert("Novel", ["title": "Straße", "pages": 7, "author": library.id(author)])
        #expect(try library.value(author, "search") == "ase" && library.value(author, "bookCount") == 1)
        #expect(try library.value(author, "pages") == 7 && library.value(author, "longest") == 7)
        #expect(try library.value(author, "average") == .double(7) && library.value(author, "money") == 0)
        #expect(try library.value(book, "loud") == "STRASSE" && library.value(book, "authorName") == "Åse")
        #expect(try library.value(book, "country") == "norway" && library.value(book, "again") == "Straße")
        guard case .date(let date)? = try library.value(book, "written") else { Issue.record("no date"); return }
        #expect(abs(date.timeIntervalSinceNow) < 60)
    }

    @Test("ATT-11: a change at the far end of a path is followed, over one and two relationships, without a version of its own")
    func remoteChanges() throws {
        let country = try library.insert("Country", ["name": "Norway"])
        let other = try library.insert("Country", ["name": "Chile"])
        let author = try library.insert("Author", ["name": "a", "country": library.id(country)])
        let book = try library.insert("Book", ["pages": 7, "author": library.id(author)])
        try library.update(author, ["name": "b"])
        #expect(try library.value(book, "authorName") == "b" && library.version(book) == 1)
        try library.update(country, ["name": "Sweden"])
        #expect(try library.value(book, "country") == "sweden")
        try library.update(author, ["country": library.id(other)])
        #expect(try library.value(book, "country") == "chile")
        try library.update(book, ["pages": 9])
        #expect(try library.value(author, "pages") == 9 && library.value(author, "longest") == 9)
        try library.update(book, ["author": .null])
        #expect(try library.value(author, "pages") == 0 && library.value(author, "longest") == .null)
        #expect(try library.value(author, "bookCount") == 0 && library.value(book, "authorName") == .null)
    }

    @Test("ATT-11: deleting a member and linking one-way members update the aggregates")
    func membersComeAndGo() throws {
        let author = try library.insert("Author")
        let books = try (1 ... 3).map { try library.insert("Book", ["pages": .int($0), "author": library.id(author)]) }
        try library.delete(books[1])
        #expect(try library.value(author, "pages") == 4 && library.value(author, "bookCount") == 2)
        let prize = try library.insert("Prize", ["amount": 5])
        try library.link(library.property("prizes", of: "Author"), author, add: [prize])
        #expect(try library.value(author, "money") == 5)
        try library.update(prize, ["amount": 6])
        #expect(try library.value(author, "money") == 6)
        try library.link(library.property("prizes", of: "Author"), author, remove: [prize])
        #expect(try library.value(author, "money") == 0)
    }

    @Test("ATT-11, DEL-5: values derived from a deleted object become null, also if its references are kept", arguments: [false, true])
    func deletedSources(inBatch: Bool) throws {
        func delete(_ object: ObjectReference, _ entity: String) throws {
            if inBatch {
                _ = try library.store.delete(BatchDelete(request: FetchDescription(entityName: entity)))
            } else {
                try library.delete(object)
            }
        }
        let country = try library.insert("Country", ["name": "Norway"])
        let author = try library.insert("Author", ["name": "a", "country": library.id(country)])
        let book = try library.insert("Book", ["author": library.id(author)])
        #expect(try library.value(book, "country") == "norway" && library.value(book, "authorName") == "a")
        try delete(country, "Country")
        #expect(try library.value(book, "country") == .null && library.value(book, "authorName") == "a")
        #expect(try library.value(author, "country") == library.id(country) && library.version(book) == 1)
        try delete(author, "Author")
        #expect(try library.value(book, "authorName") == .null)
    }

    @Test("ATT-11: a batch updates derived attributes of its rows and of their owners")
    func batches() throws {
        let author = try library.insert("Author", ["name": "a"])
        let writer = try library.store.batchWriter(for: library.entity("Book"))
        for pages in 1 ... 10 {
            try writer.set(library.property("title", of: "Book"), "x")
            try writer.set(library.property("pages", of: "Book"), Int64(pages))
            try writer.setToOne(library.property("author", of: "Book"), author)
            try writer.append()
        }
        try writer.finish()
        #expect(try library.value(author, "bookCount") == 10 && library.value(author, "pages") == 55)
        var request = FetchDescription(entityName: "Book")
        request.predicate = try FetchPredicate(format: "loud == 'X' AND authorName == 'a' AND written != nil")
        #expect(try library.store.snapshot().count(request) == 10)
        #expect(try library.store.check().problems == [])
    }

    @Test("ATT-11: derived values are in the indexes, and are announced with the change that made them")
    func indexesAndAnnouncements() throws {
        let author = try library.insert("Author", ["name": "a"])
        let seen = Seen()
        let observation = library.store.observe { seen.changes.append($0) }
        let book = try library.insert("Book", ["author": library.id(author)])
        observation.cancel()
        var request = FetchDescription(entityName: "Author")
        request.predicate = try FetchPredicate(format: "bookCount == 1")
        #expect(try library.store.snapshot().fetch(request).references == [author])
        let updated = seen.changes.last?.updated.first { $0.reference == author }
        #expect(updated?.properties.contains(library.property("bookCount", of: "Author").index) == true)
        #expect(seen.changes.last?.inserted == [book])
    }

    private func words() throws -> Library {
        try Library(
            model: ManagedObjectModel {
                Entity("Word") {
                    Attribute<String?>("text")
                    Attribute<String?>("folded", derivation: "canonical:(text)")
                    Unique("folded")
                }
            })
    }

    @Test("ATT-11, MOD-8: derived unique values can be exchanged in one save")
    func uniqueValuesAreExchanged() throws {
        let library = try words()
        let words = try ["A", "B", "C"].map { try library.insert("Word", ["text": .string($0)]) }
        var changes = ChangeSet()
        for (word, text) in zip(words, ["b", "c", "A"]) { changes.updates += try library.updating(word, ["text": .string(text)]).updates }
        _ = try library.store.save(changes)
        #expect(try words.map { try library.value($0, "folded") } == ["b", "c", "a"])
        #expect(throws: SaveConflicts.self) { try library.insert("Word", ["text": "B"]) }
        #expect(try library.store.check().problems == [])
    }

    private func files() throws -> Library {
        try Library(
            model: ManagedObjectModel {
                Entity("File") {
                    Attribute<Int>("folder")
                    Attribute<String?>("name")
                    Attribute<String?>("folded", derivation: "canonical:(name)")
                    Unique("folder", "folded")
                }
            })
    }

    @Test("ATT-11, MOD-8: a key with a derived value is compared after all its values are changed")
    func keysOfSeveralValues() throws {
        let library = try files()
        let moved = try library.insert("File", ["folder": 1, "name": "x"])
        let other = try library.insert("File", ["folder": 2, "name": "X"])
        try library.update(moved, ["folder": 2, "name": "Y"])
        #expect(try library.value(moved, "folded") == "y" && library.value(other, "folded") == "x")
        for values: Library.Values in [["name": "x"], ["folder": 2, "name": "X"]] {
            let conflicts = try #require(throws: SaveConflicts.self) { try library.update(moved, values) }
            #expect(conflicts.uniques.map(\.objects) == [[moved]] && conflicts.uniques[0].existing == other)
        }
        try library.update(moved, ["folder": 3])
        try library.insert("File", ["folder": 2, "name": "Y"])
        let conflicts = try #require(throws: SaveConflicts.self) { try library.update(moved, ["folder": 2]) }
        #expect(conflicts.uniques.map(\.objects) == [[moved]])
        #expect(try library.store.check().problems == [])
    }

    @Test("ATT-11, BAT-2: a batch update compares keys with derived values after all their values are changed")
    func keysOfSeveralValuesInBatches() throws {
        let library = try files()
        let moved = try library.insert("File", ["folder": 1, "name": "x"])
        let other = try library.insert("File", ["folder": 2, "name": "X"])
        func update(_ folder: PropertyValue, _ name: PropertyValue) throws {
            var request = FetchDescription(entityName: "File")
            request.predicate = try FetchPredicate(format: "folder == 1")
            _ = try library.store.update(
                BatchUpdate(
                    request: request,
                    assignments: [
                        .init(library.property("folder", of: "File"), try FetchExpression(format: "%@", folder)),
                        .init(library.property("name", of: "File"), try FetchExpression(format: "%@", name)),
                    ]))
        }
        let conflicts = try #require(throws: SaveConflicts.self) { try update(2, "x") }
        #expect(conflicts.uniques.map(\.objects) == [[moved]] && conflicts.uniques[0].existing == other)
        try update(2, "Y")
        #expect(try library.value(moved, "folded") == "y" && library.value(other, "folded") == "x")
        #expect(throws: SaveConflicts.self) { try library.insert("File", ["folder": 2, "name": "y"]) }
        #expect(try library.store.check().problems == [])
    }

    @Test("ATT-11, MOD-8: new objects that share a derived value are the objects of the conflict")
    func newObjectsShareAValue() throws {
        let library = try words()
        var changes = ChangeSet()
        let first = try library.add("Word", ["text": "Ada"], to: &changes)
        let second = try library.add("Word", ["text": "ADA"], to: &changes)
        let conflicts = try #require(throws: SaveConflicts.self) { _ = try library.store.save(changes) }
        #expect(conflicts.uniques.map(\.objects) == [[first, second]] && conflicts.uniques[0].existing == nil)
    }

    @Test("ATT-11: a derived value that its attribute cannot hold refuses the save")
    func overflow() throws {
        let author = try library.insert("Author")
        try library.insert("Book", ["pages": 2_000_000_000, "author": library.id(author)])
        let store = try Library(
            model: ManagedObjectModel {
                Entity("A") {
                    ToMany("bs", to: "B", inverse: "a")
                    Attribute<Int16?>("sum", derivation: "bs.n.@sum")
                }
                Entity("B") {
                    Attribute<Int?>("n")
                    ToOne("a", to: "A", inverse: "bs")
                }
            })
        let owner = try store.insert("A")
        #expect {
            try store.insert("B", ["n": 40_000, "a": store.id(owner)])
        } throws: { ($0 as? HornbeamError)?.code == .numberTooLarge }
        #expect(try store.value(owner, "sum") == 0)
    }

    @Test("ATT-11: counts agree with the members after any sequence of saves", arguments: 1...5)
    func randomly(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let authors = try (0 ..< 4).map { try library.insert("Author", ["name": .string("\($0)")]) }
        var books: [ObjectReference] = []
        for _ in 0 ..< 120 {
            let author = authors.randomElement(using: &generator)!
            switch Int.random(in: 0 ..< 4, using: &generator) {
            case 0: books.append(try library.insert("Book", ["pages": .int(.random(in: 0 ... 9, using: &generator)), "author": library.id(author)]))
            case 1 where !books.isEmpty: try library.update(books.randomElement(using: &generator)!, ["author": library.id(author)])
            case 2 where !books.isEmpty:
                try library.update(books.randomElement(using: &generator)!, ["pages": .int(.random(in: 0 ... 9, using: &generator))])
            case 3 where !books.isEmpty: try library.delete(books.remove(at: Int.random(in: 0 ..< books.count, using: &generator)))
            default: break
            }
        }
        for author in authors {
            let members = try library.members(author, "books")
            #expect(try library.value(author, "bookCount") == .int(Int64(members.count)), "seed \(seed)")
            let pages = try members.reduce(Int64(0)) { sum, book in
                if case .int(let number)? = try library.value(book, "pages") { sum + number } else { sum }
            }
            #expect(try library.value(author, "pages") == .int(pages), "seed \(seed)")
        }
    }
}

/// The changes that an observer received. The committing thread writes it, which is the test's own.
private final class Seen: @unchecked Sendable {
    var changes: [StoreChange] = []
}
