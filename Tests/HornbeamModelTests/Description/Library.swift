import HornbeamModel

/// A small model that the tests share.
enum Library {
    static func definition() -> ModelDefinition {
        ModelDefinition(
            entities: [
                Entity("Item", abstract: true) {
                    Attribute<String>("title", minimumLength: 1, maximumLength: 200)
                    Attribute<String?>("code", unique: true)
                },
                Entity("Book", className: "Book", parent: "Item") {
                    Attribute<Int32>("pages", default: 1, indexed: true, minimum: 1, maximum: 20_000)
                    ToOne("author", to: "Author", inverse: "books")
                    OrderedToMany("chapters", to: "Chapter", inverse: "book", deleteRule: .cascade)
                    Indexed(.folded("title"), .descending("pages"), name: "byTitle")
                },
                Entity("Author", className: "Author") {
                    Attribute("name", .string)
                    Attribute("born", .integer16, optional: true)
                    ToMany("books", to: "Book", inverse: "author", deleteRule: .deny)
                    Unique("name", "born")
                },
                Entity("Chapter") {
                    Attribute<String>("heading")
                    ToOne("book", to: "Book", inverse: "chapters", optional: false)
                },
            ],
            configurations: ["Shelf": ["Book", "Author"]], versionIdentifiers: ["v1"])
    }

    static func model() throws -> ManagedObjectModel { try ManagedObjectModel(definition()) }
}
