import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore
import Testing

@testable import CrashHarness

/// Chains of random versions, compared with the simple migration of plain objects.
@Suite struct MigrationHistoryTests {
    @Test("MIG-2: random chains of versions give the same objects as a simple migration in memory", arguments: 1 ... 16 as ClosedRange<UInt64>)
    func chainsOfVersionsKeepObjects(seed: UInt64) throws {
        let history = try MigrationHistory(seed: seed)
        for _ in 0 ..< 5 { try history.step() }
        #expect(history.migrations == 5)
    }

    @Test("MIG-2: in one version an attribute becomes required or optional once, and a chain never returns to an earlier version, which would be refused")
    func chainsOfVersionsAreMigratable() throws {
        var version = RandomVersion(seed: 748000502663)
        var chain = [try version.model().versionChecksum]
        for _ in 0 ..< 200 {
            try version.evolve()
            let checksum = try version.model().versionChecksum
            if checksum != chain[chain.count - 1] { chain.append(checksum) }
            expectOneChangeOfOptionality(version)
        }
        #expect(Set(chain).count == chain.count)
    }

    private func expectOneChangeOfOptionality(_ version: RandomVersion) {
        var oldNames: [Substring: Substring] = [:]
        var changed: Set<Substring> = []
        for edit in version.edits {
            let words = edit.split(separator: " ")
            let name = words.count > 2 ? words[words[0] == "rename" ? 1 : 0].split(separator: ".").last! : ""
            if words[0] == "rename", words.count == 4 { oldNames[words[3]] = name }
            guard words.count == 3, words[1] == "is", ["required", "optional"].contains(words[2]) else { continue }
            #expect(changed.insert(oldNames[name] ?? name).inserted, "\(version.edits)")
        }
    }

    @Test("MOD-13: random chains contain versions of equal checksums in which attributes exchange their names")
    func chainsExchangeNames() throws {
        var exchanges = 0
        for seed: UInt64 in 1 ... 100 {
            var version = RandomVersion(seed: seed)
            for _ in 0 ..< 5 {
                try version.evolve()
                exchanges += version.edits.count { $0.hasPrefix("exchange ") }
            }
        }
        #expect(exchanges > 0)
    }

    private static func run(_ mode: any Mode.Type, _ words: [String]) throws -> Run {
        let run = try Run(mode, try HarnessOptions([mode.name] + words))
        #expect(try run.perform() == 0)
        return run
    }

    @Test("MIG-1: a migration of which any call fails, with a full disk among others, leaves the old version or the new one, whole")
    func failingCallsLeaveAVersion() throws {
        let run = try Run(SimulateMode.self, try HarnessOptions(["simulate", "--seed", "48", "--count", "1000000"]))
        try MigrationFaultTrial.all(seed: 48, run)
        #expect(run.figures["failing calls of migrations", default: 0] > 50, "\(run.figures)")
    }

    @Test("MIG-11: a stage with code of which any call fails leaves the old version or the new one, whole")
    func failingCallsOfCodeLeaveAVersion() throws {
        let run = try Run(SimulateMode.self, try HarnessOptions(["simulate", "--seed", "57", "--count", "1000000"]))
        try MigrationFaultTrial.all(seed: 57, every: 17, run)
        #expect(run.figures["stages with code failed at every call"] == 1, "\(run.figures)")
        #expect(run.figures["failing calls of migrations", default: 0] > 10, "\(run.figures)")
    }

    @Test("MIG-11: a stage with code does to a store what its counterpart does to plain objects", arguments: 1 ... 24 as ClosedRange<UInt64>)
    func stagesWithCodeEqualPlainObjects(seed: UInt64) throws {
        let history = try MigrationHistory(seed: seed)
        let next = try NextVersion(after: history.version, stage: seed)
        guard let plan = try next.plan(from: history.version) else { return }
        let fileSystem = MemoryFileSystem()
        let filled = try MigrationHistory(seed: seed, fileSystem)
        #expect(filled.version.plain == history.version.plain)
        let container = try MigrationHistory.open(try next.version.model(), fileSystem, plan: plan)
        let found = try container.performAndWait { try PlainObjects.read($0, container.managedObjectModel) }
        #expect(found.difference(to: next.version.plain) == nil)
        #expect(try container.openStore().check().isSound)
        try container.close()
    }

    @Test("MIG-1: a migration for which the disk has no room is refused before anything is written")
    func fullDiskIsFoundBeforehand() throws {
        let disk = SimulatedDisk()
        func model(optional: Bool) throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [
                Entity("Note", attributes: [AttributeDescription("text", .string, optional: optional, default: optional ? .null : "none")])
            ])
        }
        let container = try MigrationHistory.open(try model(optional: true), disk)
        try container.performAndWait { context in
            for _ in 0 ..< 10 { _ = try context.insert(entityNamed: "Note") }
            try context.save()
        }
        try container.close()
        disk.capacity = disk.used + 8_192
        let (files, operations) = (disk.files, disk.operationCount)
        let error = #expect(throws: HornbeamError.self) { try MigrationHistory.open(try model(optional: false), disk) }
        #expect(error?.code == .full)
        #expect(error?.message.contains("MiB are free. The store stays at ") == true)
        #expect(disk.files == files, "\(disk.operationCount - operations) operations")
        disk.capacity = nil
        let migrated = try MigrationHistory.open(try model(optional: false), disk)
        #expect(try migrated.performAndWait { try $0.count(FetchRequest<ManagedObject>(entityName: "Note", predicate: FetchPredicate(format: "text == 'none'"))) } == 10)
        try migrated.close()
    }

    @Test("MIG-1: crashes of migrations, damage to migrated stores, and processes killed while they migrate lose nothing")
    func migrationsJoinTheModes() throws {
        let images = try Self.run(SimulateMode.self, ["--only", "migrations", "--seed", "1", "--count", "300"])
        #expect(images.figures["crash images of migrations", default: 0] == 300)
        let damaged = try Self.run(FlipMode.self, ["--seed", "3", "--count", "400"])
        #expect(damaged.figures["damaged stores that were migrated", default: 0] == 400)
        let kills = try Self.run(KillMode.self, ["--seed", "4", "--count", "6"])
        #expect(kills.figures["kills inside migrations", default: 0] + kills.figures["kills between migrations", default: 0] == 6)
        let coded = try Self.run(SimulateMode.self, ["--only", "migrations", "--seed", "24", "--count", "80"])
        #expect(coded.figures["crash images of stages with code", default: 0] == 80)
        let damagedByCode = try Self.run(FlipMode.self, ["--only", "migrations", "--seed", "7", "--count", "80"])
        #expect(damagedByCode.figures["damaged stores that were migrated", default: 0] == 80)
        #expect(try MigratedSmallStore(seed: 7).hasStage && !MigratedSmallStore(seed: 3).hasStage)
        #expect(throws: UsageError("--only takes 'migrations', not 'graphs'")) {
            try Run(KillMode.self, HarnessOptions(["kill", "--only", "graphs"])).isForMigrations
        }
    }
}
