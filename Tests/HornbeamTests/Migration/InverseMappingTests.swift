import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Mappings of the two ends of a relationship: their sources agree, or the mapping is refused.
@Suite struct InverseMappingTests {
    /// Books and their authors, or books and their tags.
    private static func model(manyToMany: Bool = false) throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .string)
                ToMany("books", to: "Book", inverse: "author")
            }
            Entity("Book") {
                Attribute("title", .string)
                if manyToMany {
                    ToMany("author", to: "Author", inverse: "books")
                } else {
                    ToOne("author", to: "Author", inverse: "books")
                }
            }
        }
    }

    private static func filled(manyToMany: Bool = false) throws -> MigratedStore {
        let store = try MigratedStore()
        try store.with(model(manyToMany: manyToMany)) { (context) throws in
            let author = try context.insert("Author", ["name": "A"])
            for title in ["B", "C"] {
                let book = try context.insert("Book", ["title": .string(title)])
                try author.changeObjects(forKey: "books") { $0.append(book) }
            }
        }
        return store
    }

    private static func details(_ error: HornbeamError?) -> [String] {
        #expect(error?.code == .invalidMigrationPlan)
        return (error?.details ?? []).map { $0.message.replacing(/Stage 1, .*?: (?=Author|Book)/, with: "") }
    }

    @Test("MIG-6: a relationship that a mapping empties, while another one copies its inverse, is refused with both names", arguments: [false, true])
    func contradictionIsRefused(manyToMany: Bool) throws {
        let model = try Self.model(manyToMany: manyToMany)
        func problems(_ author: PropertyMapping.Source, _ books: PropertyMapping.Source) -> [String] {
            Self.details(
                hornbeamError {
                    _ = try MappingModel(
                        from: model, to: model,
                        changing: [
                            EntityMapping(to: "Book", [PropertyMapping("author", from: author)]),
                            EntityMapping(to: "Author", [PropertyMapping("books", from: books)]),
                        ])
                })
        }
        #expect(
            problems(.empty, .property("books")) == [
                "Book->Book, author: the relationship is empty, and its inverse “Author.books” is copied; give both the source .empty, or both an old "
                    + "property."
            ])
        #expect(
            problems(.property("author"), .empty) == [
                "Author->Author, books: the relationship is empty, and its inverse “Book.author” is copied; give both the source .empty, or both an old "
                    + "property."
            ])
    }

    @Test("MIG-6: the inverse of a relationship that a mapping empties is empty too", arguments: [false, true], ["Book", "Author"])
    func inverseIsEmptyToo(manyToMany: Bool, entity: String) throws {
        let model = try Self.model(manyToMany: manyToMany)
        let store = try Self.filled(manyToMany: manyToMany)
        let mapping = try MappingModel(
            from: model, to: model, changing: [EntityMapping(to: entity, [PropertyMapping(entity == "Book" ? "author" : "books", from: .empty)])])
        #expect(mapping.entityMappings.flatMap(\.relationshipMappings).map(\.source) == [.empty, .empty])
        // The two versions are the same model, so another attribute makes the second one.
        var definition = model.definition
        definition.entities[1].attributes.append(AttributeDescription("pages", .integer32, optional: true))
        let second = try ManagedObjectModel(definition)
        let changed = try MappingModel(
            from: model, to: second,
            changing: [EntityMapping(to: entity, [PropertyMapping(entity == "Book" ? "author" : "books", from: .empty)])])
        try store.with(MigrationPlan([.mapping(changed)])) { (context) throws in
            #expect(try context.all("Author").map { try Array($0.objects(forKey: "books")).count } == [0])
            #expect(try context.values("Book", "title") == ["B", "C"])
            if !manyToMany { #expect(try context.values("Book", "author", sortedBy: "title") == [.null, .null]) }
        }
    }

    @Test("MIG-6: a whole mapping that copies a to-many and leaves out its to-one inverse is refused with both names")
    func leftOutToOneIsRefused() throws {
        let first = try Self.model()
        var definition = first.definition
        definition.entities[1].attributes.append(AttributeDescription("pages", .integer32, optional: true))
        let second = try ManagedObjectModel(definition)
        func plan(_ author: [PropertyMapping]) throws -> MigrationPlan {
            func mapping(_ name: String, _ attribute: String, _ relationships: [PropertyMapping]) -> EntityMapping {
                EntityMapping(
                    .transform, from: first.entitiesByName[name], to: second.entitiesByName[name],
                    attributeMappings: [PropertyMapping(attribute, from: .property(attribute))], relationshipMappings: relationships)
            }
            return try MigrationPlan([
                .mapping(
                    MappingModel(
                        from: first, to: second,
                        entityMappings: [
                            mapping("Author", "name", [PropertyMapping("books", from: .property("books"))]), mapping("Book", "title", author),
                        ]))
            ])
        }
        #expect(
            Self.details(hornbeamError { _ = try plan([]) }) == [
                "Book->Book, author: it has no source, and its inverse “Author.books” is copied; give it the source .inverse."
            ])
        let store = try Self.filled()
        try store.with(plan([PropertyMapping("author", from: .inverse)])) { (context) throws in
            #expect(try context.all("Author").map { try Array($0.objects(forKey: "books")).count } == [2])
            #expect(try context.all("Book").map { try $0.object(forKey: "author")?.value(forKey: "name") } == ["A", "A"])
        }
    }

    private static func modelWithFriends(_ version: String) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            Entity(
                "Author",
                attributes: [AttributeDescription("name", .string, optional: true)],
                relationships: [
                    RelationshipDescription("books", to: "Book", inverse: "author", toMany: true),
                    RelationshipDescription("friends", to: "Author", inverse: "friendOf", toMany: true),
                    RelationshipDescription("friendOf", to: "Author", inverse: "friends", toMany: true),
                ]),
            Entity(
                "Book", attributes: [AttributeDescription("title", .string, optional: version == "1", default: "none")],
                relationships: [RelationshipDescription("author", to: "Author", inverse: "books")]),
        ])
    }

    @Test(
        "MIG-6: a relationship that a mapping leaves empty leaves its inverse empty too",
        arguments: [("Book", "author"), ("Author", "books"), ("Author", "friends")])
    func bothEndsAreEmpty(entity: String, relationship: String) throws {
        let store = try MigratedStore()
        let (first, second) = try (Self.modelWithFriends("1"), Self.modelWithFriends("2"))
        try store.with(first) { context in
            let authors = try ["a", "b"].map { try context.insert("Author", ["name": .string($0)]) }
            let book = try context.insert("Book", ["title": "t"])
            try book.setValue(authors[0], forKey: "author")
            try authors[0].changeObjects(forKey: "friends") { $0.append(authors[1]) }
        }
        let plan = try MigrationPlan([
            .lightweight(from: first, to: second, changing: [EntityMapping(to: entity, [PropertyMapping(relationship, from: .empty)])])
        ])
        try store.with(plan) { context in
            let authors = try context.all("Author")
            let book = try context.all("Book")[0]
            let isBooks = relationship != "friends"
            #expect(try book.object(forKey: "author") == nil || !isBooks)
            for author in authors {
                #expect(try author.objects(forKey: "books").isEmpty || !isBooks)
                #expect(try author.objects(forKey: "friends").isEmpty || isBooks)
                #expect(try author.objects(forKey: "friendOf").isEmpty || isBooks)
            }
        }
    }
}
