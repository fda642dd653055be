import Foundation
import HornbeamModel
import Testing

/// The examples of `Docs/Models.md` are true.
@Suite struct ModelDocumentTests {
    private static let document = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Docs/Models.md")

    /// The first code block in a language, after a heading if one is given.
    private func block(_ language: String, below heading: String = "# Models") throws -> String {
        let whole = try String(contentsOf: Self.document, encoding: .utf8)
        let text = whole[try #require(whole.range(of: "\(heading)\n")).upperBound...]
        let start = try #require(text.range(of: "```\(language)\n"))
        let end = try #require(text[start.upperBound...].range(of: "```"))
        return String(text[start.upperBound..<end.lowerBound])
    }

    @Test("MDL-7: the JSON of the document is a model")
    func documentedJSONIsAModel() throws {
        let model = try ManagedObjectModel(json: Data(block("json").utf8))
        #expect(model.entities.map(\.name) == ["Author", "Book"])
        #expect(try model.entity(named: "Author").uniquenessConstraints.first?.elements.map(\.description) == ["name", "born"])
        #expect(try ManagedObjectModel(json: model.json()).definition == model.definition)
    }

    @Test("MDL-7: the model of the document, as written there in Swift")
    func documentedSwiftIsAModel() throws {
        let model = try ManagedObjectModel {
            Entity("Item", abstract: true) {
                Attribute<String>("title", minimumLength: 1)
                Attribute<UUID>("id", unique: true)
            }
            Entity("Book", parent: "Item") {
                Attribute<Int32>("pages", default: 1, indexed: true, minimum: 1, maximum: 20_000)
                Attribute<Decimal?>("price")
                Attribute<Coded<[String]>?>("tags")
                ToOne("author", to: "Author", inverse: "books")
                Indexed(.folded("title"), .descending("pages"))
            }
            Entity("Author") {
                Attribute("name", .string)
                Attribute("born", .integer16, optional: true)
                Attribute("bookCount", .integer64, optional: true, derivation: "books.@count")
                ToMany("books", to: "Book", inverse: "author", deleteRule: .cascade)
                Unique("name", "born")
            }
        }
        #expect(model.entities.count == 3)
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        for line in try block("swift", below: "## Written in Swift").split(separator: "\n") where line.hasPrefix("    ") {
            #expect(source.contains(line), "\(line)")
        }
    }

    @Test("MOD-6: the document lists the reserved names")
    func documentListsReservedNames() throws {
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let list = reservedPropertyNames.sorted().map { "`\($0)`" }.joined(separator: ", ")
        #expect(text.replacing("\n", with: " ").contains(list))
    }
}
