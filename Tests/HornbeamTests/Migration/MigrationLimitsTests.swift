import Foundation
import Hornbeam
import HornbeamEngine
import HornbeamStore
import Synchronization
import Testing

/// Migrations in stores with little memory, and with an age limit of snapshots.
@Suite struct MigrationLimitsTests {
    private static func model(_ change: (inout Entity) -> Void = { _ in }) throws -> ManagedObjectModel {
        var entity = Entity("Note", attributes: [AttributeDescription("code", .string), AttributeDescription("remark", .string, optional: true)])
        change(&entity)
        return try ManagedObjectModel(entities: [entity])
    }

    private static func open(
        _ disk: MemoryFileSystem, _ model: ManagedObjectModel, pageSize: Int = 4_096, frameCeiling: Int? = 600,
        _ change: (inout Store.Options) -> Void = { _ in }
    ) throws -> PersistentContainer {
        var options = Store.Options()
        options.fileSystem = disk
        options.backgroundCheckpoints = false
        options.poolBytes = 128 * pageSize
        options.engine.pageSize = pageSize
        options.engine.frameCeiling = frameCeiling
        options.engine.checkpointLogBytes = 256 << 10
        options.migration = MigrationOptions()
        change(&options)
        return try PersistentContainer.over(try Store.open(.directory("notes.hornbeam"), model: model, options: options))
    }

    private static func fill(_ disk: MemoryFileSystem, _ count: Int, perSave: Int, pageSize: Int = 4_096, _ code: (Int) -> String) throws {
        let container = try open(disk, model(), pageSize: pageSize, frameCeiling: nil)
        let context = container.newContext()
        for number in 0 ..< count {
            try context.insert("Note", ["code": .string(code(number))])
            if number % perSave == perSave - 1 {
                try context.save()
                context.reset()
            }
        }
        try context.save()
        try container.close()
    }

