import Foundation
import Hornbeam
import HornbeamModel
import Testing

@testable import HornbeamTool

/// `hornbeam model`: a model from any source.
@Suite struct ModelCommandTests {
    private let folder = TemporaryFolder()

    private static let contents = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
            <entity name="Book" representedClassName=".Novel">
                <attribute name="title" attributeType="String" maxValueString="200" defaultValueString="-"/>
                <attribute name="place" optional="YES" attributeType="Composite" composite="Point"/>
                <attribute name="loud" optional="YES" attributeType="String" derived="YES" derivationExpression="uppercase:(title)"/>
                <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Author" \
        inverseName="books" inverseEntity="Author"/>
                <uniquenessConstraints><uniquenessConstraint><constraint value="title"/></uniquenessConstraint></uniquenessConstraints>
            </entity>
            <entity name="Author">
                <attribute name="name" attributeType="String"/>
                <relationship name="books" optional="YES" toMany="YES" maxCount="50" ordered="YES" deletionRule="Cascade" \
        destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
            </entity>
            <composite name="Point"><attribute name="lat" attributeType="Double" defaultValueString="0.0"/></composite>
            <fetchRequest name="cheap" entity="Book" predicateString="title BEGINSWITH $PREFIX" fetchLimit="5"/>
            <configuration name="Local"><memberEntity name="Book"/></configuration>
        </model>
        """

    private func bundle(_ contents: String = contents) throws -> String {
        try folder.write(contents, to: "Shop.xcdatamodeld/Shop.xcdatamodel/contents")
        return folder.path("Shop.xcdatamodeld")
    }

    private func issues(_ path: String) throws -> String {
        try ModelFile(path).issues().map { $0.description.replacing(folder.url.path, with: "FOLDER") }.joined(separator: "\n")
    }

    @Test("MDL-11: the linter names file and line of every problem in Xcode's files, by any of their paths")
    func xcodeModelsAreLinted() throws {
        let path = try bundle(Self.contents.replacing("inverseName=\"books\"", with: "inverseName=\"boks\"")
            .replacing("uppercase:(title)", with: "uppercase:(titel)"))
        let expected = """
            FOLDER/Shop.xcdatamodeld/Shop.xcdatamodel/contents:6: error: “Book.loud” is derived from “titel”, which “Book” does not \
            have (did you mean “title”?).
            FOLDER/Shop.xcdatamodeld/Shop.xcdatamodel/contents:7: error: “Book.author” has the inverse “boks”, which is not a \
            relationship of “Author” (did you mean “books”?).
            FOLDER/Shop.xcdatamodeld/Shop.xcdatamodel/contents:12: error: “Author.books” has the inverse “Book.author”, which points \
            to “boks” and not back: name “books” there.
            """
        #expect(try issues(path) == expected)
        #expect(try issues("\(path)/Shop.xcdatamodel") == expected)
        #expect(try issues("\(path)/Shop.xcdatamodel/contents") == expected)
    }

    @Test("MDL-11: the linter names file and line of every problem in JSON")
    func jsonModelsAreLinted() throws {
        let path = try folder.write("""
            {
              "hornbeamModel": 1,
              "entities": [
                {
                  "name": "Book",
                  "attributes": [
                    { "name": "title", "type": "string" },
                    { "name": "loud", "type": "string", "optional": true, "derivation": "uppercase:(titel)" }
                  ],
                  "relationships": [
                    { "name": "author", "destination": "Auhtor" }
                  ],
                  "unique": [["titel"]]
                },
                { "name": "Author" }
              ],
              "fetchRequests": [
                { "name": "cheap", "entity": "Book",
                  "predicate": "titel == 'x'" }
              ]
            }
            """, to: "Shop.json")
        #expect(try issues(path) == """
            FOLDER/Shop.json:8: error: “Book.loud” is derived from “titel”, which “Book” does not have (did you mean “title”?).
            FOLDER/Shop.json:11: error: “Book.author” leads to the entity “Auhtor”, which is not in the model (did you mean “Author”?).
            FOLDER/Shop.json:13: error: A uniqueness constraint of “Book” names “titel”, which it does not have (did you mean “title”?).
            FOLDER/Shop.json:18: error: The fetch request template “cheap” does not fit “Book”. The predicate does not fit the entity \
            “Book”: “Book” has no property “titel” (did you mean “title”?).
            FOLDER/Shop.json:11: warning: “Book.author” has no inverse: deleted objects can leave dangling references, so name one, or \
            leave it out on purpose for a one-way relationship.
            """)
    }

    @Test("MDL-11: invalid JSON, and JSON that is not a model, are reported with the line", arguments: [
        ("{\n  \"hornbeamModel\": 1,\n  \"entities\": [}\n}", "FOLDER/Shop.json:3: error: The model file cannot be read: it is not JSON."),
        ("{\n  \"hornbeamModel\": 1,\n  \"entities\": [\n    { \"name\": \"A\" },\n    { \"nam\": \"B\" }\n  ]\n}",
            "FOLDER/Shop.json:5: error: The model file cannot be read at entities[1]: “nam” is not a member here (did you mean “name”?)."),
        ("[]", "FOLDER/Shop.json:1: error: The model file cannot be read: a value of another kind is expected (Dictionary<String, Any>)."),
        (String(repeating: "[", count: 1000), "FOLDER/Shop.json:1: error: The model file cannot be read: it is not JSON."),
    ])
    func unreadableJSONIsNamed(text: String, expected: String) throws {
        #expect(try issues(folder.write(text, to: "Shop.json")) == expected)
    }

    @Test("a model is shown on one screen")
    func modelIsShown() throws {
        #expect(try ModelOutline(definition: ModelFile(bundle()).definition()).description == """
            entity Book (class Novel)
              title   string          default -, 200 characters or fewer
              place   Point?
              loud    string?         = uppercase:(title)
              author  → Author.books  to one
              unique  title

