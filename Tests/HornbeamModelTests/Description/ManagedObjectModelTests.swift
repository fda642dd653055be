import HornbeamModel
import Testing

@Suite struct ManagedObjectModelTests {
    @Test("MOD-4, MOD-5: inherited properties come first and keep their index")
    func inheritedPropertiesComeFirst() throws {
        let model = try Library.model()
        let item = try model.entity(named: "Item")
        let book = try model.entity(named: "Book")
        #expect(book.properties.map(\.name) == ["title", "code", "pages", "author", "chapters"])
        #expect(book.properties.map(\.index) == [0, 1, 2, 3, 4])
        #expect(book.propertiesByName["title"] === item.propertiesByName["title"])
        #expect(book.propertiesByName["title"]?.entity === item)
        #expect(book.superentity === item)
        #expect(item.subentities == [book])
        #expect(book.isKind(of: item) && !item.isKind(of: book))
        #expect(item.concreteDescendants == [book])
        #expect(book.index(of: PropertyNameID("pages")) == 2)
        #expect(item.index(of: PropertyNameID("pages")) == nil)
    }

    @Test("a model that is made again shares the entities of the equal model, and a different model has its own")
    func equalModelsShareTheirParts() throws {
        func model(_ optional: Bool) throws -> ManagedObjectModel {
            try ManagedObjectModel { Entity("Shared") { Attribute("name", .string, optional: optional) } }
        }
        let first = try model(true)
        let other = try model(false)
        #expect(try model(true).entities.elementsEqual(first.entities, by: ===))
        #expect(try model(true).definition == first.definition)
        #expect(other.entities[0] !== first.entities[0])
        #expect(try #require(other.entities[0].propertiesByName["name"]).isOptional == false)
        #expect(try #require(model(true).entities[0].propertiesByName["name"]).isOptional)
    }

    @Test("REL-1, REL-3: relationships are resolved to their destination and inverse")
    func relationshipsAreResolved() throws {
        let model = try Library.model()
        let book = try model.entity(named: "Book")
        let author = try model.entity(named: "Author")
        let books = try author.property(named: "books")
        #expect(books.destinationEntity === book)
        #expect(books.inverse === book.propertiesByName["author"])
        #expect(books.inverse?.inverse === books)
        #expect(books.isToMany && !books.isOrdered && books.deleteRule == .deny)
        #expect(author.relationships(forDestination: book) == [books])
    }

    @Test("MOD-8, MOD-9: constraints and indexes are inherited and resolved")
    func constraintsAndIndexesAreInherited() throws {
        let book = try Library.model().entity(named: "Book")
        #expect(book.uniquenessConstraints.map { $0.elements.map(\.description) } == [["code"]])
        #expect(book.uniquenessConstraints.first?.entity.name == "Item")
        #expect(book.fetchIndexes.map(\.name) == ["by_pages", "byTitle"])
        let byTitle = try #require(book.fetchIndexes.last)
        #expect(byTitle.elements.map(\.path.description) == ["title", "pages"])
        #expect(byTitle.elements.map(\.isAscending) == [true, false])
        #expect(byTitle.elements.map(\.collation) == [.caseAndDiacriticInsensitive, .binary])
    }
}
