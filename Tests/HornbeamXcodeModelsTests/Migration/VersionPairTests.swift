import Foundation
import Hornbeam
import HornbeamXcodeModels
import Testing

/// Stores of the older version of a real app's model, opened with the newer one.
@Suite(.enabled(if: !CaseModels.findings.isEmpty, "The model cases are not beside the package."))
struct VersionPairTests {
    private static func bundle(_ path: String) throws -> XcodeModelBundle {
        try XcodeModelBundle(contentsOf: CaseModels.folder.appending(path: path))
    }

    private static func model(_ pair: VersionPair, _ name: String) throws -> ManagedObjectModel {
        try ManagedObjectModel(bundle(pair.bundle).version(named: name))
    }

    @Test("MIG-13: every two consecutive versions of the real apps' models have a verdict")
    func allPairsAreListed() throws {
        let paths = Set(CaseModels.findings.compactMap { finding in
            finding.model.range(of: ".xcdatamodeld/").map { String(finding.model[..<$0.upperBound].dropLast()) }
        })
        let pairs = try paths.sorted().flatMap { path in
            let names = try Self.bundle(path).versionNames
            return zip(names, names.dropFirst()).map { "\(path): \($0) to \($1)" }
        }
        #expect(pairs == VersionPair.all.map(\.description))
    }

    @Test("MIG-2, MIG-3, MIG-4: the mapping between two versions is inferred by the rules", arguments: VersionPair.all)
    func verdictIsThatOfTheRules(pair: VersionPair) throws {
        let mapping = try MappingModel.inferred(from: Self.model(pair, pair.old), to: Self.model(pair, pair.new))
        #expect(mapping.description == pair.mapping)
    }

    @Test("MIG-1, MIG-2: a filled store keeps the parts that both versions have, for each object", arguments: VersionPair.all)
    func storeKeepsWhatBothVersionsShare(pair: VersionPair) throws {
        let (old, new) = (try Self.model(pair, pair.old), try Self.model(pair, pair.new))
        let store = TemporaryStore()
        var before = try store.with(old) { (context) throws in
            try FilledObjects.insert(into: context, old)
            return try PlainObjects(context, old)
        }
        #expect(before.objects.count == old.entities.count { !$0.isAbstract } * FilledObjects.perEntity)
        if let missing = pair.missing { before = try breakRule(store, old, new, before, missing) }
        let after = try store.with(new) { (context) throws in try PlainObjects(context, new) }
        #expect(after == before.migrated(by: try MappingModel.inferred(from: old, to: new)))
        #expect(!after.objects.isEmpty)
    }

    /// Sees that the store is refused with the objects named and is as it was; then deletes these objects.
    private func breakRule(
        _ store: TemporaryStore, _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ before: PlainObjects, _ key: String
    ) throws -> PlainObjects {
        let error = #expect(throws: HornbeamError.self) { try store.with(new) { _ in } }
        #expect(error?.code == .migrationConstraintViolation)
        #expect(error?.details.map(\.key) == [key])
        let ids = try #require(error?.details.first?.objectIDs)
        #expect(ids.count == FilledObjects.perEntity)
        return try store.with(old) { (context) throws in
            #expect(try PlainObjects(context, old) == before)
            for id in ids { context.delete(try context.existingObject(with: id)) }
            try context.save()
            return try PlainObjects(context, old)
        }
    }

    @Test("MIG-13, MIG-14: a store of the first version is migrated through all versions of a bundle to the current one")
    func storeGoesThroughABundle() throws {
        let url = CaseModels.folder.appending(path: "objcio+core-data/Moody.xcdatamodeld")
        let versions = try VersionedModel(xcodeModelsAt: url)
        #expect(versions.names == ["Moody", "Moody 2", "Moody 3", "Moody 4", "Moody 5", "Moody 6"])
        #expect(versions.currentName == "Moody 6")
        let store = TemporaryStore()
        try store.with(versions.versions[0]) { (context) throws in
            let (country, mood) = (try context.insert(entityNamed: "Country"), try context.insert(entityNamed: "Mood"))
            try country.setValue(.date(.now), forKey: "updatedAt")
            try mood.setValue(.date(.now), forKey: "date")
            try mood.setValue("kept", forKey: "remoteIdentifier")
            try country.setValue(.set([.objectID(mood.objectID)]), forKey: "moods")
            try context.save()
        }
        let container = try store.container(versions)
        try container.loadPersistentStores()
        let moods = try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Mood"))
        #expect(try moods.map { try $0.value(forKey: "remoteID") } == ["kept"])
        #expect(try moods.map { try $0.value(forKey: "rating") } == [0])
        try container.close()
    }

    @Test("MIG-11, MIG-13: a store of a version behind the marked one is refused by the names of both, and is read with its own model")
    func storeOfANewerVersionIsRefused() throws {
        let url = CaseModels.folder.appending(path: "JohnEstropia+CoreStore/Advanced.EvolutionDemo.V1.xcdatamodeld")
        let versions = try VersionedModel(xcodeModelsAt: url)
        #expect(versions.currentName == "Advanced.EvolutionDemo.V1")
        let store = TemporaryStore()
        try store.with(versions.versions[1]) { (context) throws in try FilledObjects.insert(into: context, versions.versions[1]) }
        let error = #expect(throws: HornbeamError.self) { try store.container(versions).loadPersistentStores() }
        #expect(error?.code == .stagedMigrationBackwards)
        let sentence = """
            is of version “Advanced.EvolutionDemo.V2”, which is newer than version “Advanced.EvolutionDemo.V1”, and is not migrated backwards. Open it \
            with the newer model, or for reading with its own stored model.
            """
        #expect(error?.message.hasSuffix(sentence) == true)
        let reading = try PersistentContainer.openReadOnly(at: store.url)
        #expect(try reading.newContext().count(FetchRequest<ManagedObject>(entityName: "Creature")) == FilledObjects.perEntity)
        try reading.close()
    }
}

/// A store in a temporary folder, which is removed at the end of the test.
final class TemporaryStore {
    let url = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).hornbeam")

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Opens the store with a model, runs the body, checks the store and closes it.
    func with<R>(_ model: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> R) throws -> R {
        let container = try PersistentContainer.open(at: url, model: model)
        defer { try? container.close() }
        let result = try body(container.newContext())
        let coordinator = container.persistentStoreCoordinator
        #expect(try coordinator.check(try #require(coordinator.persistentStores.first)).problems == [])
        return result
    }

    /// A container for all versions, with the store not loaded yet.
    func container(_ versions: VersionedModel) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "versions", versions: versions)
        container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
        return container
    }
}
