import Foundation
import Hornbeam
import HornbeamModel
import HornbeamStore
import Testing

@testable import HornbeamTool

/// Backup, compaction and salvage from the command line.
@Suite struct UpkeepCommandTests {
    private let folder = TemporaryFolder()

    @Test("commands back up, compact, check and salvage a store, and report errors")
    @MainActor func commands() async throws {
        let path = folder.path("Packages.hornbeam")
        try CatalogueModel.open(at: path).close()
        let (copy, rescued) = (folder.path("Copy.hornbeam"), folder.path("Rescued.hornbeam"))
        #expect(await Tool.run(["backup", path, copy]) == 0)
        #expect(await Tool.run(["check", copy]) == 0)
        #expect(await Tool.run(["backup", path, copy]) == 1)
        #expect(await Tool.run(["compact", copy]) == 0)
        #expect(await Tool.run(["info", copy]) == 0)
        #expect(await Tool.run(["salvage", copy, rescued]) == 0)
        #expect(await Tool.run(["check", rescued]) == 0)
        #expect(await Tool.run(["salvage", folder.path("Nothing.hornbeam"), folder.path("New.hornbeam")]) == 1)
        #expect(await Tool.run(["backup", path]) == 2)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["Copy.hornbeam", "Packages.hornbeam", "Rescued.hornbeam"])
    }

    /// `compact` refused stores that other processes have open, and began a history in stores without one.
    @Test("stores are compacted and migrated beside the processes that share them, and get no history")
    @MainActor func besideSharers() async throws {
        let path = folder.path("Notes.hornbeam")
        let container = try PersistentContainer(name: "Notes", model: ManagedObjectModel { Entity("Note") { Attribute<String?>("text") } })
        var description = PersistentStoreDescription(url: URL(filePath: path))
        (description.isShared, description.history) = (true, nil)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        let context = container.newContext()
        func save() throws {
            try context.insert(entityNamed: "Note")["text"] = "a"
            try context.save()
        }
        try save()
        #expect(await Tool.run(["compact", path]) == 0)
        try save()
        #expect(try !container.openStore().keepsHistory)
        let next = try ManagedObjectModel {
            Entity("Note") {
                Attribute<String?>("text")
                Attribute<String?>("title")
            }
        }
        try folder.write(String(decoding: next.definition.json(), as: UTF8.self), to: "Next.json")
        #expect(await Tool.run(["migrate", path, "--model", folder.path("Next.json")]) == 0)
        #expect(#expect(throws: HornbeamError.self) { try save() }?.code == .modelMismatch)
        try container.close()
        #expect(await Tool.run(["check", path]) == 0)
    }

    @Test("a query sorts by several keys, separated by commas or one option each")
    @MainActor func queriesSortBySeveralKeys() async throws {
        let path = folder.path("Sorted.hornbeam")
        try CatalogueModel.open(at: path).close()
        #expect(await Tool.run(["query", path, "Package", "--sort", "name,-installedSize"]) == 0)
        #expect(await Tool.run(["query", path, "Package", "--sort", "name", "--sort", "-installedSize"]) == 0)
        #expect(await Tool.run(["query", path, "Package", "--sort", "name,size"]) == 1)
    }
}
