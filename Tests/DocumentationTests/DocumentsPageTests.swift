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
