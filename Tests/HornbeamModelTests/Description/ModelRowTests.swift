import Foundation
import HornbeamModel
import Testing

/// The rows of the feature table without another suite.
@Suite struct ModelRowTests {
    private func property(_ attribute: AttributeDescription) throws -> PropertyDescription {
        try ManagedObjectModel(entities: [Entity("E", attributes: [attribute])]).entity(named: "E").property(named: attribute.name)
    }

    @Test("MOD-1: an entity needs a name only")
    func entityNeedsANameOnly() throws {
        let entity = try ManagedObjectModel { Entity("Anything") }.entity(named: "Anything")
        #expect(entity.properties.isEmpty && entity.className == nil && !entity.isAbstract && entity.superentity == nil)
        #expect(entity.description == "Anything (0 attributes, 0 relationships)")
    }

    @Test("MOD-2: the class may have another name than the entity")
    func classMayHaveAnotherName() throws {
        let model = try ManagedObjectModel { Entity("Book", className: "Library.Volume") }
        #expect(try model.entity(named: "Book").className == "Library.Volume")
    }

    @Test("MOD-3: an abstract entity has the objects of its concrete subentities, and may be a destination")
    func abstractEntityHasItsSubentities() throws {
        let model = try ManagedObjectModel {
            Entity("Shape", abstract: true)
            Entity("Round", parent: "Shape", abstract: true)
            Entity("Circle", parent: "Round")
            Entity("Square", parent: "Shape")
            Entity("Drawing") { ToMany("shapes", to: "Shape") }
        }
        let shape = try model.entity(named: "Shape")
        #expect(shape.concreteDescendants.map(\.name) == ["Circle", "Square"])
        #expect(shape.subentities.map(\.name) == ["Round", "Square"])
        #expect(shape.subentitiesByName.keys.sorted() == ["Round", "Square"])
        #expect(try model.entity(named: "Drawing").relationships.first?.destinationEntity === shape)
        #expect(try model.entity(named: "Circle").rootEntity === shape)
        #expect(shape.description == "abstract Shape (0 attributes, 0 relationships)")
    }

    @Test("MOD-5: models and entities are walked through")
    func modelsAndEntitiesAreWalkedThrough() throws {
        let model = try Library.model()
        #expect(model.map(\.name) == ["Item", "Book", "Author", "Chapter"])
        #expect(try model.entity(named: "Author").map(\.name) == ["name", "born", "books"])
        #expect(model.description == "model of 4 entities: Item, Book, Author, Chapter")
    }

