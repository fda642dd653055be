import Foundation
import HornbeamEngine
import HornbeamModel
import Testing
@testable import HornbeamStore

/// Stages with code work on a copy of all trees, which must equal the store's content, and leave no tree behind.
@Suite struct MigrationCopyTests {
    struct Refused: Error {}

    /// The content of a store's objects.
    private struct Contents: Equatable {
        var rows: [String: [String]] = [:]

        init(_ store: Store) throws {
            let snapshot = try store.snapshot()
            for entity in store.model.entities where !entity.isAbstract {
                var request = FetchDescription(entityName: entity.name)
                request.includesSubentities = false
                rows[entity.name] = try snapshot.fetch(request).references.sorted().map { object in
                    let row = try #require(try snapshot.values(entity, object.key))
                    let members = try entity.relationships.filter(\.isToMany).map { relationship in
                        try snapshot.members(of: relationship, owner: object.key).map { "\($0)" }
                    }
                    return "\(object) \(row.version) \(row.values) \(members)"
                }
            }
        }
    }

    private let fileSystem = MemoryFileSystem()

    private func open(_ model: ManagedObjectModel, _ stage: MigrationStep? = nil) throws -> Store {
        var options = Store.Options()
        options.fileSystem = fileSystem
        options.backgroundCheckpoints = false
        if let stage {
            var migration = MigrationOptions()
            migration.batchSize = 16
            migration.versions = [stage.mapping.source, stage.mapping.destination]
            migration.stages = [stage]
            options.migration = migration
        }
        return try Store.open(.directory("library.hornbeam"), model: model, options: options)
    }

    /// A library with large values, long unique keys, and every kind of relationship.
    private func fill(_ seed: UInt64) throws -> Contents {
        let store = try open(libraryModel)
        let library = Library(store)
        let books = try FilledLibrary(seed: seed, in: store).objects.filter { $0.entity.name == "Book" }.map(\.reference)
        let authors = try store.snapshot().fetch(FetchDescription(entityName: "Author")).references
        let shelf = try library.insert("Shelf", ["name": "long"])
        var changes = ChangeSet()
        for name in ["visitors", "favourites"] {
            changes.links.append(
                ChangeSet.Link(
                    relationship: library.property(name, of: "Shelf"), owner: shelf, added: Array((name == "visitors" ? authors : books).prefix(5))))
        }
        _ = try store.save(changes)
        for book in books.prefix(4) { try library.update(book, ["shelf": library.id(shelf)]) }
        _ = try library.insert("Values", ["data": .data(Data(repeating: 7, count: 100_000)), "string": .string(String(repeating: "ä", count: 5_000))])
        for number in 0 ..< 3 { _ = try library.insert("Book", ["title": "x", "isbn": .string(String(repeating: "9", count: 2_000) + "\(number)")]) }
        let contents = try Contents(store)
        try store.close()
        return contents
    }

    private func step(_ convert: @escaping @Sendable (Store, Store) throws -> Void) throws -> MigrationStep {
        var definition = libraryModel.definition
        definition.entities[0].versionHashModifier = "2"
        var result = MigrationStep(try MappingModel.inferred(from: libraryModel, to: ManagedObjectModel(definition)))
        result.prepare = { _ in }
        result.convert = { source, destination, _ in try convert(source, destination) }
        return result
    }

    /// The trees of a store, and whether the catalogue contains each.
    private func strayTrees(_ store: Store) throws -> [String] {
        let snapshot = try store.engine.snapshot()
        let stored = try #require(try StoredSchema(snapshot, store.location.description))
        let known = stored.catalogue.tables.map(\.name) + stored.catalogue.indexTrees + [HistoryKey.treeName]
        return snapshot.treeNames.filter { !known.contains($0) && $0.contains("/") }
    }

    @Test("MIG-11: a stage whose code does nothing keeps every value, member and order, and leaves no unused tree", arguments: [1, 2, 3, 4] as [UInt64])
    func copyHoldsEverything(seed: UInt64) throws {
        let before = try fill(seed)
        let stage = try step { source, destination in
            let (old, new) = (try Contents(source), try Contents(destination))
            #expect(old == new)
        }
        let store = try open(stage.mapping.destination, stage)
        #expect(try Contents(store) == before)
        #expect(try store.check().problems == [])
        #expect(try strayTrees(store) == [])
        #expect(try store.engine.snapshot().value(PendingMigration.valueName) == nil)
        // Truncated unique keys still differ, and are still unique.
        let library = Library(store)
        #expect(throws: SaveConflicts.self) { _ = try library.insert("Book", ["title": "y", "isbn": .string(String(repeating: "9", count: 2_000) + "1")]) }
        try store.close()
    }

    @Test("MIG-11: a stage that fails leaves the store and its trees as they were")
    func failedStagesLeaveNothing() throws {
        let before = try fill(5)
        let stage = try step { _, _ in throw Refused() }
        #expect(throws: HornbeamError.self) { try open(stage.mapping.destination, stage) }
        let store = try open(libraryModel)
        #expect(try Contents(store) == before)
        #expect(try strayTrees(store) == [])
        #expect(try store.engine.snapshot().value(PendingMigration.valueName) == nil)
        #expect(try store.check().problems == [])
        try store.close()
    }
}
