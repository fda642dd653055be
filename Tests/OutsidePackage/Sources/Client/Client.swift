import Foundation
import Hornbeam

@main struct Client {
    @MainActor static func main() async throws {
        let model = try ManagedObjectModel {
            Entity("Author") { Author.name; Author.books }
            Entity("Book") { Book.title; Book.pages; Book.author }
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-client-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let container = try PersistentContainer.open(
            at: folder.appending(path: "Books.hornbeam"), model: model, classes: [Author.self, Book.self])

        let id = try await container.performBackgroundTask { context in
            let author = Author(context: context)
            author.name = "Ursula"
            for (title, pages) in [("One", 100), ("Two", 200)] {
                let book = Book(context: context)
                book.title = title
                book.pages = pages
                book.author = author
            }
            try context.save()
            return author.objectID
        }
        try show(container, id)
        try container.close()
        print("linked")
    }

    @MainActor static func show(_ container: PersistentContainer, _ id: ManagedObjectID) throws {
        let context = container.viewContext
        let author = try context.existingObject(Author.self, with: id)
        let request = try FetchRequest<Book>().where("author.name == %@ AND pages > %d", "Ursula", 150)
        let titles = try context.fetch(request).map(\.title)
        guard author.books.count == 2, titles == ["Two"] else { fatalError("read something else than was written: \(titles)") }
        author.books.removeAll()
        try context.save()
        guard try context.count(FetchRequest<Book>().where("author == nil")) == 2 else { fatalError("the books kept their author") }
    }
}
