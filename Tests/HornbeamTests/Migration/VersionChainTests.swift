import Foundation
import Hornbeam
import HornbeamModel
import Testing

/// Stores that are migrated through several versions, or refused before the first step.
@Suite struct VersionChainTests {
    private static func version(_ identifier: String, _ attributes: [AttributeDescription]) throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        definition.entities = [Entity("Note", attributes: attributes)]
        definition.versionIdentifiers = [identifier]
        return try ManagedObjectModel(definition)
    }

    private static func versions() throws -> [ManagedObjectModel] {
        [
            try version("1", [AttributeDescription("text", .string)]),
            try version("2", [AttributeDescription("body", .string, renamedFrom: "text")]),
            try version("3", [AttributeDescription("body", .string), AttributeDescription("stars", .integer16, default: 1)]),
        ]
    }

    private static func container(_ store: MigratedStore, _ versions: [ManagedObjectModel], backup: URL? = nil) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "chain", versions: VersionedModel(versions))
        var description = PersistentStoreDescription(url: store.url)
        description.backupDirectory = backup
        container.persistentStoreDescriptions = [description]
        return container
    }

    @Test("MIG-4, MIG-14: the plan of a chain shows the first step with its cost, and the mappings of the others")
    func planShowsAllSteps() throws {
        let store = try MigratedStore()
        try store.with(Self.versions()[0]) { (context) throws in try context.insert("Note", ["text": "kept"]) }
        let plan = try #require(try Self.container(store, Self.versions()).migrationPlan()[store.url])
        #expect(
            plan.description == """
                Note: changed
                  ~ body, renamed from text
                The time does not depend on the number of objects.
                Then:
                Note: changed
                  + stars, new, with its default value
                """)
    }

    @Test("MIG-5, MIG-14: a chain is copied once, before its first step")
    func chainIsBackedUpOnce() throws {
        let store = try MigratedStore()
        try store.with(Self.versions()[0]) { (context) throws in try context.insert("Note", ["text": "kept"]) }
        let folder = store.url.appendingPathExtension("copies")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let container = try Self.container(store, Self.versions(), backup: folder)
        try container.loadPersistentStores()
        #expect(try container.newContext().values("Note", "body") == ["kept"])
        try container.close()
        let copies = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(copies.count == 1)
        let old = try PersistentContainer.openReadOnly(at: try #require(copies.first))
        #expect(try old.newContext().values("Note", "text") == ["kept"])
        try old.close()
    }

    @Test("MIG-3, MIG-14: a chain with a step that needs code is refused before its first step, with the obstacles of all steps")
    func chainIsCheckedBeforehand() throws {
        let store = try MigratedStore()
        try store.with(Self.versions()[0]) { (context) throws in try context.insert("Note", ["text": "kept"]) }
        var versions = try Self.versions()
        versions.append(try Self.version("4", [AttributeDescription("body", .integer64), AttributeDescription("stars", .integer16, default: 1)]))
        versions.append(try Self.version("5", [AttributeDescription("body", .integer64), AttributeDescription("stars", .double, default: 1.0)]))
        let error = try #require(hornbeamError { try Self.container(store, versions).loadPersistentStores() })
        #expect(error.code == .inferredMappingFailed)
        #expect(error.details.map(\.key) == ["body", "stars"])
        #expect(error.message.contains("was made with version “1” and cannot be migrated to version “5” without code"))
        try store.with(Self.versions()[0]) { (context) throws in #expect(try context.values("Note", "text") == ["kept"]) }
    }

    @Test("MIG-11, MIG-13: a store of an unknown or a newer version is refused with both versions named, and is read with its own model")
    func unknownAndNewerVersionsAreRefused() throws {
        let versions = try Self.versions()
        let unknown = try Self.version("3b", [AttributeDescription("words", .string)])
        func refusal(_ stored: ManagedObjectModel, _ key: String, _ model: VersionedModel) throws -> String {
            let store = try MigratedStore()
            try store.with(stored) { (context) throws in try context.insert("Note", [key: "kept"]) }
            let container = try PersistentContainer(name: "refused", versions: model)
            container.persistentStoreDescriptions = [PersistentStoreDescription(url: store.url)]
            let error = try #require(hornbeamError { try container.loadPersistentStores() })
            let reading = try PersistentContainer.openReadOnly(at: store.url)
            #expect(try reading.newContext().values("Note", key) == ["kept"])
            try reading.close()
            return error.message.replacing(store.url.lastPathComponent, with: "STORE").replacing(store.url.deletingLastPathComponent().path + "/", with: "")
        }
        #expect(
            try refusal(unknown, "words", VersionedModel(versions)) == """
                “STORE” was made with version “3b”, which is none of the 3 versions that this app knows; the current one of these is version “3”. \
                Open it with a newer version of the app, or for reading with its own stored model.
                """)
        #expect(
            try refusal(versions[2], "body", VersionedModel([versions[0], versions[1]])) == """
                “STORE” was made with version “3”, which is none of the 2 versions that this app knows; the current one of these is version “2”. \
                Open it with a newer version of the app, or for reading with its own stored model.
                """)
        #expect(
            try refusal(versions[2], "body", VersionedModel(versions, names: ["1", "2", "3"], current: "2")) == """
                “STORE” is of version “3”, which is newer than version “2”, and is not migrated backwards. Open it with the newer model, or for reading \
                with its own stored model.
                """)
    }
}
