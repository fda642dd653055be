import Foundation
import Hornbeam
import Testing

/// The code in `Docs/Documents.md`.
@Suite @MainActor struct DocumentsPageTests {
    @Entity final class Author: ManagedObject {
        @Attribute(.unique) var name: String
        var books: Set<Book>
    }

    @Entity final class Book: ManagedObject {
        @Attribute(.unique) var isbn: String
        var title: String = ""
        var author: Author?
    }

    @Test func aDocumentIsSavedAndRecovered() throws {
        let folder = try TemporaryFolder()
        let (url, copy) = (folder.url.appending(path: "Plan.document"), folder.url.appending(path: "Copy.document"))
        try change(url, copy)
        // snippet
        let document = try PersistentDocument(opening: url, for: Author.self, Book.self)
        if let recovery = document.recovery {
            print("\(recovery.inserted) new objects, autosaved \(recovery.date)")
            document.recover()          // keeps them as unsaved changes; revert() discards them
        }
        // end
        #expect(document.isEdited)
        #expect(try document.context.count(Book.self) == 0)
        try document.revert()
        #expect(try document.context.count(Book.self) == 1)
        try document.close()
    }

    @Test func aDocumentAndAStoreArePacked() throws {
        let folder = try TemporaryFolder()
        let (file, copy) = (folder.url.appending(path: "Plan.hornbeamz"), folder.url.appending(path: "Copy.document"))
        let document = try PersistentDocument.create(at: folder.url.appending(path: "Plan.document"), for: Author.self, Book.self)
        _ = Book(in: document.context, isbn: "1", title: "Emma")
        // snippet
        try document.pack(to: file)
        try PersistentDocument.unpack(file, to: copy)      // a new document, whose saved state is the packed one
        // end
        try document.close()
        let unpacked = try PersistentDocument(opening: copy, for: Author.self, Book.self)
        #expect(try unpacked.context.count(Book.self) == 1 && !unpacked.isEdited)
        try unpacked.close()
        try packStore(folder.url.appending(path: "Store.hornbeamz"), folder.url.appending(path: "Store.hornbeam"))
    }

    private func packStore(_ file: URL, _ copy: URL) throws {
        let container = try PersistentContainer.inMemory(model: ManagedObjectModel(for: Author.self, Book.self), classes: [Author.self, Book.self])
        _ = Book(in: container.viewContext, isbn: "2", title: "Persuasion")
        try container.viewContext.save()
        let coordinator = container.persistentStoreCoordinator
        let store = coordinator.persistentStores[0]
        // snippet
        try coordinator.pack(store, to: file)
        try PersistentStoreCoordinator.unpackStore(file, to: copy)
        // end
        let unpacked = try PersistentContainer.open(at: copy, model: container.managedObjectModel, classes: [Author.self, Book.self])
        #expect(try unpacked.viewContext.fetch(Book.self).map(\.title) == ["Persuasion"])
        try unpacked.close()
        try container.close()
    }

    private func change(_ url: URL, _ copy: URL) throws {
        // snippet
        let document = try PersistentDocument.create(at: url, for: Author.self, Book.self)
        _ = Book(in: document.context, isbn: "1", title: "Emma")
        try document.save()
        try document.save(to: copy)         // a second document; this one stays
        document.context.undo()
        try document.close()
        // end
    }
}
