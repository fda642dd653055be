import Foundation
import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore
import Testing

/// Custom stages on a disk that crashes at every operation or is full: the store has the complete old or new version.
@Suite struct MigrationCrashTests {
    struct Wrong: Error, CustomStringConvertible { let description: String }

    private static let first = try! ManagedObjectModel {
        Entity("Person") {
            Attribute("name", .string, unique: true)
            Attribute("city", .string, optional: true)
            ToMany("friends", to: "Person", inverse: "friends")
        }
    }
    private static let second = try! ManagedObjectModel {
        Entity("Person") {
            Attribute("name", .string, unique: true)
            ToOne("city", to: "City", inverse: "people")
            ToMany("friends", to: "Person", inverse: "friends")
        }
        Entity("City") {
            Attribute("name", .string, unique: true)
            ToMany("people", to: "Person", inverse: "city")
        }
    }
    private static let count = 40

    private static func plan() throws -> MigrationPlan {
        try MigrationPlan([
            .custom(
                from: first, to: second, label: "cities",
                willMigrate: { old in
                    for person in try old.fetch(FetchRequest<ManagedObject>(entityName: "Person").where("city == 'nowhere'")) {
                        try person.setValue(.null, forKey: "city")
                    }
                },
                didMigrate: { migration in
                    migration.batchSize = 8
                    try migration.forEach("Person") { (old: ManagedObject, new: ManagedObject) in
                        guard case .string(let name) = try old.value(forKey: "city") else { return }
                        let known = try migration.destination.fetch(FetchRequest<ManagedObject>(entityName: "City").where("name == %@", name)).first
                        let city = try known ?? migration.destination.insert(entityNamed: "City")
                        try city.setValue(.string(name), forKey: "name")
                        try new.setValue(city, forKey: "city")
                    }
                })
        ])
    }

    private static func open(_ disk: any FileSystem, _ model: ManagedObjectModel, _ plan: MigrationPlan?) throws -> PersistentContainer {
        var options = Store.Options()
        options.fileSystem = disk
        options.backgroundCheckpoints = false
        options.poolBytes = 1 << 20
        options.engine.pageSize = 4_096
        options.engine.checkpointLogBytes = 60_000
        options.engine.log = LogOptions(firstSegmentBytes: 32_768, largestSegmentBytes: 65_536)
        if let plan {
            var migration = MigrationOptions()
            migration.batchSize = 16
            migration.versions = plan.versions.versions
            migration.stages = plan.steps
            options.migration = migration
        }
        return try PersistentContainer.over(try Store.open(.directory("people.hornbeam"), model: model, options: options))
    }

    private static func fill(_ disk: SimulatedDisk) throws {
        let container = try open(disk, first, nil)
        try container.write { context in
            var people: [ManagedObject] = []
            for number in 0 ..< count {
                let city: PropertyValue = number % 10 == 9 ? "nowhere" : .string("city \(number % 3)")
                people.append(try context.insert("Person", ["name": .string("\(number)"), "city": city]))
            }
            for number in 1 ..< count { try people[number].setValue(.set([.objectID(people[number - 1].objectID)]), forKey: "friends") }
        }
        try container.close()
    }

    /// Throws unless the store has one of the versions completely; returns true for the new one.
    private static func judge(_ disk: SimulatedDisk) throws -> Bool {
        if let old = try? open(disk, first, nil) {
            let context = old.newContext()
            let isWhole = try context.all("Person").count == count
                && context.count(FetchRequest<ManagedObject>(entityName: "Person").where("city == 'nowhere'")) == 4
                && context.count(FetchRequest<ManagedObject>(entityName: "Person").where("ANY friends.name == '7'")) == 2
            guard isWhole, try old.openStore().check().isSound else { throw Wrong(description: "the old version is not whole") }
            try old.close()
            return false
        }
        let new = try open(disk, second, nil)
        let context = new.newContext()
        let isWhole = try context.all("Person").count == count && context.all("City").count == 3
            && context.count(FetchRequest<ManagedObject>(entityName: "Person").where("city == nil")) == 4
            && context.count(FetchRequest<ManagedObject>(entityName: "Person").where("ANY friends.name == '7'")) == 2
        guard isWhole, try new.openStore().check().isSound else { throw Wrong(description: "the new version is not whole") }
        try new.close()
        return true
    }

    @Test("C-8, N-11: a crash at any moment of a custom stage leaves the old version or the new one, and the next opening finishes it")
    func crashesLeaveOneVersion() throws {
        let disk = SimulatedDisk()
        try Self.fill(disk)
        var enumerator = CrashEnumerator(seed: 19)
        enumerator.subsetsUpTo = 1
        enumerator.randomImagesPerPoint = 1
        enumerator.start = disk.operationCount
        enumerator.stride = 11
        let plan = try Self.plan()
        var versions = [0, 0]
        let report = try enumerator.run(on: disk) { disk in
            try Self.open(disk, Self.second, plan).close()
        } verify: { image in
            let isNew = try Self.judge(image.disk)
            versions[isNew ? 1 : 0] += 1
            guard !isNew, versions[0] % 16 == 0 else { return }
            try Self.open(image.disk, Self.second, plan).close()
            guard try Self.judge(image.disk) else { throw Wrong(description: "the migration was not taken up again") }
        }
        print("crashes of a custom stage: \(report), \(versions[0]) old, \(versions[1]) new")
        #expect(versions[0] > 20 && versions[1] > 0)
    }

    @Test("C-8: a disk that becomes full at any call of a custom stage is an error, and the store stays one version, whole")
    func fullDiskLeavesOneVersion() throws {
        let filled = SimulatedDisk()
        try Self.fill(filled)
        let plan = try Self.plan()
        var (failures, calls) = (0, 0)
        while true {
            let disk = filled.copy()
            let faults = FaultInjector(disk)
            faults.add(FaultRule(.fail(.full), calls: [.write, .create], after: calls, isSticky: true))
            var error: HornbeamError?
            do { try Self.open(faults, Self.second, plan).close() } catch let found as HornbeamError { error = found }
            if faults.firedCount == 0 { break }
            let isNew = try Self.judge(disk)
            // A failure after the switch, when the store is closed, does not revert it.
            if let error, !isNew {
                failures += 1
                #expect(error.code == .full, "\(calls) calls: \(error)")
                try Self.open(disk, Self.second, plan).close()
                #expect(try Self.judge(disk))
            } else {
                #expect(isNew, "\(calls) calls: no error, and the old version")
            }
            calls += 1
        }
        print("full disks during a custom stage: \(calls) calls, \(failures) failures")
        #expect(failures > 5)
    }

    @Test("N-11: a stage that will not fit on the disk is refused before it begins")
    func spaceIsCheckedBefore() throws {
        let disk = SimulatedDisk()
        try Self.fill(disk)
        disk.capacity = disk.used + 600_000
        let operations = disk.operationCount
        let error = try #require(hornbeamError { _ = try Self.open(disk, Self.second, Self.plan()) })
        #expect(error.code == .full && error.message.contains("are free. The store stays at "))
        #expect(disk.operationCount - operations < 40)
        disk.capacity = nil
        #expect(try !Self.judge(disk))
    }
}
