import Foundation
import HornbeamModel
import Testing

@Suite struct ModelJSONTests {
    @Test("MDL-7: a model prints as readable JSON, in its own order")
    func modelPrintsReadably() throws {
        let model = try ManagedObjectModel(ModelDefinition(
            entities: [
                Entity("Author", className: "Author") {
                    Attribute<String>("name", unique: true)
                    Attribute<Double?>("fame", default: 0.5, minimum: 0)
                    ToMany("books", to: "Book", inverse: "author", deleteRule: .cascade)
                },
                Entity("Book") {
                    Attribute<String>("title")
                    ToOne("author", to: "Author", inverse: "books", optional: false)
                    Indexed(.folded("title"))
                },
            ],
            versionIdentifiers: ["v1"]))
        #expect(
            String(decoding: try model.json(), as: UTF8.self) == """
                {
                  "hornbeamModel": 1,
                  "versionIdentifiers": ["v1"],
                  "entities": [
                    {
                      "name": "Author",
                      "class": "Author",
                      "attributes": [
                        { "name": "name", "type": "string" },
                        { "name": "fame", "type": "double", "optional": true, "default": 0.5, "minimum": 0 }
                      ],
                      "relationships": [
                        {
                          "name": "books",
                          "destination": "Book",
                          "inverse": "author",
                          "toMany": true,
                          "deleteRule": "cascade"
                        }
                      ],
                      "unique": [["name"]]
                    },
                    {
                      "name": "Book",
                      "attributes": [
                        { "name": "title", "type": "string" }
                      ],
                      "relationships": [
                        { "name": "author", "destination": "Author", "inverse": "books", "optional": false }
                      ],
                      "indexes": [
                        {
                          "name": "by_title",
                          "elements": [
                            { "property": "title", "collation": "caseAndDiacriticInsensitive" }
                          ]
                        }
                      ]
                    }
                  ]
                }

                """)
    }

    @Test("A model read back is the same, pretty or packed")
    func modelReadBackIsTheSame() throws {
        let definition = Self.rich()
        #expect(try ModelDefinition(json: definition.json()) == definition)
        let model = try ManagedObjectModel(definition)
        let packed = try ManagedObjectModel(decoding: model.encoded())
        #expect(packed.definition == definition)
        #expect(packed.versionChecksum == model.versionChecksum)
        #expect(try packed.json() == model.json())
    }

    /// A model in which every field is set to something other than its default.
    static func rich() -> ModelDefinition {
        var definition = Library.definition()
        var all = AttributeDescription(
            "text", .string, optional: true, default: "x\"\\\n\u{1}é", minimumLength: 1, maximumLength: 9, pattern: "x.*",
            rules: [ValidationRule("SELF != 'y'", warning: "no y"), ValidationRule("SELF != 'z'")],
            renamedFrom: "every", userInfo: ["b": "2", "a": "1"])
        all.preservesValueInHistoryOnDeletion = true
        all.allowsCloudEncryption = true
        all.isIndexedBySpotlight = true
        all.isStoredInExternalRecord = true
        all.usesScalarValueType = true
        all.versionHashModifier = "m"
        var blob = AttributeDescription("blob", .binary, optional: true, default: .data(Data([1, 2])))
        blob.allowsExternalBinaryDataStorage = true
        var tags = AttributeDescription("tags", .transformable, optional: true, transformer: "Tags")
        tags.valueClassName = "[String]"
        var entity = Entity(
            "Rich", attributes: [
                all, blob, tags,
                AttributeDescription("place", .composite, composite: "Point"),
                AttributeDescription("count", .integer64, optional: true, derivation: "kin.@count"),
                AttributeDescription("when", .date, default: .date(Date(timeIntervalSince1970: 1.5)),
                    minimum: .date(Date(timeIntervalSince1970: 0))),
                AttributeDescription("price", .decimal, default: .decimal(Decimal(string: "12345678901234567890.12")!)),
                AttributeDescription("key", .uuid, optional: true, default: .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))),
                AttributeDescription("page", .uri, optional: true, default: .uri(URL(string: "http://a.b/c?d#e")!)),
                AttributeDescription("flag", .boolean, default: true),
                AttributeDescription("ratio", .float, default: 1, maximum: 2),
                AttributeDescription("scratch", .undefined, optional: true, transient: true),
            ],
            relationships: [
                RelationshipDescription(
                    "kin", to: "Rich", inverse: "kin", toMany: true, ordered: true, optional: false, minCount: 1,
                    maxCount: 7, deleteRule: .noAction, renamedFrom: "family", userInfo: ["k": "v"])
            ],
            uniquenessConstraints: [["text", "place.x"]],
            fetchIndexes: [
                FetchIndexDescription("i", ["price", .descending("ratio"), .folded("text", .caseInsensitive)], where: "flag == YES"),
                FetchIndexDescription("e", [FetchIndexElement("length:(text)", isExpression: true)]),
            ], renamedFrom: "Poor", userInfo: ["note": "n"])
        entity.versionHashModifier = "2"
        entity.coreSpotlightDisplayNameExpression = "text"
        var fetched = FetchedPropertyDescription(
            "books", entity: "Book", where: "pages > $FETCH_SOURCE.count", sortedBy: [.descending("title")])
        fetched.isOptional = false
        fetched.renamingIdentifier = "volumes"
        entity.fetchedProperties = [fetched]
        definition.entities.append(entity)
        definition.composites = [
            CompositeDescription("Point", [AttributeDescription("x", .double), AttributeDescription("y", .double)])
        ]
        var template = FetchRequestTemplate("big", entity: "Book", predicate: "pages > $PAGES", limit: 5)
        template.fetchBatchSize = 2
        template.resultKind = .dictionaries
        template.includesSubentities = false
        template.includesPropertyValues = false
        template.includesPendingChanges = false
        template.returnsObjectsAsFaults = false
        template.returnsDistinctResults = true
        definition.fetchRequestTemplates = [template]
        definition.localizationDictionary = ["Entity/Rich": "Reich", "ErrorString/no y": "kein y"]
        return definition
    }

    @Test(
        "A file that cannot be read says where and why",
        arguments: [
            ("{", "The model file cannot be read: it is not JSON."),
            ("{}", "The model file cannot be read: the member “hornbeamModel” is missing."),
            (
                #"{"hornbeamModel": 9, "entities": []}"#,
                "The model is of format 9, and this version of Hornbeam reads up to 1: use a newer one."
            ),
            (
                #"{"hornbeamModel": 1, "entities": [], "entitys": []}"#,
                "The model file cannot be read: “entitys” is not a member here (did you mean “entities”?)."
            ),
            (
                #"{"hornbeamModel": 1, "entities": [{"name": "Book", "attributes": [{"name": "title", "type": "sting"}]}]}"#,
                "The model file cannot be read at entities[0] “Book” → attributes[0] “title” → type: "
                    + "“sting” is not an attribute type (did you mean “string”?)."
            ),
            (
                #"{"hornbeamModel": 1, "entities": [{"name": "Book", "relationships": [{"name": "next", "destination": "Book", "deleteRule": "cascades"}]}]}"#,
                "The model file cannot be read at entities[0] “Book” → relationships[0] “next” → deleteRule: "
                    + "“cascades” is not a delete rule (did you mean “cascade”?)."
            ),
        ])
    func unreadableFileSaysWhy(_ text: String, _ message: String) throws {
        let error = #expect(throws: HornbeamError.self) { try ModelDefinition(json: Data(text.utf8)) }
        #expect(error?.message == message)
        #expect(error?.details == [])
    }

    @Test("One error reports all independent faults, each once")
    func oneErrorReportsAllFaults() throws {
        let text = #"""
            {
              "hornbeamModel": 1, "versions": [],
              "entities": [
                { "name": "A", "attributes": [
                  { "name": "x", "type": "sting", "optionl": true },
                  { "nam": "y", "type": "string" },
                  { "name": "z", "type": "string", "default": { "decimal": "12abc" } } ] },
                { "name": 5, "unique": [["x"], "y"] },
                { "name": "B", "attributes": [{ "name": "b", "type": "double", "minimum": { "double": "-inf" } }] }
              ]
            }
            """#
        let error = #expect(throws: HornbeamError.self) { try ModelDefinition(json: Data(text.utf8)) }
        let issues = ModelLint.issues(inJSON: Data(text.utf8), file: "M.json")
        #expect(issues.map(\.description) == [
            "M.json:2: error: The model file cannot be read: “versions” is not a member here.",
            "M.json:5: error: The model file cannot be read at entities[0] “A” → attributes[0] “x”: "
                + "“optionl” is not a member here (did you mean “optional”?).",
            "M.json:5: error: The model file cannot be read at entities[0] “A” → attributes[0] “x” → type: "
                + "“sting” is not an attribute type (did you mean “string”?).",
            "M.json:6: error: The model file cannot be read at entities[0] “A” → attributes[1]: "
                + "“nam” is not a member here (did you mean “name”?).",
            "M.json:7: error: The model file cannot be read at entities[0] “A” → attributes[2] “z” → default → decimal: "
                + "The decimal cannot be read.",
            "M.json:8: error: The model file cannot be read at entities[1] → name: a value of another kind is expected (String).",
        ])
        #expect(error?.details.count == issues.count)
        #expect(error?.message.hasPrefix("The model file has 6 faults. The model file cannot be read: “versions”") == true)
    }

    @Test("A configuration whose name is a number is a member, not an element of a list", arguments: ["2", "-1", "9223372036854775807"])
    func configurationsNamedByNumbers(_ name: String) throws {
        let text = "{\"hornbeamModel\": 1, \"entities\": [], \"configurations\": {\"\(name)\": 5}}"
        let error = #expect(throws: HornbeamError.self) { try ModelDefinition(json: Data(text.utf8)) }
        #expect(error?.key == "configurations/\(name)")
        #expect(error?.message.hasPrefix("The model file cannot be read at configurations → \(name): ") == true)
    }

    @Test("A model in which nothing fits is refused in good time", .timeLimit(.minutes(20)))
    func unknownDestinationsAreCheap() {
        let entities = (0..<1500).map { number in
            Entity("Entity\(number)", relationships: [RelationshipDescription("next", to: "Entiti\(number)")])
        }
        var issues: [ModelIssue] = []
        let time = processorTime { issues = ModelLint.issues(in: ModelDefinition(entities: entities)) }
        #expect(issues.count { $0.severity == .error } == 1500)
        #expect(issues[0].message.contains("did you mean “Entity0”?"))
        #expect(time < .seconds(20))
    }
}
