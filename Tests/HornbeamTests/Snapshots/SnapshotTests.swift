import Foundation
import Hornbeam
import Testing

/// Snapshots: the values of objects as values.
@Suite struct SnapshotTests {
    @Test("MOC-1: a snapshot can be sent to another actor with its values", arguments: StoreKind.allCases)
    func snapshotsCross(kind: StoreKind) async throws {
        let stack = try Company.stack(kind)
        let (ada, department) = try await stack.container.performBackgroundTask { context in
            let department = context.department("d")
            let ada = context.employee("Ada", salary: 10)
            ada.department = department
            ada.hired = Date(timeIntervalSinceReferenceDate: 5)
            try context.save()
            let snapshots = (ada.snapshot, department.snapshot(depth: 1))
            ada.name = "changed later"
            return snapshots
        }
        #expect(ada.name == "Ada" && ada.salary == 10 && ada.isActive && ada[Employee.name] == "Ada")
        #expect(ada.hired == Date(timeIntervalSinceReferenceDate: 5))
        #expect(ada.department?.objectID == department.objectID && ada.department?.snapshot == nil && ada.spouse == nil)
        #expect(ada.friends == nil && department.employees?.map(\.name) == ["Ada"])
        #expect(ada["salary"] == .int(10) && ada["sallary"] == nil)
        #expect(!ada.objectID.isTemporaryID && ada.id == ada.objectID)
    }

    @Test("MOC-1: two snapshots are equal when ID and values are", arguments: Setting.contexts)
    func equality(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        let (first, second) = (object.snapshot, object.snapshot)
        object.counter = 99
        #expect(first == second && first.hashValue == second.hashValue && first != object.snapshot)
        #expect(first != PEntity(context: context).snapshot)
    }

    /// An author with two books, a prize and two pupils.
    private func library(_ context: ManagedObjectContext) throws -> MacroAuthor {
        let author = MacroAuthor(in: context, name: "Mary", prizes: [], pupils: [])
        for (number, title) in ["Frankenstein", "The Last Man"].enumerated() {
            let book = MacroBook(in: context, title: title, year: 1818 + number * 8, author: author, place: ["city": .string("London")])
            book.code = "\(number)"
            book.rating = .good
            book.cover = Binding(material: "cloth", weight: 1.5)
            book.tags = ["gothic", "novel"]
            book.image = Data([1, 2, 3])
            book.selected = true
        }
        author.prizes = ["b", "a"].map { MacroPrize(in: context, name: $0) }
        author.pupils.formUnion(["p", "q"].map { MacroAuthor(in: context, name: $0) })
        try context.save()
        return author
    }

    @Test("values have the types of the class: enums, structs, lists, composites, derived, transient and inherited ones",
          arguments: Setting.contexts)
    func membersHaveTheirTypes(setting: Setting) throws {
        let context = setting.context(of: try MacroLibrary.stack(setting.kind))
        let author = try library(context)
        let book = try #require(author.books.first { $0.code == "0" })
        let snapshot: MacroBook.Snapshot = book.snapshot
        let rating: Rating = snapshot.rating
        let binding: Binding = snapshot.binding
        let cover: Binding? = snapshot.cover
        let tags: [String] = snapshot.tags
        let year: Int? = snapshot.year
        #expect(rating == .good && binding == .paper && cover?.weight == 1.5 && tags == ["gothic", "novel"] && year == 1818)
        #expect(snapshot.code == "0" && snapshot[MacroBook.id] == book.id && snapshot.added == book.added)
        #expect(snapshot.place == book.place && snapshot.image == Data([1, 2, 3]) && snapshot.selected && snapshot.lent == 0)
        #expect(author.snapshot.bookCount == 2 && snapshot["draft"] == nil)
        let item: MacroItem.Snapshot = (book as MacroItem).snapshot
        #expect(item.code == "0" && item["title"] == .string("Frankenstein"))
    }

    @Test("relationships are followed up to the depth, in cycles too", arguments: StoreKind.allCases)
    func depth(kind: StoreKind) throws {
        let context = try MacroLibrary.stack(kind).newContext()
        let author = try library(context)
        let shallow = author.snapshot
        #expect(shallow.books == nil && shallow.prizes == nil && shallow.teacher == nil)
        let one = author.snapshot(depth: 1)
        #expect(one.prizes?.map(\.name) == author.prizes.map(\.name), "ordered")
        #expect(one.books?.map(\.title).sorted() == ["Frankenstein", "The Last Man"])
        #expect(one.books?.first?.author?.objectID == author.objectID && one.books?.first?.author?.snapshot == nil)
        let three = author.snapshot(depth: 3)
        let back = three.books?.first?.author?.snapshot
        #expect(back?.name == "Mary" && back?.books?.count == 2 && back?.books?.first?.author?.snapshot == nil)
        #expect(author.snapshot(depth: -1) == shallow && shallow != one)
        #expect(three.pupils?.map(\.name).sorted() == ["p", "q"] && three.pupils?.first?.teacher?.snapshot?.name == "Mary")
    }

    @Test("relationships are included by key path, with those on the path", arguments: StoreKind.allCases)
    func including(kind: StoreKind) throws {
        let context = try MacroLibrary.stack(kind).newContext()
        let author = try library(context)
        let prize = author.prizes[0]
        let snapshot = prize.snapshot(including: \.winner.books, \.winner.pupils.any.teacher)
        #expect(snapshot.winner?.snapshot?.books?.count == 2 && snapshot.winner?.snapshot?.prizes == nil && snapshot.jury == nil)
        #expect(snapshot.winner?.snapshot?.pupils?.first?.teacher?.snapshot?.name == "Mary")
        #expect(snapshot.winner?.snapshot?.books?.first?.author?.snapshot == nil)
    }

    @Test("a relationship of a node to itself ends at the depth")
    func selfReference() throws {
        let context = try Company.stack(.inMemory).newContext()
        let ada = context.employee("Ada")
        ada.spouse = ada
        ada.friends.insert(ada)
        let snapshot = ada.snapshot(depth: 2)
        #expect(snapshot.spouse?.snapshot?.spouse?.objectID == ada.objectID && snapshot.friends?.first?.friends?.count == 1)
        #expect(snapshot.spouse?.snapshot?.spouse?.snapshot?.friends == nil)
    }

    @Test("unsaved changes count, and predicates can be evaluated", arguments: Setting.contexts)
    func predicates(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let ada = context.employee("Ada", salary: 10)
        ada.department = context.department("d")
        let snapshot = ada.snapshot(including: \.department)
        #expect(snapshot.objectID.isTemporaryID)
        #expect(try FetchPredicate(format: "salary > 9 AND name == 'Ada' AND department.name == 'd'").evaluate(with: snapshot))
        #expect(hornbeamError { _ = try FetchPredicate(format: "sallary > 9").evaluate(with: snapshot) }?.code == .unknownKey)
        let error = hornbeamError { _ = try FetchPredicate(format: "friends.@count == 0").evaluate(with: snapshot) }
        #expect(error?.message == "The snapshot of Employee has no “friends”: it is not a property, or the snapshot does not follow this relationship.")
    }
}
