import Foundation
import Hornbeam
import HornbeamModel
import Testing

@testable import HornbeamTool

/// `hornbeam generate`: classes from a file or a store, into a folder.
@Suite struct GenerateCommandTests {
    private let folder = TemporaryFolder()

    private func model() throws -> String {
        let definition = ModelDefinition {
            Entity("Author") {
                Attribute<String>("name", unique: true)
                ToMany("books", to: "Book", inverse: "author")
            }
            Entity("Book") {
                Attribute<String>("title")
                ToOne("author", to: "Author", inverse: "books")
            }
        }
        return try folder.write(String(decoding: definition.json(), as: UTF8.self), to: "Shop.json")
    }

    private func names(in output: String) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: output).sorted() }

    @Test("GEN-1: each style writes its files", arguments: [
        ("macro", ["Author.swift", "Book.swift", "ShopModel.swift"]),
        ("tokens", ["Author.swift", "Book.swift", "ShopModel.swift"]),
        ("extensions", ["Author+Properties.swift", "Author.swift", "Book+Properties.swift", "Book.swift", "ShopModel.swift"]),
    ])
    func stylesWriteTheirFiles(style: String, expected: [String]) async throws {
        let output = folder.path("Generated")
        #expect(await Tool.run(["generate", try model(), "--output", output, "--style", style, "--access", "public"]) == 0)
        #expect(try names(in: output) == expected)
        let book = try String(contentsOfFile: output + "/Book.swift", encoding: .utf8)
        #expect(book.contains("public"))
    }

    @Test("GEN-1: files that were written by hand are not overwritten")
    func handWrittenFilesAreKept() async throws {
        let path = try model()
        let output = folder.path("Generated")
        #expect(await Tool.run(["generate", path, "--output", output]) == 0)
        let author = try String(contentsOfFile: output + "/Author.swift", encoding: .utf8)
        try folder.write("// by hand\n", to: "Generated/Book.swift")
        #expect(await Tool.run(["generate", path, "--output", output]) == 0)
        #expect(try String(contentsOfFile: output + "/Book.swift", encoding: .utf8) == "// by hand\n")
        #expect(try String(contentsOfFile: output + "/Author.swift", encoding: .utf8) == author)
    }

    @Test("GEN-2: the classes generated from a store equal those generated from its model")
    func storeGivesClasses() async throws {
        let path = try model()
        let store = folder.path("Shop.hornbeam")
        let model = try ManagedObjectModel(contentsOf: URL(filePath: path))
        try await PersistentContainer.open(at: URL(filePath: store), model: model).close()
        #expect(await Tool.run(["generate", path, "--output", folder.path("A")]) == 0)
        #expect(await Tool.run(["generate", store, "--output", folder.path("B")]) == 0)
        for name in try names(in: folder.path("A")) {
            let texts = try ["A", "B"].map { try String(contentsOfFile: folder.path($0) + "/" + name, encoding: .utf8) }
            #expect(texts[0] == texts[1])
        }
    }

    @Test(arguments: [["--style", "swift"], ["--access", "open"], ["--name", "a b"]])
    func wrongOptionsAreUsageErrors(options: [String]) async throws {
        #expect(await Tool.run(["generate", try model(), "--output", folder.path("Generated")] + options) == 2)
        #expect(await Tool.run(["generate", try model()]) == 2)
    }

    @Test func missingModelIsAnError() async {
        #expect(await Tool.run(["generate", folder.path("nothing.json"), "--output", folder.path("Generated")]) == 1)
    }
}
