import HornbeamModel
import Testing

/// Each model has one error, whose text is compared.
@Suite struct ModelProblemTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        let title: String
        let entities: [Entity]
        var composites: [CompositeDescription] = []
        let problems: [String]
        var testDescription: String { title }
    }

    static let mistakes: [Mistake] = [
        Mistake(
            title: "MOD-1: two entities of one name", entities: [Entity("Book"), Entity("Book")],
            problems: ["There are two entities named “Book”: rename or remove one."]),
        Mistake(
            title: "MOD-1: a name that is no identifier", entities: [Entity("2 Books")],
            problems: [
                "The entity name “2 Books” is not an identifier: use letters, digits and underscores, and no digit first."
            ]),
        Mistake(
            title: "MOD-4: a parent that is missing", entities: [Entity("Item"), Entity("Book", parent: "Itme")],
            problems: ["The parent entity “Itme” of “Book” is not in the model (did you mean “Item”?)."]),
        Mistake(
            title: "MOD-4: a circle of parents",
            entities: [Entity("A", parent: "B"), Entity("B", parent: "C"), Entity("C", parent: "A")],
            problems: ["“A” inherits from itself: A → B → C → A. Give one of these entities no parent."]),
        Mistake(
            title: "MOD-4: a name that is inherited already",
            entities: [
                Entity("Item") { Attribute<String>("title") },
                Entity("Book", parent: "Item") { Attribute<String>("title") },
            ],
            problems: ["“Book.title” is inherited from “Item” already: rename or remove one."]),
        Mistake(
            title: "MOD-5: a name twice",
            entities: [Entity("Book") { Attribute<String>("title"); Attribute<Int>("title") }],
            problems: ["“Book” has two properties named “title”: rename or remove one."]),
        Mistake(
            title: "MOD-6: a reserved name", entities: [Entity("Book") { Attribute<String>("description") }],
            problems: [
                "The property name “description” of “Book” is reserved, because every managed object has a member "
                    + "of that name: choose another, such as “bookDescription”."
            ]),
        Mistake(
            title: "ATT-1: no type", entities: [Entity("Book") { Attribute("title", .undefined) }],
            problems: ["“Book.title” has no type: only a transient attribute may have none."]),
        Mistake(
            title: "ATT-4: a default that does not fit",
            entities: [Entity("Book") { Attribute("pages", .integer16, default: 40_000) }],
            problems: [
                "“Book.pages” has a default value that does not fit. The number given for “Book.pages” is above 32767, "
                    + "which an integer of 16 bits cannot hold. Give a number in range, or a wider type in the model."
            ]),
        Mistake(
            title: "ATT-5: minimum above maximum",
            entities: [Entity("Book") { Attribute<Int>("pages", minimum: 10, maximum: 1) }],
            problems: ["“Book.pages” has a minimum above its maximum: no value would be allowed."]),
        Mistake(
            title: "ATT-7: a pattern that is none", entities: [Entity("Book") { Attribute<String>("isbn", pattern: "[") }],
            problems: ["“Book.isbn” has the pattern [, which is not a regular expression."]),
        Mistake(
            title: "ATT-13: a composite that is missing",
            entities: [Entity("Quake", attributes: [AttributeDescription("size", .composite, composite: "Magnitud")])],
            composites: [CompositeDescription("Magnitude", [AttributeDescription("richter", .double)])],
            problems: ["“Quake.size” names the composite “Magnitud”, which is not in the model (did you mean “Magnitude”?)."]),
        Mistake(
            title: "ATT-13: a composite in itself", entities: [],
            composites: [CompositeDescription("A", [AttributeDescription("a", .composite, composite: "A")])],
            problems: ["The composite “A” contains itself: remove the element that closes the cycle."]),
        Mistake(
            title: "ATT-13: names of composites and elements that no key path could say", entities: [],
            composites: [
                CompositeDescription("my point", [AttributeDescription("a.b", .double), AttributeDescription("", .double)]),
                CompositeDescription("Point", [AttributeDescription("self", .double)]),
            ],
            problems: [
                "The composite name “my point” is not an identifier: use letters, digits and underscores, and no digit first.",
                "The element name “a.b” of the composite “my point” is not an identifier: "
                    + "use letters, digits and underscores, and no digit first.",
                "The element name “” of the composite “my point” is not an identifier: "
                    + "use letters, digits and underscores, and no digit first.",
                "“Point.self” has a name that means the object in key paths: choose another.",
            ]),
        Mistake(
            title: "ATT-5: limits beyond the type",
            entities: [
                Entity("Book", attributes: [
                    AttributeDescription("pages", .integer16, minimum: 40_000), AttributeDescription("year", .integer16, maximum: -40_000),
                    AttributeDescription("size", .float, minimum: 1e39), AttributeDescription("sold", .boolean, minimum: 2),
                ])
            ],
            problems: [
                "“Book.pages” has a minimum above the range of an integer of 16 bits: no value would be allowed.",
                "“Book.year” has a maximum below the range of an integer of 16 bits: no value would be allowed.",
                "“Book.size” has a minimum above the range of a float: no value would be allowed.",
                "“Book.sold” has a minimum above the range of a boolean: no value would be allowed.",
            ]),
        Mistake(
            title: "ATT-8: rules that the values cannot answer",
            entities: [
                Entity("Book", attributes: [
                    AttributeDescription("pages", .integer32, rules: [ValidationRule("SELF > 'many'"), ValidationRule("count > 3")]),
                    AttributeDescription("isbn", .string, rules: [ValidationRule("SELF MATCHES '['"), ValidationRule("SELF.length == $x")]),
                    AttributeDescription("place", .composite, rules: [ValidationRule("lattitude > 3")], composite: "Point"),
                ])
            ],
            composites: [CompositeDescription("Point", [AttributeDescription("latitude", .double)])],
            problems: [
                "“Book.pages” has the rule SELF > 'many'. The predicate does not fit the attribute: > cannot compare “SELF”, which is "
                    + "a number, with a string. Give a value of the same type, or convert with CAST.",
                "“Book.pages” has the rule count > 3. The predicate does not fit the attribute: There is no key “count” in a number.",
                "“Book.isbn” has the rule SELF MATCHES '['. The right side of MATCHES is not a regular expression: \"[\". "
                    + "Check its brackets and escapes; a backslash in a format is written twice.",
                "“Book.isbn” has the rule SELF.length == $x: $x has no value there; write the value instead.",
                "“Book.place” has the rule lattitude > 3. The predicate does not fit the attribute: There is no element “lattitude” "
                    + "in the composite (did you mean “latitude”?).",
            ]),
        Mistake(
            title: "REL-1: a destination that is missing",
            entities: [Entity("Book") { ToOne("author", to: "Autor") }, Entity("Author")],
            problems: ["“Book.author” leads to the entity “Autor”, which is not in the model (did you mean “Author”?)."]),
        Mistake(
            title: "REL-2: minimum above maximum",
            entities: [Entity("Book") { ToMany("books", to: "Book", minCount: 3, maxCount: 2) }],
            problems: ["“Book.books” has a minimum count above its maximum count: it could never be saved."]),
        Mistake(
            title: "REL-3: an inverse that is missing",
            entities: [
                Entity("Book") { ToOne("author", to: "Author", inverse: "book") },
                Entity("Author") { ToMany("books", to: "Book") },
            ],
            problems: [
                "“Book.author” has the inverse “book”, which is not a relationship of “Author” (did you mean “books”?)."
            ]),
        Mistake(
            title: "REL-3: an inverse that does not point back",
            entities: [
                Entity("Book") {
                    ToOne("author", to: "Author", inverse: "books")
                    ToOne("editor", to: "Author", inverse: "books")
                },
                Entity("Author") { ToMany("books", to: "Book", inverse: "author") },
            ],
            problems: [
                "“Book.editor” has the inverse “Author.books”, which points to “author” and not back: name “editor” there."
            ]),
        Mistake(
            title: "REL-5: an ordered to-one",
            entities: [Entity("Book", relationships: [RelationshipDescription("next", to: "Book", ordered: true)])],
            problems: ["“Book.next” is ordered and leads to one object: only a to-many has an order."]),
        Mistake(
            title: "MOD-8: a constraint over an unknown name",
            entities: [Entity("Book") { Attribute<String>("isbn"); Unique("isbm") }],
            problems: ["A uniqueness constraint of “Book” names “isbm”, which it does not have (did you mean “isbn”?)."]),
        Mistake(
            title: "MOD-8: a constraint over a to-many",
            entities: [Entity("Book") { ToMany("next", to: "Book"); Unique("next") }],
            problems: [
                "A uniqueness constraint of “Book” names “next”, which is a to-many relationship: "
                    + "only attributes and to-one relationships can be unique."
            ]),
        Mistake(
            title: "MOD-9: an index over an unknown name",
            entities: [Entity("Book") { Attribute<Int>("pages"); Indexed("page") }],
            problems: ["The index “by_page” of “Book” names “page”, which “Book” does not have (did you mean “pages”?)."]),
        Mistake(
            title: "MOD-9: two kinds in one index",
            entities: [
                Entity("Place") {
                    Attribute<Double>("x")
                    Attribute<Double>("y")
                    Indexed(FetchIndexElement("x"), FetchIndexElement("y", kind: .rTree), name: "here")
                }
            ],
            problems: ["The index “here” of “Place” mixes binary and R-tree elements: make an index of each kind."]),
        Mistake(
            title: "REL-9: a fetched property of an unknown entity",
            entities: [Entity("Book") { FetchedPropertyDescription("reviews", entity: "Reviews") }, Entity("Review")],
            problems: ["“Book.reviews” fetches the entity “Reviews”, which is not in the model (did you mean “Review”?)."]),
    ]

    @Test("Each mistake is reported with its place and a hint", arguments: mistakes)
    func mistakeIsReported(_ mistake: Mistake) throws {
        let definition = ModelDefinition(entities: mistake.entities, composites: mistake.composites)
        let error = #expect(throws: HornbeamError.self) { try ManagedObjectModel(definition) }
        #expect(error?.code == .invalidModel)
        #expect(error?.details.map(\.message) == mistake.problems)
    }

    @Test("MOD-4: a line of ancestors without end is refused, however the model came about")
    func endlessLineIsRefused() throws {
        let long = (0..<2_000).map { Entity("E\($0)", parent: $0 == 0 ? nil : "E\($0 - 1)") }
        let error = #expect(throws: HornbeamError.self) { try ManagedObjectModel(entities: long) }
        #expect(error?.details.first?.message == "“E100” inherits over more than 100 levels: use fewer.")
        #expect(throws: Never.self) { try ManagedObjectModel(entities: Array(long.prefix(100))) }
    }

    @Test("All mistakes of a model are reported at once")
    func allMistakesAtOnce() throws {
        let error = #expect(throws: HornbeamError.self) {
            try ManagedObjectModel {
                Entity("Book", parent: "Thing") {
                    Attribute("self", .string)
                    ToOne("author", to: "Writer")
                }
                Entity("Author") { Unique("name") }
            }
        }
        #expect(error?.details.count == 4)
        #expect(
            error?.description == """
                Error 9001 (invalidModel) at Book: The model has 4 problems: The parent entity “Thing” of “Book” is not in the model. \
                The property name “self” of “Book” is reserved, because every managed object has a member of that name: \
                choose another, such as “bookSelf”. “Book.author” leads to the entity “Writer”, which is not in the model. \
                … (all of them are among the details)
                  - Error 9001 (invalidModel) at Book: The parent entity “Thing” of “Book” is not in the model.
                  - Error 9001 (invalidModel) at Book.self: The property name “self” of “Book” is reserved, because every managed object \
                has a member of that name: choose another, such as “bookSelf”.
                  - Error 9001 (invalidModel) at Book.author: “Book.author” leads to the entity “Writer”, which is not in the model.
                  - Error 9001 (invalidModel) at Author.name: A uniqueness constraint of “Author” names “name”, which it does not have.
                """)
    }

    @Test("MDL-5: entities of one name that differ do not merge, equal ones do")
    func differentEntitiesDoNotMerge() throws {
        let one = ModelDefinition(entities: [Entity("Book") { Attribute<String>("title") }], versionIdentifiers: ["a"])
        let other = ModelDefinition(entities: [Entity("Book") { Attribute<Int>("title") }, Entity("Shelf")])
        let same = ModelDefinition(entities: [Entity("Shelf"), one.entities[0]], versionIdentifiers: ["b"])
        let merged = try ModelDefinition(merging: [one, same])
        #expect(merged.entities.map(\.name) == ["Book", "Shelf"])
        #expect(merged.versionIdentifiers == ["a", "b"])
        let error = #expect(throws: HornbeamError.self) { try ModelDefinition(merging: [one, other]) }
        #expect(error?.code == .modelsDiffer)
        #expect(
            error?.message == "Models with two different entities named “Book” cannot be merged: "
                + "rename one, or leave out the model that is out of date.")
    }

    @Test("MDL-2: configurations have their entities, and the error for an unknown one has its name")
    func configurationsGiveTheirEntities() throws {
        let model = try Library.model()
        #expect(model.configurations == ["Shelf"])
        #expect(try model.entities(forConfigurationName: "Shelf").map(\.name) == ["Book", "Author"])
        #expect(try model.entities(forConfigurationName: nil).count == 4)
        let error = #expect(throws: HornbeamError.self) { try model.entities(forConfigurationName: "Shelv") }
        #expect(error?.message == "The model has no configuration “Shelv” (did you mean “Shelf”?).")
    }

    @Test("MOD-5: an unknown property or entity is named with a suggestion")
    func unknownNamesAreNamed() throws {
        let model = try Library.model()
        let entity = #expect(throws: HornbeamError.self) { try model.entity(named: "Auther") }
        #expect(entity?.message == "The model has no entity “Auther” (did you mean “Author”?).")
        let property = #expect(throws: HornbeamError.self) { try model.entity(named: "Book").property(named: "titel") }
        #expect(property?.message == "The entity “Book” has no property “titel” (did you mean “title”?).")
        #expect(property?.code == .unknownKey)
    }
}
