import HornbeamModel
import Testing

@Suite struct ModelDifferenceTests {
    @Test("MDL-9: differences are listed by name, with the required migration")
    func differencesAreListed() throws {
        let old = try Library.model()
        var definition = Library.definition()
        definition.entities[1].attributes[0].type = .integer64
        definition.entities[1].attributes[0].defaultValue = 7
        definition.entities[1].attributes.append(AttributeDescription("isbn", .string, optional: true))
        definition.entities[1].fetchIndexes.removeLast()
        definition.entities[2].attributes[0] = AttributeDescription("fullName", .string, renamedFrom: "name")
        definition.entities[2].uniquenessConstraints = []
        definition.entities[3].className = "Chapter"
        definition.entities.append(Entity("Shelf"))
        definition.fetchRequestTemplates = [FetchRequestTemplate("all", entity: "Book")]
        definition.versionIdentifiers = ["v2"]
        let difference = try ModelDifference(from: old, to: ManagedObjectModel(definition))
        #expect(
            difference.description == """
                ~ Book.pages: type "integer32" → "integer64", default 1 → 7
                + Book.isbn
                - Book.indexes.byTitle
                ~ Author: unique [["name", "born"]] → unset
                ~ Author.fullName: name "name" → "fullName", renamedFrom unset → "name"
                ~ Chapter: class unset → "Chapter"
                + Shelf
                + fetchRequests.all
                ~ model: versionIdentifiers ["v1"] → ["v2"]
                Stores must be migrated: Author, Book, Shelf.
                """)
        #expect(try ModelDifference(from: old, to: old).description == "The models are the same.")
    }
}

@Suite struct ModelLintTests {
    @Test("MDL-11: probable mistakes are warnings, which do not make the model invalid")
    func probableMistakesAreWarnings() throws {
        var definition = ModelDefinition(
            entities: [
                Entity("person") {
                    Attribute<String?>("Code", unique: true)
                    Attribute<Bool>("any")
                    Attribute<Int>("age", default: -1, minimum: 0)
                    AttributeDescription("tags", .transformable, optional: true)
                    AttributeDescription("size", .integer64, derivation: "friends.@count")
                    ToMany("friends", to: "person", inverse: "friends", minCount: 1, deleteRule: .cascade)
                    ToOne("boss", to: "person", deleteRule: .noAction)
                }
            ],
            composites: [CompositeDescription("Point", [AttributeDescription("x", .double)])])
        #expect(
            ModelLint.issues(in: definition).map(\.description) == [
                "warning: The entity name “person” begins with a lower-case letter: entity names follow the rules of class names.",
                "warning: “person.any” is a keyword of the predicate language: write it there as #any.",
                "warning: “person.Code” is unique and optional: objects without a value never conflict, "
                    + "so make it required if each object must have a value.",
                "warning: “person.Code” begins with a capital letter: property names follow the rules of Swift names.",
                "warning: “person.age” has a default value that is below its own minimum: a new object cannot be saved with it.",
                "warning: “person.tags” is transformable and names no transformer: values are stored as JSON of a Codable type.",
                "warning: “person.size” is derived and required: it has no value before its first save, so make it optional.",
                "warning: “person.friends” is optional and has a minimum count, which is not enforced while it is empty.",
                "warning: “person.friends” and its inverse both cascade: deleting one object deletes all that are connected.",
                "warning: “person.boss” has no inverse: deleted objects can leave dangling references, "
                    + "so name one, or leave it out on purpose for a one-way relationship.",
                "warning: “person.boss” has the delete rule “no action”: the other end keeps references to deleted objects.",
                "warning: The composite “Point” is not used.",
            ])
        _ = try ManagedObjectModel(definition)
        definition.entities[0].superentityName = "Nobody"
        #expect(ModelLint.issues(in: definition).first?.severity == .error)
    }
}
