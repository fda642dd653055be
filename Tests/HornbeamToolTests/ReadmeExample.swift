// The code of the README, compiled and run. What stands between the markers is compared with the README by
// `DocumentRules`: change both together.

import Testing

// README
import Foundation
import Hornbeam

final class Author: ManagedObject {
    static let name = Attribute<String>("name", unique: true)
    static let books = ToMany<Book>("books", inverse: "author", deleteRule: .cascade)

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var books: ManagedSet<Book> { get { self[Self.books] } set { self[Self.books] = newValue } }
}

final class Book: ManagedObject {
    static let title = Attribute<String>("title")
    static let year = Attribute<Int?>("year")
    static let author = ToOne<Author>("author", inverse: "books")

    var title: String { get { self[Self.title] } set { self[Self.title] = newValue } }
    var year: Int? { get { self[Self.year] } set { self[Self.year] = newValue } }
    var author: Author? { get { self[Self.author] } set { self[Self.author] = newValue } }
}

@MainActor func keepBooks(at url: URL) async throws {
    let model = try ManagedObjectModel {
        Entity("Author") { Author.name; Author.books }
        Entity("Book") { Book.title; Book.year; Book.author; Indexed("year") }
    }
    let library = try PersistentContainer.open(at: url, model: model, classes: [Author.self, Book.self])

    try await library.performBackgroundTask { context in
        let author = Author(context: context)
        author.name = "Mary Shelley"
        let book = Book(context: context)
        book.title = "Frankenstein"
        book.year = 1818
        book.author = author                            // author.books holds it at once
        try context.save()                              // on disk when it returns
    }

    let old = try FetchRequest<Book>().where("year < %d AND author.name CONTAINS[cd] %@", 1900, "shelley")
    for book in try library.viewContext.fetch(old) { print(book.title, book.author?.name ?? "") }
    try library.close()
}
// END

@Suite struct ReadmeExample {
    private let folder = TemporaryFolder()

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
        #expect(try read(library.viewContext, id) == ["The Last Man", "Frankenstein"])
        try library.close()
        #expect(try count("author.name == 'Mary Shelley'", at: url) == 2)
    }

    private func count(_ format: String, at url: URL) throws -> Int {
        let library = try open(url)
        defer { try? library.close() }
        return try library.performAndWait { try $0.count(FetchRequest<Book>().where(format)) }
    }
}

private func open(_ url: URL) throws -> PersistentContainer {
    // README
    let model = try ManagedObjectModel {
        Entity("Author") { Author.name; Author.books }
        Entity("Book") { Book.title; Book.year; Book.author; Indexed("year") }
    }
    // END
    // README
    let library = try PersistentContainer.open(at: url, model: model, classes: [Author.self, Book.self])
    // END
    return library
}

private func write(_ library: PersistentContainer) async throws -> ManagedObjectID {
    // README
    let id = try await library.performBackgroundTask { context in
        let shelley = try context.fetch(FetchRequest<Author>().where("name == %@", "Mary Shelley"))[0]
        let book = Book(context: context)
        book.title = "The Last Man"
        book.year = 1826
        shelley.books.insert(book)                      // book.author is set at once
        try context.save()
        return book.objectID                            // IDs and values may leave; objects may not
    }
    // END
    return id
}

@MainActor private func read(_ context: ManagedObjectContext, _ id: ManagedObjectID) throws -> [String] {
    // README
    let request = try FetchRequest<Book>()
        .where("author.name == %@", "Mary Shelley")
        .sorted(by: "year", ascending: false)
        .limit(10)
    let titles = try context.fetch(request).map(\.title)
    let book = try context.existingObject(Book.self, with: id)
    let count = book.author?.books.count                // counts without loading
    // END
    #expect(count == 2)
    return titles
}
