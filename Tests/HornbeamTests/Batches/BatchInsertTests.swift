import Foundation
import Hornbeam
import HornbeamStore
import Testing

@Suite("Batch inserts")
struct BatchInsertTests {
    @Test("BAT-1: dictionaries become objects with the model's defaults", arguments: StoreKind.allCases)
    func dictionariesBecomeObjects(kind: StoreKind) throws {
        let stack = try Catalogue.stack(kind)
        let context = stack.newContext()
        var request = BatchInsertRequest(
            entityName: "Book",
            objects: [["isbn": .string("1"), "pages": .int(7)], ["isbn": .string("2"), "title": .string("Two")]])
        request.resultType = .count
        #expect(try context.execute(request).count == 2)
        let books = try context.books()
        #expect(books.map(\.isbn) == ["1", "2"])
        #expect(books.map(\.title) == ["untitled", "Two"])
        #expect(books.map(\.pages) == [7, 100])
        #expect(books.map(\.isLent) == [false, false])
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-1: a handler fills rows until it returns that there are no more", arguments: StoreKind.allCases)
    func handlersFillRows(kind: StoreKind) throws {
        let stack = try Catalogue.stack(kind)
        let context = stack.newContext()
        var next = 0
        var request = BatchInsertRequest(Book.self) { row in
            next += 1
            row.set(Book.isbn, "\(next)")
            row.set(Book.price, Double(next) / 2)
            return next > 3
        }
        request.resultType = .objectIDs
        let result = try context.execute(request)
        #expect(result.objectIDs.count == 3 && result.count == 3)
        #expect(try result.objectIDs.map { try context.existingObject(Book.self, with: $0).price } == [0.5, 1, 1.5])
    }

    @Test("BAT-1: relationships of every kind are set from both sides", arguments: StoreKind.allCases)
    func relationshipsAreSet(kind: StoreKind) throws {
        let stack = try Catalogue.stack(kind)
        let context = stack.newContext()
        let shelf = context.shelf("oak")
        let topics = ["sea", "war"].map { name in
            let topic = Topic(context: context)
            topic.name = name
            return topic
        }
        let label = Label(context: context)
        let old = context.book("0", on: shelf)
        old.label = label
        try context.save()
        var request = BatchInsertRequest(Book.self, from: 1 ... 2) { number, row in
            row.set(Book.isbn, "\(number)")
            row.set(Book.shelf, shelf.objectID)
            row.add(topics.map(\.objectID), to: Book.topics)
            if number == 2 { row.set(Book.label, label.objectID) }
        }
        request.resultType = .objectIDs
        let ids = try context.execute(request).objectIDs
        #expect(shelf.books.map(\.isbn) == ["0", "1", "2"])
        #expect(topics.map(\.books.count) == [2, 2])
        #expect(label.book?.isbn == "2")
        #expect(old.label == nil)
        let request2 = BatchInsertRequest(
            entityName: "Shelf",
            objects: [["name": .string("pine"), "books": .array(ids.map(PropertyValue.objectID))]])
        try context.execute(request2)
        let pine = try #require(try context.fetch(FetchRequest<Shelf>(predicate: Shelf.name == "pine")).first)
        #expect(pine.books.map(\.isbn) == ["1", "2"] && pine.shouted == "PINE")
        #expect(shelf.books.map(\.isbn) == ["0"])
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-1: members of another entity refuse the request", arguments: StoreKind.allCases, ["Department", "Project"])
    func membersOfAnotherEntity(kind: StoreKind, owner: String) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let department = context.department("d")
        try context.save()
        let members = PropertyValue.array([.objectID(department.objectID)])
        let request = BatchInsertRequest(entityName: owner, objects: [["name": "new", "employees": members]])
        let error = hornbeamError { try context.execute(request) }
        #expect(error?.code == .typeMismatch && error?.key == "employees")
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: owner).where("name == 'new'")) == 0)
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-1: a duplicate refuses the whole request", arguments: StoreKind.allCases)
    func duplicatesRefuseTheRequest(kind: StoreKind) throws {
        let context = try Catalogue.stack(kind).newContext()
        context.book("2")
        try context.save()
        let request = BatchInsertRequest(Book.self, from: 1 ... 3) { $1.set(Book.isbn, "\($0)") }
        #expect(hornbeamError { try context.execute(request) }?.code == .constraintConflict)
        #expect(try context.books().map(\.isbn) == ["2"])
    }

    @Test("BAT-1: rows with stored unique values are skipped, or change the stored objects", arguments: StoreKind.allCases)
    func upsertsBySkipAndUpdate(kind: StoreKind) throws {
        let stack = try Catalogue.stack(kind)
        let context = stack.newContext()
        let stored = context.book("2", pages: 22)
        stored.title = "kept"
        try context.save()
        func request(_ rule: BatchInsertRequest.ConflictRule, _ isbns: [Int]) -> BatchInsertRequest {
            var request = BatchInsertRequest(Book.self, from: isbns) { number, row in
                row.set(Book.isbn, "\(number)")
                row.set(Book.pages, Int32(number * 1000))
            }
            request.onConflict = rule
            return request
        }
        let skipping = try context.execute(request(.skip, [1, 2, 1]))
        #expect(skipping.count == 1 && skipping.skippedCount == 2 && skipping.updatedCount == 0)
        #expect(try context.books().map(\.pages) == [1000, 22])
        let updating = try context.execute(request(.update, [2, 3, 3]))
        #expect(updating.count == 3 && updating.updatedCount == 2 && updating.skippedCount == 0)
        #expect(try context.books().map(\.pages) == [1000, 2000, 3000])
        #expect(stored.title == "kept")
        #expect(try context.count(FetchRequest<Book>(predicate: Book.pages == 22)) == 0)
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-1: rows that were committed earlier stay when a later row fails", arguments: StoreKind.allCases)
    func committedRowsStay(kind: StoreKind) throws {
        let context = try Catalogue.stack(kind).newContext()
        var request = BatchInsertRequest(Book.self, from: 1 ... 5) { number, row in
            row.set("isbn", number == 5 ? .int(5) : .string("\(number)"))
        }
        request.commitEvery = 2
        let error = hornbeamError { try context.execute(request) }
        #expect(error?.code == .typeMismatch && error?.key == "isbn")
        #expect(try context.books().map(\.isbn) == ["1", "2", "3", "4"])
        context.book("9")
        try context.save()
    }

    @Test("BAT-1: a value that a row cannot have is refused by name", arguments: StoreKind.allCases)
    func impossibleValuesAreRefused(kind: StoreKind) throws {
        let context = try Catalogue.stack(kind).newContext()
        func failure(_ entity: String, _ values: [String: PropertyValue]) -> HornbeamError? {
            hornbeamError { try context.execute(BatchInsertRequest(entityName: entity, objects: [values])) }
        }
        #expect(failure("Book", ["titel": .string("x")])?.code == .unknownKey)
        #expect(failure("Shelf", ["shouted": .string("x")])?.key == "shouted")
        #expect(failure("Book", ["topics": .string("x")])?.code == .typeMismatch)
        #expect(failure("Bok", [:])?.code == .unknownEntity)
        #expect(failure("Book", ["pages": .int(1 << 40)])?.code == .numberTooLarge)
        let foreign = try Catalogue.stack(.inMemory).newContext()
        let shelf = foreign.shelf("elsewhere")
        try foreign.save()
        #expect(failure("Book", ["shelf": .objectID(shelf.objectID)])?.code == .relationshipAcrossStores)
        #expect(try context.books().isEmpty)
    }

    @Test("BAT-4: other contexts and change sequences receive a batch like a save", arguments: StoreKind.allCases)
    func batchesAreAnnounced(kind: StoreKind) async throws {
        let stack = try Catalogue.stack(kind)
        var changes = stack.container.changes().makeAsyncIterator()
        let (watcher, context) = (stack.newContext(), stack.newContext())
        context.transactionAuthor = "importer"
        #expect(try watcher.books().isEmpty)
        try context.execute(BatchInsertRequest(entityName: "Book", objects: [["isbn": .string("1")]]))
        let heard = try #require(await changes.next())
        #expect(heard.inserted.count == 1 && heard.author == "importer")
        #expect(try watcher.books().map(\.isbn) == ["1"])
    }
}
