// The code of the README, compiled and run. `DocumentRules` compares the lines between the markers with the README: change both
// together.

import Testing

// snippet
import Foundation
import Hornbeam

enum Rating: Int, CaseIterable, AttributeValue { case unrated, poor, good }

@Entity final class Author: ManagedObject {
    @Attribute(.unique) var name: String
    @Relationship(deleteRule: .cascade, inverse: \Book.author) var books: Set<Book>
}

@Entity final class Book: ManagedObject {
    #Index<Book>([\.year])
    var title: String
    var year: Int?
    var author: Author?
    var rating: Rating = .unrated
}

@MainActor func keepBooks(at url: URL) async throws {
    let library = try await PersistentContainer.open(at: url, for: Author.self, Book.self)

    try await library.performBackgroundTask { context in
        let author = Author(in: context, name: "Mary Shelley")
        Book(in: context, title: "Frankenstein", year: 1818, author: author)    // author.books holds it at once
        try context.save()                                                      // on disk when it returns
    }

    let old = FetchRequest<Book>().where { $0.year < 1900 && $0.author.name.contains("shelley", .caseInsensitive) }
    for book in try library.viewContext.fetch(old) { print(book.title, book.author?.name ?? "") }
    try library.close()
}
// end

@Suite struct ReadmeTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @MainActor @Test func theFirstExampleRuns() async throws {
        let url = folder.url.appending(path: "Library.hornbeam")
        try await keepBooks(at: url)
        #expect(try count("title == 'Frankenstein'", at: url) == 1)
    }

    @MainActor @Test func theFourStepsRun() async throws {
        let url = folder.url.appending(path: "Library.hornbeam")
        try await keepBooks(at: url)
        let library = try open(url)
        let id = try await write(library)
        #expect(try read(library, id) == ["The Last Man", "Frankenstein"])
        try library.close()
        #expect(try count("author.name == 'Mary Shelley'", at: url) == 2)
    }

    @Test func theShelfOfTheFourStepsIsAModel() throws {
        let model = try ManagedObjectModel(for: Described.Book.self, Described.Shelf.self)
        #expect(try model.entity(named: "Shelf").relationshipsByName["books"]?.inverse?.name == "shelf")
    }

    private func count(_ format: String, at url: URL) throws -> Int {
        let library = try open(url)
        defer { try? library.close() }
        return try library.performAndWait { try $0.count(FetchRequest<Book>().where(format)) }
    }
}

private enum Described {
    @Entity final class Book: ManagedObject {
        var title: String
        var shelf: Shelf?
    }

    // snippet
    @Entity final class Shelf: ManagedObject {
        @Attribute(minimumLength: 1) var room: String
        var books: [Book]                               // in order; the inverse is Book.shelf
    }
    // end
}

private func open(_ url: URL) throws -> PersistentContainer {
    // snippet
    let library = try PersistentContainer.open(at: url, for: Author.self, Book.self)
    // end
    return library
}

private func write(_ library: PersistentContainer) async throws -> ManagedObjectID {
    // snippet
    let id = try await library.performBackgroundTask { context in
        let shelley = try context.first(Author.self) { $0.name == "Mary Shelley" }
        let book = Book(in: context, title: "The Last Man", year: 1826, author: shelley)
        book.rating = .good
        try context.save()
        return book.objectID                            // IDs and values may leave; objects may not
    }
    // end
    return id
}

@MainActor private func read(_ library: PersistentContainer, _ id: ManagedObjectID) throws -> [String] {
    // snippet
    let context = library.viewContext
    let request = FetchRequest<Book>()
        .where { $0.author.name == "Mary Shelley" }
        .sorted(by: \.year, .descending)
        .limit(10)
    let titles = try context.fetch(request).map(\.title)
    let book = try context.existingObject(Book.self, with: id)
    let count = book.author?[Author.books].count        // counts without loading
    // end
    #expect(count == 2)
    return titles
}
