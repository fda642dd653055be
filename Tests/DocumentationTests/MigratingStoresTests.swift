import Foundation
import Hornbeam
import Testing

/// The code of the article “Migrate a store”.
@Suite struct MigratingStoresTests {
    private enum First {
        // snippet
        @Entity final class Book: ManagedObject {
            var name: String
        }
        // end
    }

    private enum Second {
        // snippet
        @Entity(renamedFrom: "Book") final class Publication: ManagedObject {
            @Attribute(renamedFrom: "name") var title: String
            var rating: Int = 3
        }
        // end
    }

    @Test func storeFollowsTheClasses() throws {
        typealias Publication = Second.Publication
        let folder = try TemporaryFolder()
        let url = folder.url.appending(path: "Library.hornbeam")
        let old = try PersistentContainer.open(at: url, for: First.Book.self)
        try old.write { context in _ = First.Book(in: context, name: "Frankenstein") }
        try old.close()
        try showPlan(url)
        // snippet
        let library = try PersistentContainer.open(at: url, for: Publication.self)
        // end
        let found = try library.read { try $0.fetch(FetchRequest<Publication>()).map { "\($0.title) \($0.rating)" } }
        #expect(found == ["Frankenstein 3"])
        try library.close()
        try open(url)
    }

    private func showPlan(_ url: URL) throws {
        typealias Publication = Second.Publication
        // snippet
        let container = try PersistentContainer(
            name: "Library", model: ManagedObjectModel(for: Publication.self), classes: [Publication.self])
        container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
        for (store, plan) in try container.migrationPlan() { print(store.lastPathComponent, plan) }
        // end
        #expect(try container.migrationPlan().count == 1)
    }

    private func open(_ url: URL) throws {
        let first = try ManagedObjectModel(for: First.Book.self)
        let second = try ManagedObjectModel(for: Second.Publication.self)
        // snippet
        let versions = try VersionedModel([first, second])
        let container = try PersistentContainer(name: "Library", versions: versions)
        // end
        container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
        try container.loadPersistentStores()
        try container.close()
    }
}
