import HornbeamModel
import Testing

@Suite struct FetchRequestTemplateTests {
    private func model(_ template: FetchRequestTemplate) throws -> ManagedObjectModel {
        var definition = Library.definition()
        definition.fetchRequestTemplates = [template]
        return try ManagedObjectModel(definition)
    }

    @Test("MDL-1: a request is made of a template with every variable bound")
    func requestIsMadeOfATemplate() throws {
        var template = FetchRequestTemplate(
            "byAuthor", entity: "Book", predicate: "author.name LIKE[cd] $NAME AND pages > $PAGES",
            sortedBy: [FetchSort("title")], limit: 20)
        template.resultKind = .objectIDs
        let model = try model(template)
        let request: FetchRequest<UntypedObject> = try model.fetchRequest(
            fromTemplate: "byAuthor", substituting: ["NAME": "ursula*", "PAGES": 100])
        #expect(request.entityName == "Book" && request.fetchLimit == 20 && request.resultType == .objectIDs)
        #expect(request.predicate == (try FetchPredicate(format: "author.name LIKE[cd] 'ursula*' AND pages > 100")))
        #expect(request.sortDescriptors == [FetchSort("title")])
        #expect(try model.fetchRequestTemplate(forName: "byAuthor") == template)
        #expect(model.fetchRequestTemplatesByName.keys.sorted() == ["byAuthor"])
    }

    @Test("MDL-1: a variable without a value, or a missing template, is named")
    func missingVariableIsNamed() throws {
        let model = try model(FetchRequestTemplate("byName", entity: "Book", predicate: "title == $NAME"))
        func request(_ name: String) throws -> FetchRequest<UntypedObject> { try model.fetchRequest(fromTemplate: name) }
        let variable = #expect(throws: HornbeamError.self) { try request("byName") }
        #expect(variable?.message.contains("$NAME") == true)
        let name = #expect(throws: HornbeamError.self) { try request("byNmae") }
        #expect(name?.message == "The model has no fetch request template “byNmae” (did you mean “byName”?).")
        let bound: FetchRequest<UntypedObject> = try model.fetchRequest(fromTemplate: "byName", substituting: ["NAME": .null])
        #expect(bound.predicate == (try FetchPredicate(format: "title == nil")))
    }

    @Test("MDL-1, REL-9, MOD-9: predicates in a model are checked against it")
    func predicatesAreCheckedAgainstTheModel() throws {
        var definition = Library.definition()
        definition.fetchRequestTemplates = [
            FetchRequestTemplate("a", entity: "Book", predicate: "titel == 'x'"),
            FetchRequestTemplate("b", entity: "Book", sortedBy: [FetchSort("chapters")]),
        ]
        definition.entities[1].fetchIndexes.append(FetchIndexDescription("some", ["pages"], where: "page > 1"))
        definition.entities[2].fetchedProperties = [
            FetchedPropertyDescription("sameName", entity: "Author", where: "nam == $FETCH_SOURCE.name")
        ]
        let error = #expect(throws: HornbeamError.self) { try ManagedObjectModel(definition) }
        #expect(error?.details.map { "\($0.entity ?? "-").\($0.key ?? "-")" } == ["Book.some", "Author.sameName", "-.a", "-.b"])
        #expect(error?.details.map { $0.message.contains("did you mean") } == [true, true, true, false])
        definition = Library.definition()
        definition.fetchRequestTemplates = [FetchRequestTemplate("a", entity: "Book", predicate: "title ==")]
        let syntax = #expect(throws: HornbeamError.self) { try ManagedObjectModel(definition) }
        #expect(syntax?.details.first?.message.hasPrefix("The fetch request template “a” has a predicate that does not parse.") == true)
    }
}
