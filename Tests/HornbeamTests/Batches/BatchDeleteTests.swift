import Foundation
import Hornbeam
import HornbeamStore
import Testing

@Suite("Batch deletes")
struct BatchDeleteTests {
    @Test("BAT-3: the results of the equivalent fetch are deleted, with their index entries", arguments: StoreKind.allCases)
    func foundObjectsAreDeleted(kind: StoreKind) throws {
        let stack = try Catalogue.stack(kind)
        let context = stack.newContext()
        for number in 1 ... 9 { context.book("\(number)", pages: Int32(number)) }
        try context.save()
        let held = try context.books()[8]
        #expect(held.pages == 9)
        var request = BatchDeleteRequest(Book.self, predicate: Book.pages > 3)
        request.resultType = .objectIDs
        let result = try context.execute(request)
        #expect(result.count == 6 && result.objectIDs.contains(held.objectID))
        #expect(held.isDeleted && held.isbn == "9")
        #expect(try context.books().map(\.isbn) == ["1", "2", "3"])
        #expect(try context.count(FetchRequest<Book>(predicate: Book.pages > 3)) == 0)
        context.book("9")
        try context.save()
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-3: limit and order count, and IDs can be named", arguments: StoreKind.allCases)
    func limitsAndIDs(kind: StoreKind) throws {
        let context = try Catalogue.stack(kind).newContext()
        for number in 1 ... 5 { context.book("\(number)", pages: Int32(number)) }
        try context.save()
        var fetch = FetchDescription(entityName: "Book")
        fetch.sortDescriptors = [FetchSort("pages", ascending: false)]
        fetch.fetchLimit = 2
        #expect(try context.execute(BatchDeleteRequest(fetch: fetch)).count == 2)
        #expect(try context.books().map(\.isbn) == ["1", "2", "3"])
        let ids = try context.books().prefix(2).map(\.objectID)
        #expect(try context.execute(BatchDeleteRequest(entityName: "Book", objectIDs: ids)).count == 2)
        #expect(try context.execute(BatchDeleteRequest(entityName: "Book", objectIDs: ids)).count == 0)
        #expect(try context.books().map(\.isbn) == ["3"])
    }

    @Test("BAT-3: cascades follow, other ends are cleared, in all kinds of relationships", arguments: StoreKind.allCases)
    func deleteRulesHold(kind: StoreKind) throws {
        let stack = try Catalogue.stack(kind)
        let context = stack.newContext()
        let (oak, pine) = (context.shelf("oak"), context.shelf("pine"))
        let (topic, label) = (Topic(context: context), Label(context: context))
        topic.name = "sea"
        let books = (1 ... 4).map { context.book("\($0)", on: $0 < 4 ? oak : pine) }
        for book in books { book.topics = [topic] }
        books[0].label = label
        try context.save()
        var request = BatchDeleteRequest(Shelf.self, predicate: Shelf.name == "oak")
        request.resultType = .count
        #expect(try context.execute(request).count == 4)
        #expect(try context.books().map(\.isbn) == ["4"])
        #expect(topic.books.map(\.isbn) == ["4"] && label.book == nil)
        #expect(try context.execute(BatchDeleteRequest(Book.self)).count == 1)
        #expect(pine.books.isEmpty && topic.books.isEmpty)
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-3: a deny rule refuses the whole request and names the objects that it protects", arguments: StoreKind.allCases)
    func denyRefuses(kind: StoreKind) throws {
        let context = try Catalogue.stack(kind).newContext()
        let topics = ["free", "sea"].map { name in
            let topic = Topic(context: context)
            topic.name = name
            return topic
        }
        context.book("1").topics = [topics[1]]
        try context.save()
        let error = hornbeamError { try context.execute(BatchDeleteRequest(Topic.self)) }
        #expect(error?.code == .deleteDenied && error?.objectIDs == [topics[1].objectID] && error?.key == "books")
        #expect(try context.count(FetchRequest<Topic>()) == 2)
        #expect(try context.execute(BatchDeleteRequest(Topic.self, predicate: Topic.name == "free")).count == 1)
    }

    final class Reading: ManagedObject {
        static let uid = Attribute<String?>("uid", unique: true)
        static let note = Attribute<String?>("note", indexed: true)
        static let number = Attribute<Int>("number")
    }

    @Test("BAT-3: the index entries of a few among many rows go, of empty, null and very long values too", arguments: StoreKind.allCases)
    func fewAmongManyAreDeleted(kind: StoreKind) throws {
        let model = try ManagedObjectModel { Entity("Reading") { Reading.uid; Reading.note; Reading.number } }
        let stack = try Stack(kind, model, [Reading.self])
        let context = stack.newContext()
        let long = String(repeating: "long ", count: 400)
        func values(_ number: Int) -> (uid: String?, note: String?) {
            switch number % 4 {
            case 0: ("uid \(number)", nil)
            case 1: (nil, "")
            case 2: (long + "\(number)", long)
            default: ("\(number)", "note \(number)")
            }
        }
        try context.execute(
            BatchInsertRequest(Reading.self, from: 0..<2_000) { number, row in
                row.set(Reading.uid, values(number).uid)
                row.set(Reading.note, values(number).note)
                row.set(Reading.number, number)
            })
        #expect(try context.execute(BatchDeleteRequest(Reading.self, predicate: Reading.number < 40)).count == 40)
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
        for number in 0..<40 {
            guard let uid = values(number).uid else { continue }
            #expect(try context.first(Reading.self, where: Reading.uid, equals: uid) == nil)
            let again = Reading(context: context)
            again[Reading.uid] = uid
            again[Reading.number] = number
        }
        try context.save()
        #expect(try context.count(FetchRequest<Reading>()) == 1_990)
    }
}
