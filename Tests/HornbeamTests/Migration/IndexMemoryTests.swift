import Foundation
import Hornbeam
import HornbeamEngine
import HornbeamStore
import Testing

/// Indexes that are built in a store whose pool is much smaller than the index.
@Suite struct IndexMemoryTests {
    /// A change of the model that builds one index and rewrites no row.
    enum Change: CaseIterable { case fetchIndex, constraint }

    private static func model(_ change: Change? = nil) throws -> ManagedObjectModel {
        var entity = Entity("Note", attributes: [AttributeDescription("code", .string), AttributeDescription("number", .integer32)])
        switch change {
        case nil: break
        case .fetchIndex: entity.fetchIndexes = [FetchIndexDescription("code", [FetchIndexElement("code")])]
        case .constraint: entity.uniquenessConstraints = [["code"]]
        }
        return try ManagedObjectModel(entities: [entity])
    }

    /// A store in files on disk, or in files in memory.
    private struct Files {
        let path: String
        let system: (any FileSystem)?

        init(inMemory: Bool) throws {
            system = inMemory ? MemoryFileSystem() : nil
            path = inMemory ? "notes.hornbeam" : try Stack.freshDescription(.onDisk).url.path
        }

        func open(_ model: ManagedObjectModel, frames: Int?, threads: Bool = false) throws -> PersistentContainer {
            var options = Store.Options()
            options.fileSystem = system
            options.backgroundCheckpoints = threads
            options.poolBytes = 128 * 4_096
            options.engine.pageSize = 4_096
            options.engine.frameCeiling = frames
            options.migration = MigrationOptions()
            return try PersistentContainer.over(try Store.open(.directory(path), model: model, options: options))
        }
    }

    private static func code(_ number: Int) -> String {
        String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 16) + " and a long rest of a key"
    }

    private static func fill(_ files: Files, _ count: Int) throws {
        let container = try files.open(model(), frames: nil)
        let context = container.newContext()
        for start in stride(from: 0, to: count, by: 2_000) {
            let rows: [[String: PropertyValue]] = (start ..< start + 2_000).map { ["code": .string(code($0)), "number": .int(Int64($0))] }
            try context.execute(BatchInsertRequest(entityName: "Note", objects: rows))
        }
        try container.close()
    }

    @Test(
        "MIG-2, MOD-9: the memory for a new index does not grow with the rows", arguments: Change.allCases,
        [(10_000, true), (10_000, false), (40_000, true)])
    func memoryDoesNotGrow(change: Change, store: (rows: Int, inMemory: Bool)) throws {
        let files = try Files(inMemory: store.inMemory)
        try Self.fill(files, store.rows)
        let container = try files.open(Self.model(change), frames: 600)
        #expect(try container.openStore().check().problems == [])
        let context = container.newContext()
        for number in stride(from: 0, to: store.rows, by: store.rows / 10) {
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Note").where("code == %@", Self.code(number))) == 1)
        }
        try container.close()
    }

    @Test("MIG-2, MOD-9: so does an index that is built while background threads write checkpoints", arguments: Change.allCases)
    func memoryDoesNotGrowWithThreads(change: Change) throws {
        let files = try Files(inMemory: true)
        try Self.fill(files, 20_000)
        let container = try files.open(Self.model(change), frames: 600, threads: true)
        #expect(try container.openStore().check().problems == [])
        try container.close()
    }
}