    @Test("MOD-6: the reserved names are published, and each is refused")
    func reservedNamesAreRefused() {
        #expect(reservedPropertyNames.contains("objectID"))
        for name in reservedPropertyNames {
            #expect(throws: HornbeamError.self) {
                try ManagedObjectModel(entities: [Entity("E", attributes: [AttributeDescription(name, .string)])])
            }
        }
    }

    @Test("MOD-7: entities and properties of every kind carry notes")
    func everythingCarriesNotes() throws {
        var fetched = FetchedPropertyDescription("f", entity: "E", userInfo: ["f": "4"])
        fetched.isOptional = true
        var entity = Entity(
            "E", attributes: [AttributeDescription("a", .string, userInfo: ["a": "1"])],
            relationships: [RelationshipDescription("r", to: "E", userInfo: ["r": "2"])], userInfo: ["e": "3"])
        entity.fetchedProperties = [fetched]
        let compiled = try ManagedObjectModel(entities: [entity]).entity(named: "E")
        #expect(compiled.userInfo == ["e": "3"])
        #expect(compiled.properties.map(\.userInfo) == [["a": "1"], ["r": "2"]])
        #expect(compiled.fetchedPropertiesByName["f"]?.userInfo == ["f": "4"])
    }

    @Test("MOD-10: old indexes may name self and entity, which are not properties")
    func oldIndexesMayNameSelf() throws {
        let model = try ManagedObjectModel {
            Entity("E") {
                Attribute<Int>("a")
                Indexed("self", "a", "entity", name: "old")
            }
        }
        let index = try #require(model.entity(named: "E").fetchIndexes.first)
        #expect(index.elements.map(\.path.description) == ["a"])
        #expect(index.definition.elements.map(\.property) == ["self", "a", "entity"])
    }

    @Test("MOD-12, MOD-13: a renaming identifier is the name unless it is set, and matches from version to version")
    func renamingIdentifierIsTheNameUnlessSet() throws {
        let model = try ManagedObjectModel {
            Entity("Person", renamedFrom: "Human") {
                Attribute<String>("fullName", renamedFrom: "name")
                Attribute<Int>("age")
                ToOne("boss", to: "Person", renamedFrom: "chief")
            }
        }
        let person = try model.entity(named: "Person")
        #expect(person.renamingIdentifier == "Human")
        #expect(person.properties.map(\.renamingIdentifier) == ["name", "age", "chief"])
        #expect(try Library.model().entity(named: "Book").renamingIdentifier == "Book")
    }

    @Test("MDL-2: a configuration is a model of its own, for a store of those entities")
    func configurationIsAModel() throws {
        let model = try ManagedObjectModel {
            Entity("Book") { Attribute<String>("title"); ToOne("author", to: "Author", inverse: "books") }
            Entity("Author") { ToMany("books", to: "Book", inverse: "author") }
            Entity("Setting") { Attribute<String>("key", unique: true) }
            Configuration("Local", ["Setting"])
            Configuration("Cloud", ["Book", "Author"])
            Configuration("Torn", ["Book"])
            FetchRequestTemplate("all", entity: "Book")
        }
        #expect(try model.model(forConfigurationName: "Local").entities.map(\.name) == ["Setting"])
        let cloud = try model.model(forConfigurationName: "Cloud")
        #expect(cloud.entities.map(\.name) == ["Book", "Author"] && cloud.fetchRequestTemplatesByName.count == 1)
        #expect(try cloud.entity(named: "Book").versionHash == model.entity(named: "Book").versionHash)
        #expect(throws: HornbeamError.self) { try model.model(forConfigurationName: "Torn") }
        #expect(throws: HornbeamError.self) { try model.model(forConfigurationName: "Loca") }
    }

    @Test("MDL-2, REL-9: a configuration keeps fetched properties that lead out of it")
    func fetchedPropertiesLeadOutOfAConfiguration() throws {
        let model = try ManagedObjectModel {
            Entity("Book") {
                Attribute<String>("title")
                FetchedPropertyDescription("reviews", entity: "Review", where: "book == $FETCH_SOURCE.title")
            }
            Entity("Review") { Attribute<String>("book") }
            Configuration("Books", ["Book"])
            Configuration("Reviews", ["Review"])
        }
        let books = try model.model(forConfigurationName: "Books")
        #expect(books.definition.externalEntities == ["Review"])
        #expect(try books.entity(named: "Book").fetchedPropertiesByName["reviews"]?.request.entityName == "Review")
        #expect(try books.entity(named: "Book").versionHash == model.entity(named: "Book").versionHash)
        #expect(try ManagedObjectModel(json: books.json()).definition == books.definition)
        let reviews = try model.model(forConfigurationName: "Reviews")
        let whole = try ManagedObjectModel(merging: [books, reviews])
        #expect(reviews.definition.externalEntities.isEmpty && whole.definition.externalEntities.isEmpty)
        #expect(whole.entityVersionHashesByName == model.entityVersionHashesByName)
        var lost = model.definition
        lost.entities.removeLast()
        lost.configurations = [:]
        #expect(throws: HornbeamError.self) { try ManagedObjectModel(lost) }
    }

    @Test("MOD-14, ATT-2, ATT-14 … ATT-17: settings that only other platforms use are preserved in the model's JSON")
    func platformFlagsAreKept() throws {
        var cover = AttributeDescription("cover", .binary, optional: true)
        cover.allowsExternalBinaryDataStorage = true
        cover.preservesValueInHistoryOnDeletion = true
        cover.allowsCloudEncryption = true
        cover.isIndexedBySpotlight = true
        cover.isStoredInExternalRecord = true
        cover.usesScalarValueType = true
        var entity = Entity("Book", attributes: [cover])
        entity.coreSpotlightDisplayNameExpression = "cover"
        let definition = ModelDefinition(entities: [entity])
        #expect(try ManagedObjectModel(json: ManagedObjectModel(definition).json()).definition == definition)
    }

    @Test("ATT-1: the raw values of types are Core Data's, and their names are read back")
    func rawValuesAreCoreDatas() throws {
        #expect(AttributeType.allCases.map(\.rawValue) == [
            0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1800, 2000, 2100,
        ])
        for type in AttributeType.allCases { #expect(AttributeType(name: type.description) == type) }
    }

    @Test("ATT-4: a default value is converted to the type of its attribute")
    func defaultTakesTheFormOfItsAttribute() throws {
        #expect(try property(AttributeDescription("a", .double, default: 1)).defaultValue == .double(1))
        #expect(try property(AttributeDescription("a", .boolean, default: 1)).defaultValue == .bool(true))
        #expect(try property(AttributeDescription("a", .string, default: "")).defaultValue == "")
        #expect(try property(AttributeDescription("a", .string)).defaultValue == .null)
    }

    @Test("ATT-10: a transient attribute may have no type, and cannot be indexed or unique")
    func transientAttributeIsNotStored() throws {
        let scratch = AttributeDescription("scratch", .undefined, optional: true, transient: true)
        let property = try property(scratch)
        #expect(property.isTransient)
        #expect(try property.coerced(.array([1])) == .array([1]))
        for entity in [
            Entity("E", attributes: [scratch], uniquenessConstraints: [["scratch"]]),
            Entity("E", attributes: [scratch], fetchIndexes: [FetchIndexDescription("i", ["scratch"])]),
        ] {
            #expect(throws: HornbeamError.self) { try ManagedObjectModel(entities: [entity]) }
        }
    }

    @Test("ATT-12 (1.29, 13): a transformable attribute holds bytes, whatever type makes them")
    func transformableHoldsBytes() throws {
        let tags = try property(AttributeDescription("tags", .transformable, transformer: "Tags"))
        let value = Coded(["a", "b"]).propertyValue
        #expect(try tags.coerced(value) == value)
        #expect(Coded<[String]>(propertyValue: value)?.value == ["a", "b"])
        #expect(tags.errors(for: "a").map(\.code) == [.typeMismatch])
        #expect(tags.attribute?.valueTransformerName == "Tags")
        #expect(throws: HornbeamError.self) { try property(AttributeDescription("a", .string, transformer: "Tags")) }
    }

    @Test("ATT-19, ATT-20: UUIDs, URIs and decimals keep their exact values")
    func exactValuesAreKept() throws {
        let price = PropertyValue.decimal(Decimal(string: "0.12345678901234567890123456789")!)
        #expect(try property(AttributeDescription("price", .decimal)).coerced(price) == price)
        let id = PropertyValue.uuid(UUID())
        #expect(try property(AttributeDescription("id", .uuid)).coerced(id) == id)
        let page = PropertyValue.uri(URL(string: "https://example.org/a%20b?c=d#e")!)
        #expect(try property(AttributeDescription("page", .uri)).coerced(page) == page)
    }

    @Test("REL-4, REL-7: a relationship may have no inverse, and may be transient")
    func relationshipMayLeadOneWay() throws {
        let model = try ManagedObjectModel(entities: [
            Entity("E", relationships: [
                RelationshipDescription("next", to: "E"), RelationshipDescription("scratch", to: "E", transient: true),
            ])
        ])
        let entity = try model.entity(named: "E")
        #expect(entity.relationships.map(\.inverse) == [nil, nil])
        #expect(entity.relationships.map(\.isTransient) == [false, true])
    }

    @Test("REL-3: a relationship may be its own inverse")
    func relationshipMayBeItsOwnInverse() throws {
        let model = try ManagedObjectModel { Entity("Person") { ToMany("friends", to: "Person", inverse: "friends") } }
        let friends = try model.entity(named: "Person").property(named: "friends")
        #expect(friends.inverse === friends)
    }

    @Test("REL-5, REL-6: `isOrdered` is true for an ordered relationship, and delete rules have Core Data's numbers")
    func deleteRulesHaveCoreDatasNumbers() throws {
        let chapters = try Library.model().entity(named: "Book").property(named: "chapters")
        #expect(chapters.isOrdered && chapters.isToMany && chapters.deleteRule == .cascade)
        #expect(DeleteRule.allCases.map(\.rawValue) == [0, 1, 2, 3])
        #expect(RelationshipDescription("r", to: "E").deleteRule == .nullify)
    }

    @Test("REL-10, ATT-18: each property has a hash of its own, of 32 bytes")
    func eachPropertyHasAHash() throws {
        let hashes = try Library.model().flatMap { $0.properties.map(\.versionHash) }
        #expect(hashes.allSatisfy { $0.count == 32 })
        #expect(Set(hashes).count == Set(try Library.model().flatMap { $0.properties.map(\.description) }).count)
    }

    @Test("REL-9: a fetched property is a request with its source left open")
    func fetchedPropertyIsARequest() throws {
        var definition = Library.definition()
        definition.entities[2].fetchedProperties = [
            FetchedPropertyDescription("namesakes", entity: "Author", where: "name == $FETCH_SOURCE.name", sortedBy: [FetchSort("born")])
        ]
        let author = try ManagedObjectModel(definition).entity(named: "Author")
        let fetch = try #require(author.fetchedPropertiesByName["namesakes"]).request.fetchDescription()
        #expect(fetch.entityName == "Author" && fetch.sortDescriptors == [FetchSort("born")])
        #expect(fetch.predicate?.variableNames == ["FETCH_SOURCE"])
        #expect(author.propertiesByName["namesakes"] == nil)
    }

    @Test("MDL-6, MDL-8: a part of a model refers to its model, outlives it, and is the same on every thread")
    func partKnowsItsModel() async throws {
        func part() throws -> EntityDescription { try Library.model().entity(named: "Book") }
        let book = try part()
        #expect(book.managedObjectModel.entitiesByName["Book"] === book)
        let names = await withTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { book.relationshipsByName["author"]?.inverse?.name ?? "" } }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(names == ["books"])
    }

    @Test("MDL-7: the model that a store holds is one instance for the same bytes")
    func storedModelIsOneInstance() throws {
        let bytes = try Library.model().encoded()
        #expect(try ManagedObjectModel.decoded(bytes) === ManagedObjectModel.decoded(bytes))
        #expect(try ManagedObjectModel.decoded(bytes).definition == Library.definition())
        #expect(throws: HornbeamError.self) { try ManagedObjectModel.decoded(Array("[]".utf8)) }
    }
}