            entity Author
              name   string
              books  → Book.author  to many, ordered, at most 50, cascade on deletion

            composite Point
              lat  double  default 0.0

            fetch requests
              cheap  Book  where title BEGINSWITH $PREFIX, limit 5

            configurations
              Local  Book
            """)
    }

    @Test("a converted model is the same model, from Xcode, JSON and a store alike")
    func conversionKeepsTheModel() throws {
        let xcode = try ModelFile(bundle()).definition()
        let json = folder.path("Shop.json")
        try xcode.json().write(to: URL(filePath: json))
        #expect(try ModelFile(json).definition() == xcode)
        let store = folder.path("Shop.hornbeam")
        try PersistentContainer.open(at: URL(filePath: store), model: ManagedObjectModel(xcode)).close()
        #expect(try ModelFile(store).definition() == xcode)
        #expect(try ModelFile(store).issues() == [])
    }

    @MainActor @Test("the command has the exit codes 0, 1 and 2 like the other commands, and overwrites nothing")
    func statuses() async throws {
        let path = try bundle()
        let output = folder.path("out.json")
        #expect(await Tool.run(["model", "lint", path]) == 0)
        #expect(await Tool.run(["model", "convert", path, "--output", output]) == 0)
        #expect(await Tool.run(["model", "convert", path, "--output", output]) == 1)
        #expect(await Tool.run(["model", "diff", path, output]) == 0)
        #expect(await Tool.run(["model", "show", folder.path("nothing.json")]) == 1)
        #expect(await Tool.run(["model", "lint", try folder.write("[]", to: "bad.json")]) == 1)
        #expect(await Tool.run(["model", "lnt", path]) == 2)
        #expect(await Tool.run(["model", "lint"]) == 2)
        #expect(await Tool.run(["model", "lint", path, "--output", "x"]) == 2)
    }
}
