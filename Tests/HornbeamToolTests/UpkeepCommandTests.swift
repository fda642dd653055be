import Foundation
import Hornbeam
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

    @Test("a query sorts by several keys, separated by commas or one option each")
    @MainActor func queriesSortBySeveralKeys() async throws {
        let path = folder.path("Sorted.hornbeam")
        try CatalogueModel.open(at: path).close()
        #expect(await Tool.run(["query", path, "Package", "--sort", "name,-installedSize"]) == 0)
        #expect(await Tool.run(["query", path, "Package", "--sort", "name", "--sort", "-installedSize"]) == 0)
        #expect(await Tool.run(["query", path, "Package", "--sort", "name,size"]) == 1)
    }
}