    private static func scattered(_ number: Int) -> String {
        String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 16) + " and a long rest of a key"
    }

    @Test("MOD-9, MIG-2: an added fetch index contains all rows, with and without migration options", arguments: [true, false])
    func fetchIndexContainsAllRows(migrates: Bool) throws {
        let disk = MemoryFileSystem()
        let count = 20_000
        try Self.fill(disk, count, perSave: 500, Self.scattered)
        let indexed = try Self.model { $0.fetchIndexes = [FetchIndexDescription("code", [FetchIndexElement("code")])] }
        let container = try Self.open(disk, indexed, frameCeiling: nil) { options in
            if migrates { options.migration?.batchSize = 1_000 } else { options.migration = nil }
        }
        #expect(try container.openStore().check().problems == [])
        let request = try FetchRequest<ManagedObject>(entityName: "Note").where("code == %@", Self.scattered(4_321))
        #expect(try container.newContext().count(request) == 1)
        #expect(try container.newContext().explain(request).contains("index"))
        try container.close()
    }

    @Test(
        "MOD-9, MIG-2: the frames that building an index needs do not depend on the number of rows",
        arguments: [(10_000, true), (10_000, false), (20_000, true)])
    func anIndexIsBuiltInFewFrames(rows: Int, migrates: Bool) throws {
        let disk = MemoryFileSystem()
        try Self.fill(disk, rows, perSave: 500, Self.scattered)
        let indexed = try Self.model { $0.fetchIndexes = [FetchIndexDescription("code", [FetchIndexElement("code")])] }
        try Self.open(disk, indexed, frameCeiling: 600) { if !migrates { $0.migration = nil } }.close()
        // A check reads index entries while it holds a leaf of rows, so it needs more frames.
        let container = try Self.open(disk, indexed, frameCeiling: nil)
        #expect(try container.openStore().check().problems == [])
        let request = try FetchRequest<ManagedObject>(entityName: "Note").where("code == %@", Self.scattered(4_321))
        #expect(try container.newContext().count(request) == 1)
        try container.close()
    }

    @Test("MOD-9, PSC-20: a removed fetch index with many entries is dropped later, with and without migration options", arguments: [true, false])
    func removedFetchIndexIsDroppedLater(migrates: Bool) throws {
        let disk = MemoryFileSystem()
        let count = 21_000
        try Self.fill(disk, count, perSave: 500, Self.scattered)
        let indexed = try Self.model { $0.fetchIndexes = [FetchIndexDescription("code", [FetchIndexElement("code")])] }
        try Self.open(disk, indexed, frameCeiling: nil) { if !migrates { $0.migration = nil } }.close()
        let plain = try Self.open(disk, Self.model(), frameCeiling: nil) { if !migrates { $0.migration = nil } }
        #expect(try plain.openStore().hasDeferredMigration)
        try plain.openStore().finishDeferredMigration()
        #expect(try plain.openStore().check().problems == [])
        #expect(try plain.newContext().count(FetchRequest<ManagedObject>(entityName: "Note")) == count)
        try plain.close()
    }

    @Test("MOD-9, MIG-4: an added fetch index is in the plan, is reported, and can be cancelled; it needs no inference and makes no new version")
    func fetchIndexIsPlanned() throws {
        let store = try MigratedStore()
        try store.with(Self.model()) { (context) throws in for number in 0 ..< 100 { try context.insert("Note", ["code": .string("\(number)")]) } }
        let indexed = try Self.model { $0.fetchIndexes = [FetchIndexDescription("code", [FetchIndexElement("code")])] }
        #expect(
            try store.plan(indexed)?.description == """
                No stored object changes.
                index Note(code): built from the rows
                About 100 rows and entries and 2 MiB are written.
                """)
        func load(_ monitor: MigrationMonitor?) throws -> PersistentContainer {
            let container = try PersistentContainer(name: "indexed", model: indexed)
            var description = PersistentStoreDescription(url: store.url)
            description.shouldInferMappingModelAutomatically = false
            container.persistentStoreDescriptions = [description]
            try container.loadPersistentStores(migration: monitor)
            return container
        }
        let cancelled = MigrationMonitor()
        cancelled.cancel()
        #expect(hornbeamError { _ = try load(cancelled) }?.code == .migrationCancelled)
        try load(nil).close()
        #expect(try store.plan(indexed) == nil)
        try store.with(Self.model()) { (context) throws in #expect(try context.all("Note").count == 100) }
    }

    @Test("MOD-8, MIG-2: unique keys that are too long to be stored whole are built in transactions of limited size")
    func longUniqueKeysAreBuiltInSteps() throws {
        let disk = MemoryFileSystem()
        let count = 8_000
        func code(_ number: Int) -> String { Self.scattered(number) + String(repeating: "x", count: 1_200) + "\(number)" }
        try Self.fill(disk, count, perSave: 50, pageSize: 16_384, code)
        let container = try Self.open(disk, Self.model { $0.uniquenessConstraints = [["code"]] }, pageSize: 16_384)
        #expect(try container.openStore().check().problems == [])
        let context = container.newContext()
        try context.insert("Note", ["code": .string(code(777))])
        #expect(hornbeamError { try context.save() }?.code == .constraintConflict)
        try container.close()
    }

    @Test("MIG-2: a migration that takes longer than the age limit of snapshots completes", arguments: ["inferred", "code"])
    func ageLimitDoesNotEndMigration(kind: String) throws {
        let disk = MemoryFileSystem()
        let count = 6_000
        try Self.fill(disk, count, perSave: 500, Self.scattered)
        let second = try Self.model { entity in
            (entity.attributes[1].isOptional, entity.attributes[1].defaultValue) = (false, "none")
            entity.uniquenessConstraints = [["code"]]
        }
        let plan = try MigrationPlan([
            .custom(from: Self.model(), to: second) { migration in
                try migration.forEach("Note") { (_: ManagedObject, new: ManagedObject) in try new.setValue("none", forKey: "remark") }
            }
        ])
        // Each reading of the clock is ten seconds later.
        let clock = LeapingClock()
        let container = try Self.open(disk, second) { options in
            options.snapshotAgeMax = .seconds(1)
            options.engine.retention.clock = { clock.next() }
            options.engine.checkpointLogBytes = 64 << 10
            if kind == "code" {
                options.migration?.take(plan.versions)
                options.migration?.stages = plan.steps
            }
        }
        #expect(try container.openStore().check().problems == [])
        #expect(try container.newContext().count(FetchRequest<ManagedObject>(entityName: "Note").where("remark == 'none'")) == count)
        try container.close()
    }

    private final class LeapingClock: Sendable {
        private let now = Atomic<UInt64>(0)
        func next() -> UInt64 { now.wrappingAdd(10_000_000_000, ordering: .relaxed).newValue }
    }
}
