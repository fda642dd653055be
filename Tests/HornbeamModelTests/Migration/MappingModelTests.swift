import HornbeamModel
import Testing

@Suite struct MappingModelTests {
    private static func first() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .string)
                ToMany("books", to: "Book", inverse: "author")
            }
            Entity("Book") {
                Attribute("title", .string, optional: true)
                Attribute("pages", .integer32, optional: true)
                ToOne("author", to: "Author", inverse: "books")
            }
            Entity("Paper") { Attribute("title", .string, optional: true) }
        }
    }

    @Test("MIG-2, MIG-4, MIG-6, MOD-13: an inferred mapping has the change of each property")
    func changesAreInferred() throws {
        let new = try ManagedObjectModel {
            Entity("Writer", renamedFrom: "Author") {
                Attribute("fullName", .string, renamedFrom: "name")
                Attribute("rating", .integer16, default: 3)
                ToMany("books", to: "Book", inverse: "author")
            }
            Entity("Book") {
                Attribute("title", .string, optional: true)
                ToOne("author", to: "Writer", inverse: "books")
            }
            Entity("Shelf") { Attribute("place", .string) }
        }
        let mapping = try MappingModel.inferred(from: Self.first(), to: new)
        #expect(
            mapping.description == """
                Writer: renamed from Author
                  ~ fullName, renamed from name
                  + rating, new, with its default value
                Book: changed
                  - pages, removed
                Shelf: added
                Paper: removed with its objects
                """)
        let author = try #require(mapping.mapping(toEntityNamed: "Writer"))
        #expect(author.name == "Author->Writer")
        #expect(author.kind == .transform)
        #expect(author.sourceEntityVersionHash == mapping.source.entitiesByName["Author"]?.versionHash)
        #expect(author.mapping(ofPropertyNamed: "fullName")?.sourceName == "name")
        #expect(mapping.entityMappings.map(\.kind) == [.transform, .transform, .add, .remove])
    }

    @Test("MIG-3: one error lists all obstacles to inferring a mapping")
    func oneErrorListsAllObstacles() throws {
        let new = try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .integer64)
                Attribute("born", .integer16)
                ToOne("books", to: "Book", inverse: "author")
            }
            Entity("Book") {
                Attribute("title", .string)
                ToOne("author", to: "Author", inverse: "books")
            }
            Entity("One", renamedFrom: "Paper") { Attribute("title", .string, optional: true) }
            Entity("Two", renamedFrom: "Paper") { Attribute("title", .string, optional: true) }
        }
        let error = try #require(throws: HornbeamError.self) { try MappingModel.inferred(from: Self.first(), to: new) }
        #expect(error.code == .inferredMappingFailed)
        #expect(
            error.details.map { "\($0.entity ?? "").\($0.key ?? "")" } == [
                "Two.", "Author.name", "Author.born", "Author.books", "Book.title",
            ])
        #expect(error.description.contains("Its type was string and is integer64 now"))
        #expect(error.description.contains("It was to many and is to one now"))
        #expect(error.description.contains("it was optional and is required now"))
    }

    @Test("MOD-13: if a renaming identifier is kept, a store can skip a version")
    func identifiersLeadOverSeveralVersions() throws {
        func model(_ name: String, _ identifier: String?) throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [
                Entity("Note", attributes: [AttributeDescription(name, .string, optional: true, renamedFrom: identifier)])
            ])
        }
        let versions = [try model("text", nil), try model("body", "text"), try model("content", "text")]
        for (old, new) in [(0, 1), (0, 2), (1, 2)] {
            let mapping = try MappingModel.inferred(from: versions[old], to: versions[new])
            let name = versions[new].entities[0].properties[0].name
            #expect(mapping.entityMappings[0].mapping(ofPropertyNamed: name)?.sourceName == versions[old].entities[0].properties[0].name)
        }
    }

    @Test("MIG-2: properties move up and down the hierarchy, and entities get another parent")
    func propertiesMoveInTheHierarchy() throws {
        let old = try ManagedObjectModel {
            Entity("Item", abstract: true) { Attribute("title", .string, optional: true) }
            Entity("Book", parent: "Item") { Attribute("pages", .integer32, optional: true) }
            Entity("Film") { Attribute("title", .string, optional: true) }
        }
        let new = try ManagedObjectModel {
            Entity("Item", abstract: true) { Attribute("pages", .integer32, optional: true) }
            Entity("Book", parent: "Item") { Attribute("title", .string, optional: true) }
            Entity("Film", parent: "Item") { Attribute("title", .string, optional: true) }
        }
        let mapping = try MappingModel.inferred(from: old, to: new)
        #expect(mapping.mapping(toEntityNamed: "Book")?.attributeMappings.map(\.sourceName) == ["pages", "title"])
        #expect(mapping.mapping(toEntityNamed: "Film")?.attributeMappings.map(\.source) == [.defaultValue, .property("title")])
    }

    @Test("MIG-3: relationships that become inverse to each other, or whose destination changes, need code")
    func relationshipsThatMayContradictAreRefused() throws {
        let old = try ManagedObjectModel {
            Entity("A") { ToOne("b", to: "B") }
            Entity("B") {
                ToMany("a", to: "A")
                ToOne("c", to: "C")
            }
            Entity("C")
        }
        let new = try ManagedObjectModel {
            Entity("A") { ToOne("b", to: "B", inverse: "a") }
            Entity("B") {
                ToMany("a", to: "A", inverse: "b")
                ToOne("c", to: "A")
            }
            Entity("C")
        }
        let error = try #require(throws: HornbeamError.self) { try MappingModel.inferred(from: old, to: new) }
        #expect(error.details.map { "\($0.entity ?? "").\($0.key ?? "")" } == ["A.b", "B.a", "B.c"])
    }
}
