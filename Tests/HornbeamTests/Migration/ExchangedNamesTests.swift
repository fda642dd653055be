import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Renaming identifiers that give a part the name of another part. Version hashes do not cover them.
@Suite struct ExchangedNamesTests {
    private static func person(_ first: String?, _ last: String?, _ more: [AttributeDescription] = []) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            Entity(
                "Person",
                attributes: [
                    AttributeDescription("first", .string, renamedFrom: first), AttributeDescription("last", .string, renamedFrom: last),
                ] + more)
        ])
    }

    private static func old() throws -> ManagedObjectModel { try person(nil, nil) }
    private static func new() throws -> ManagedObjectModel { try person("last", "first") }

    private static func filled() throws -> MigratedStore {
        let store = try MigratedStore()
        try store.with(old()) { (context) throws in try context.insert("Person", ["first": "A", "last": "B"]) }
        return store
    }

    private static func code(_ store: MigratedStore, _ change: (inout PersistentStoreDescription) -> Void) throws -> HornbeamError.Code? {
        var description = PersistentStoreDescription(url: store.url)
        change(&description)
        let coordinator = try PersistentStoreCoordinator(managedObjectModel: new())
        return hornbeamError { try coordinator.addPersistentStore(description) }?.code
    }

    @Test("MOD-13, MDL-9: a store whose properties exchange their names is not opened without a migration")
    func exchangedNamesNeedMigration() throws {
        #expect(try Self.old().versionChecksum == Self.new().versionChecksum)
        let store = try Self.filled()
        #expect(try Self.code(store) { $0.isReadOnly = true } == .modelMismatch)
        #expect(try Self.code(store) { $0.shouldMigrateStoreAutomatically = false } == .modelMismatch)
        #expect(try Self.code(store) { $0.shouldInferMappingModelAutomatically = false } == .missingMappingModel)
        #expect(try store.plan(Self.new())?.takesConstantTime == true)
        try store.with(Self.new()) { (context) throws in
            #expect(try context.values("Person", "first") == ["B"])
            #expect(try context.values("Person", "last") == ["A"])
        }
    }

    @Test("MOD-13, MIG-11: names are exchanged once; the older version of the model is refused")
    func namesAreExchangedOnce() throws {
        let store = try Self.filled()
        try store.with(Self.new()) { _ in }
        #expect(hornbeamError { _ = try store.open(Self.old()) }?.code == .stagedMigrationBackwards)
        #expect(try store.plan(Self.new()) == nil)
        // A default value does not make another version.
        let next = try Self.person("last", "first", [])
        var definition = next.definition
        definition.entities[0].attributes[0].defaultValue = "none"
        for model in [try Self.new(), try ManagedObjectModel(definition)] {
            try store.with(model) { (context) throws in #expect(try context.values("Person", "first") == ["B"]) }
        }
        let third = try Self.person("last", "first", [AttributeDescription("nick", .string, optional: true)])
        try store.with(third) { (context) throws in
            #expect(try context.values("Person", "first") == ["B"])
            #expect(try context.values("Person", "nick") == [.null])
        }
    }

    @Test("MOD-13: an index that was added before names are exchanged does not make the store newer")
    func indexBeforeExchange() throws {
        let store = try Self.filled()
        var indexed = try Self.old().definition
        indexed.entities[0].fetchIndexes = [FetchIndexDescription("first", [FetchIndexElement("first")])]
        try store.with(ManagedObjectModel(indexed)) { _ in }
        try store.with(Self.new()) { (context) throws in #expect(try context.values("Person", "first") == ["B"]) }
    }

    private static func pair(_ exchanged: Bool) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: ["Cat", "Dog"].map { name in
            Entity(
                name, attributes: [AttributeDescription("name", .string)],
                renamedFrom: exchanged ? (name == "Cat" ? "Dog" : "Cat") : nil)
        })
    }

    @Test("MOD-13, PSC-12: entities of equal shape exchange their names, and URIs of before resolve to the same objects")
    func entitiesExchangeNames() throws {
        let store = try MigratedStore()
        var uris: [URL] = []
        try store.with(Self.pair(false)) { (context) throws in
            let cats = [try context.insert("Cat", ["name": "Tom"]), try context.insert("Cat", ["name": "Felix"])]
            try context.insert("Dog", ["name": "Rex"])
            try context.save()
            uris = cats.map { $0.objectID.uriRepresentation() }
        }
        try store.with(Self.pair(true)) { (context) throws in
            #expect(try context.values("Dog", "name") == ["Felix", "Tom"])
            #expect(try context.values("Cat", "name") == ["Rex"])
            for (uri, name) in zip(uris, ["Tom", "Felix"] as [PropertyValue]) {
                let id = try #require(context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri))
                #expect(try context.existingObject(with: id).value(forKey: "name") == name)
            }
        }
    }

    @Test("MOD-13, PSC-12: a URI of an entity whose name a new entity has resolves to the same object")
    func nameOfRenamedEntityIsReused() throws {
        let first = try ManagedObjectModel(entities: [
            Entity("Cat", attributes: [AttributeDescription("name", .string)])
        ])
        let second = try ManagedObjectModel(entities: [
            Entity(
                "Tiger", attributes: [AttributeDescription("name", .string)], renamedFrom: "Cat"),
            Entity("Cat", attributes: [AttributeDescription("name", .string)]),
        ])
        let store = try MigratedStore()
        var uris: [URL] = []
        try store.with(first) { (context) throws in
            let tom = try context.insert("Cat", ["name": "Tom"])
            try context.save()
            uris = [tom.objectID.uriRepresentation()]
        }
        try store.with(second) { (context) throws in
            let id = try #require(context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uris[0]))
            #expect(try context.existingObject(with: id).value(forKey: "name") == "Tom")
            // A new object of the reused name keeps its own URI.
            let cat = try context.insert("Cat", ["name": "new"])
            try context.save()
            let own = try #require(context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: cat.objectID.uriRepresentation()))
            #expect(try context.existingObject(with: own).value(forKey: "name") == "new")
        }
    }

    @Test("ATT-13, MOD-13: elements of a composite exchange their names")
    func elementsExchangeNames() throws {
        func model(_ exchanged: Bool) throws -> ManagedObjectModel {
            var definition = ModelDefinition()
            definition.composites = [
                CompositeDescription(
                    "Place",
                    [
                        AttributeDescription("lat", .double, renamedFrom: exchanged ? "lon" : nil),
                        AttributeDescription("lon", .double, renamedFrom: exchanged ? "lat" : nil),
                    ])
            ]
            definition.entities = [Entity("Shop", attributes: [AttributeDescription("place", .composite, optional: true, composite: "Place")])]
            return try ManagedObjectModel(definition)
        }
        let store = try MigratedStore()
        try store.with(model(false)) { (context) throws in try context.insert("Shop", ["place": .dictionary(["lat": 1.5, "lon": 2.5])]) }
        for _ in 0 ..< 2 {
            try store.with(model(true)) { (context) throws in
                #expect(try context.values("Shop", "place", sortedBy: "self") == [.dictionary(["lat": 2.5, "lon": 1.5])])
            }
        }
        #expect(hornbeamError { _ = try store.open(model(false)) }?.code == .stagedMigrationBackwards)
    }

    @Test("MDL-9: the difference of two models with exchanged names names the entity that must be migrated")
    func differenceNamesEntity() throws {
        #expect(try ModelDifference(from: Self.old(), to: Self.new()).migratedEntities == ["Person"])
        #expect(try ModelDifference(from: Self.new(), to: Self.person("last", "first")).migratedEntities == [])
    }
}
