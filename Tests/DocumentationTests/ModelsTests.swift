import Foundation
import Hornbeam
import HornbeamXcodeModels
import Testing

/// The code of `Docs/Models.md`.
@Suite struct ModelsTests {
    private enum Classes {
        // snippet
        @Entity final class Author: ManagedObject {
            @Attribute(.unique, maximumLength: 80) var name: String
            @Relationship(deleteRule: .cascade, inverse: \Book.author) var books: Set<Book>
        }

        @Entity final class Book: ManagedObject {
            #Index<Book>([\.year], [\.author, \.title])
            #Unique<Book>([\.title, \.year])
            @Attribute(minimum: 1450) var year: Int?
            var title: String
            var author: Author?
            var rating: Rating = .unrated
            var added: Date = .now
            @Transient var draft = ""
        }
        // end
    }

    @Test func classesAreAModel() throws {
        typealias Author = Classes.Author
        typealias Book = Classes.Book
        let folder = try TemporaryFolder()
        let url = folder.url.appending(path: "Library.hornbeam")
        // snippet
        let library = try PersistentContainer.open(at: url, for: Author.self, Book.self)
        try library.write { context in
            let shelley = Author(in: context, name: "Mary Shelley")
            Book(in: context, year: 1818, title: "Frankenstein", author: shelley)
        }
        // end
        let entity = try library.managedObjectModel.entity(named: "Book")
        #expect(entity.attributes.map(\.name) == ["year", "title", "rating", "added"])
        #expect(try library.read { try $0.fetch(FetchRequest<Author>()).map(\.books.count) } == [1])
        try library.close()
    }

    private enum Expansion {
        @Entity final class Author: ManagedObject {
            @Relationship(inverse: "author") var books: Set<Book>
        }

        // snippet
        final class Book: ManagedObject {
            static let year = Attribute<Int?>("year", minimum: 1450)
            static let author = ToOne<Author>("author")

            var year: Int? { get { self[Self.year] } set { self[Self.year] = newValue } }
            var author: Author? { get { self[Self.author] } set { self[Self.author] = newValue } }

            override class var tokens: [any PropertyToken] { super.tokens + [year, author] }
            override class var entityDeclaration: EntityDeclaration? {
                EntityDeclaration(Book.self, parent: super.entityDeclaration, tokens: [year, author]) {
                    Indexed("year")
                }
            }
        }
        // end
    }

    @Test func handWrittenClassIsTheSameModel() throws {
        let model = try ManagedObjectModel(for: Expansion.Author.self, Expansion.Book.self)
        let book = try model.entity(named: "Book")
        #expect(book.relationshipsByName["author"]?.inverse?.name == "books")
        #expect(book.definition.fetchIndexes.map(\.name) == ["by_year"])
    }

    @Test func modelIsWrittenInSwift() throws {
        // snippet
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
        // end
        #expect(model.entities.map(\.name) == ["Item", "Book", "Author"])
    }

    private enum Composites {
        // snippet
        enum Place {
            static let city = Attribute<String?>("city", maximumLength: 80)
            static let latitude = Attribute<Double>("latitude", minimum: -90, maximum: 90)
        }

        final class Stop: ManagedObject {
            static let place = Attribute<[String: PropertyValue]>("place", composite: "Place")
            var place: [String: PropertyValue] { get { self[Self.place] } set { self[Self.place] = newValue } }
        }
        // end
    }

    @Test func compositeHasElements() throws {
        typealias Place = Composites.Place
        typealias Stop = Composites.Stop
        // snippet
        let model = try ManagedObjectModel {
            Entity("Stop") { Stop.place }
            CompositeDescription("Place") { Place.city; Place.latitude }
        }
        let container = try PersistentContainer.inMemory(model: model, classes: [Stop.self])
        let northern = try container.write { context in
            let stop = Stop(context: context)
            stop.place[Place.latitude] = 59.9
            try stop.setValue("Oslo", forKeyPath: "place.city")
            return try context.count(FetchRequest<Stop>().where(Stop.place[Place.latitude] > 55))
        }
        // end
        #expect(northern == 1)
    }

    @Test func modelHasFetchedPropertiesTemplatesAndConfigurations() throws {
        // snippet
        let model = try ManagedObjectModel {
            Entity("Author") {
                Attribute<UUID>("id")
                Attribute<String>("name")
                ToMany("books", to: "Book", inverse: "author")
                FetchedPropertyDescription(
                    "reviews", entity: "Review", where: "authorID == $FETCH_SOURCE.id", sortedBy: [.descending("date")])
            }
            Entity("Book") { ToOne("author", to: "Author", inverse: "books") }
            Entity("Review") {
                Attribute<UUID>("authorID")
                Attribute<Date>("date")
            }
            FetchRequestTemplate("byAuthor", entity: "Book", predicate: "author.name == $NAME")
            Configuration("Cloud", ["Author", "Book", "Review"])
        }
        // end
        // snippet
        let request: FetchRequest<ManagedObject> = try model.fetchRequest(fromTemplate: "byAuthor", substituting: ["NAME": "Ursula"])
        // end
        let container = try PersistentContainer.inMemory(model: model)
        let found = try container.write { context in
            let author = try context.insert(entityNamed: "Author")
            try author.setValue("Ursula", forKey: "name")
            try author.setValue(UUID(), forKey: "id")
            let book = try context.insert(entityNamed: "Book")
            try book.setValue(author, forKey: "author")
            return try context.fetch(request).count
        }
        #expect(found == 1)
        #expect(try model.model(forConfigurationName: "Cloud").entities.map(\.name) == ["Author", "Book", "Review"])
    }

    @Test func modelFileOfTheDocumentIsRead() throws {
        let blocks = try Document("Docs/Models.md").blocks(of: "json")
        #expect(blocks.count == 1)
        let model = try ManagedObjectModel(json: Data(blocks[0].utf8))
        #expect(model.entities.map(\.name) == ["Author", "Book"])
        #expect(try ManagedObjectModel(json: model.json()).definition == model.definition)
    }

    @Test func modelIsReadFromXcodesFiles() throws {
        let url = Document.root.appending(path: "Tests/OutsidePackage/Sources/ModelClient/Shop.xcdatamodeld")
        // snippet
        let model = try ManagedObjectModel(xcodeModelAt: url)
        for issue in try XcodeModel(contentsOf: url).lint() { print(issue) }
        // end
        #expect(model.entities.map(\.name) == ["Customer", "Order"])
    }
}
