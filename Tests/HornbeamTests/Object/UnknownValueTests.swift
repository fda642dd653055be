import Foundation
import Hornbeam
import Testing

/// Stored values that this version of a program cannot decode, because another version wrote them.
@Suite struct UnknownValueTests {
    /// A store with a book whose rating, binding and cover come from another version, and a context that has fetched the book.
    private func book(_ kind: StoreKind) throws -> (ManagedObjectContext, MacroBook) {
        let stack = try MacroLibrary.stack(kind)
        let writer = stack.newContext()
        let book = MacroBook(in: writer, title: "t", place: [:])
        book.code = "a"
        try book.setValue(.int(99), forKey: "rating")
        try book.setValue(.data(Data(#"{"colour":"red"}"#.utf8)), forKey: "binding")
        try book.setValue(.data(Data("?".utf8)), forKey: "cover")
        try writer.save()
        let reader = stack.newContext()
        return (reader, try #require(try reader.fetch(FetchRequest<MacroBook>()).first))
    }

    @Test("ATT-12: a getter returns the default for an unknown stored value, and the context reports it until acknowledged", arguments: StoreKind.allCases)
    func unknownValuesAreReported(kind: StoreKind) throws {
        let (context, book) = try book(kind)
        #expect(book.rating == .unrated && book.binding == .paper && book.cover == nil)
        #expect(context.readFailures.map(\.key) == ["rating", "binding", "cover"])
        #expect(context.readFailures.allSatisfy { $0.code == .typeMismatch && $0.objectIDs == [book.objectID] })
        #expect(
            context.readFailures.first?.message == "The stored value of “MacroBook.rating” cannot be decoded as Rating: another version of the "
                + "program wrote it. Read it by name, or set the property again.")
        #expect(throws: HornbeamError.self) { try context.fetch(FetchRequest<MacroBook>()) }
        context.acknowledgeReadFailures()
        #expect(try book.value(forKey: "rating") == .int(99))
        book.rating = .good
        try context.save()
        #expect(book.rating == .good)
        #expect(context.readFailures.isEmpty)
    }

    @Test("ATT-12: the throwing read throws for an unknown value, and the context does not report it again", arguments: StoreKind.allCases)
    func throwingReadsThrow(kind: StoreKind) throws {
        let (context, book) = try book(kind)
        let error = try #require(throws: HornbeamError.self) { try book.value(of: Attribute<Rating>("rating")) }
        #expect(error.code == .typeMismatch && error.key == "rating")
        #expect(context.readFailures.isEmpty)
    }

    @Test("a snapshot shows the default too", arguments: StoreKind.allCases)
    func snapshotsShowTheDefault(kind: StoreKind) throws {
        let (_, book) = try book(kind)
        let snapshot = book.snapshot
        #expect(snapshot[Attribute<Rating>("rating")] == .unrated && snapshot[Attribute<Coded<Binding>>("binding")].value == .paper)
    }

    @Test("opening refuses a required type that has neither an empty value nor a default")
    func typesWithoutAnEmptyValueNeedADefault() throws {
        let error = try #require(throws: HornbeamError.self) { try PersistentContainer.inMemory(for: UnfitBook.self) }
        #expect(error.code == .unboundClass && error.key == "chapter")
        #expect(
            error.message == "The class UnfitBook does not fit: a required value of this type cannot be empty: give the property an initial "
                + "value, or make it optional.")
    }
}

/// Has no empty value: no case is the first.
enum Chapter: Codable, Sendable, Equatable {
    case number(Int)
    case title(String)
}

@Entity final class UnfitBook: ManagedObject {
    var chapter: Chapter
}
