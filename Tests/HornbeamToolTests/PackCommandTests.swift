import Foundation
import Hornbeam
import Testing

@testable import HornbeamTool

/// Packing and unpacking from the command line.
@Suite struct PackCommandTests {
    private let folder = TemporaryFolder()

    @Test("commands pack and unpack a store and a document, and report errors")
    @MainActor func commands() async throws {
        let path = folder.path("Packages.hornbeam")
        try CatalogueModel.open(at: path).close()
        let (file, copy, document, again) = (
            folder.path("Packages.hornbeamz"), folder.path("Copy.hornbeam"), folder.path("Copy.document"), folder.path("Again.hornbeamz")
        )
        #expect(await Tool.run(["pack", path, file]) == 0)
        #expect(await Tool.run(["pack", path, file]) == 1)
        #expect(await Tool.run(["unpack", file, copy]) == 0)
        #expect(await Tool.run(["check", copy]) == 0)
        #expect(await Tool.run(["unpack", file, copy]) == 1)
        #expect(await Tool.run(["unpack", file, document, "--document"]) == 0)
        #expect(await Tool.run(["check", document + "/saved.hornbeam"]) == 0)
        #expect(await Tool.run(["pack", document, again]) == 0)
        #expect(await Tool.run(["unpack", path, folder.path("New.hornbeam")]) == 1)
        var bytes = try Data(contentsOf: URL(filePath: again))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(filePath: again))
        #expect(await Tool.run(["unpack", again, folder.path("New.hornbeam")]) == 1)
        #expect(await Tool.run(["pack", folder.path("Nothing.hornbeam"), folder.path("New.hornbeamz")]) == 1)
        #expect(await Tool.run(["pack", path]) == 2)
        let names = ["Again.hornbeamz", "Copy.document", "Copy.hornbeam", "Packages.hornbeam", "Packages.hornbeamz"]
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == names)
    }
}
