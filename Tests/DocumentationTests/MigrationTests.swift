import Foundation
import Hornbeam
import Testing

/// The code of `Docs/Migration.md`.
@Suite struct MigrationTests {
    @Test func storeIsMigratedWhenItIsOpened() throws {
        let folder = try TemporaryFolder()
        let url = folder.url.appending(path: "Company.hornbeam")
        let firstVersion = try ManagedObjectModel { Entity("Author") { Attribute<String>("name") } }
        let secondVersion = try ManagedObjectModel {
            Entity("Writer", renamedFrom: "Author") {
                Attribute<String>("fullName", renamedFrom: "name")
                Attribute<Int>("rating", default: 3)
            }
        }
        let old = try PersistentContainer.open(at: url, model: firstVersion)
        try old.write { context in try context.insert(entityNamed: "Author").setValue("Ada", forKey: "name") }
        try old.close()

        let waiting = try PersistentContainer(name: "Company", model: secondVersion)
        waiting.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
        try showPlan(waiting)
        let container = try PersistentContainer(name: "Company", model: secondVersion)
        container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
        try load(container)
        let names = try container.read { context in
            try context.fetch(FetchRequest<ManagedObject>(entityName: "Writer")).map { try $0.value(forKey: "fullName").stringValue }
        }
        #expect(names == ["Ada"])
        try container.close()
    }

    private func load(_ container: PersistentContainer) throws {
        // snippet
        try container.loadPersistentStores()          // migrates the store of the first version
        // end
    }

    private func showPlan(_ container: PersistentContainer) throws {
        // snippet
        for (url, plan) in try container.migrationPlan() { print(url, plan) }
        // end
        let plan = try #require(container.migrationPlan().values.first)
        #expect(try Document("Docs/Migration.md").blocks(of: "").first == "\(plan)")
    }
}
