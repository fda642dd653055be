import HornbeamEngine
import HornbeamModel
import Testing
@testable import HornbeamStore

/// The default values of new attributes in the rows of an older version.
@Suite("Migration: default values")
struct DefaultValueMigrationTests {
    @Test(
        "ATT-13: the default of a new composite has values of its elements' types; one that does not fit is null",
        arguments: [
            (.dictionary(["x": .int(1)]), .dictionary(["x": .double(1)])), (.dictionary(["x": .array([.int(1)])]), .null),
            (.dictionary(["y": .int(1)]), .null),
        ] as [(PropertyValue, PropertyValue)])
    func compositeDefaults(_ given: PropertyValue, _ expected: PropertyValue) throws {
        var options = Store.Options()
        options.fileSystem = MemoryFileSystem()
        let first = Library(try Store.open(.directory("library.hornbeam"), model: libraryModel, options: options))
        let tag = try first.insert("Tag", ["label": "a"])
        try first.store.close()
        var definition = libraryModel.definition
        let place = try #require(definition.entities.firstIndex { $0.name == "Tag" })
        definition.composites = [CompositeDescription("Point", [AttributeDescription("x", .double, optional: true)])]
        definition.entities[place].attributes.append(
            AttributeDescription("place", .composite, optional: true, default: given, composite: "Point"))
        options.migration = MigrationOptions()
        let second = Library(try Store.open(.directory("library.hornbeam"), model: ManagedObjectModel(definition), options: options))
        #expect(try second.value(tag, "place") == expected)
        try second.store.close()
    }
}
