import Foundation
@testable import HornbeamEngine
@testable import HornbeamSimulation
import HornbeamModel
import HornbeamThreads
import Testing
@testable import HornbeamStore

/// Saves over several stores that two processes write. Two stacks with engines of their own stand for the processes.
@Suite("Saves of several processes over several stores") struct SharedStackTests {
    private static func saves(_ stack: TwoStores) throws -> [Int] {
        let snapshot = try stack.stack.snapshot()
        return try snapshot.parts.compactMap { part in try part?.count(FetchDescription(entityName: "Author")) }
    }

    @Test("SAV-11: processes save over two stores in turns, and each shows the saves of the other completely")
    func saveInTurns() throws {
        let disk = SimulatedDisk()
        let processes = try (0 ..< 2).map { _ in try TwoStores(on: disk, isShared: true) }
        for number in 1 ... 12 {
            try processes[number / 2 % 2].save(number)
            for process in processes { #expect(try Self.saves(process) == [number, number]) }
        }
        for process in processes { try process.close() }
        let alone = try TwoStores(on: disk)
        for store in alone.stack.stores {
            #expect(try TwoStores.saves(in: store) == 12)
            #expect(try store.check().isSound)
        }
        try alone.close()
    }

    /// The other process saves after the participant's snapshot was taken and before that of the coordinating store.
    @Test("SAV-11: a save between the snapshots of two stores is in both or in none")
    func saveBetweenSnapshots() throws {
        let disk = SimulatedDisk()
        let processes = try (0 ..< 2).map { _ in try TwoStores(on: disk, isShared: true) }
        try processes[0].save(1)
        var readings = 0
        let snapshot = try processes[1].stack.newestTogether { store in
            defer {
                if readings == 0 { #expect(throws: Never.self) { try processes[0].saveStoreByStore(2) } }
                readings += 1
            }
            return try store.snapshot()
        }
        #expect(readings == 4, "the snapshots were taken again")
        #expect(try snapshot.parts.compactMap { part in try part?.count(FetchDescription(entityName: "Author")) } == [2, 2])
        for process in processes { try process.close() }
    }

    /// Two processes. The first one has made save 1; all calls of the file system by the second one fail after some.
    static func processes(
        dyingAfter calls: Int
    ) throws -> (disk: SimulatedDisk, survivor: TwoStores, dying: TwoStores, faults: FaultInjector) {
        let disk = SimulatedDisk()
        let survivor = try TwoStores(on: disk, isShared: true)
        try survivor.save(1)
        let faults = FaultInjector(disk)
        let dying = try TwoStores(on: faults, isShared: true)
        faults.add(FaultRule(.fail(.inputOutput), after: calls, isSticky: true))
        return (disk, survivor, dying, faults)
    }

    /// Process 1 dies at a call of the file system: every call of its second and third save is tried.
    @Test("SAV-11: a process dies at a call of the file system; the other one reads and saves complete states", arguments: 0 ..< 4)
    func deathAtACall(part: Int) throws {
        var after = part
        while true {
            let (disk, survivor, dying, faults) = try Self.processes(dyingAfter: after)
            var acknowledged = 1
            do {
                for number in 2 ... 3 {
                    try dying.save(number)
                    acknowledged = number
                }
            } catch {}
            let died = faults.firedCount > 0
            for store in dying.stack.stores { store.engine.sharing?.turn.lock.release() }
            let found = try Self.saves(survivor)
            #expect(found[0] == found[1] && found[0] >= acknowledged && found[0] <= acknowledged + 1, "call \(after): \(found)")
            // The outcome of a save that was in progress is decided by the next writer.
            try survivor.stack.completeInterruptedSaves()
            let next = try Self.newest(survivor) + 1
            #expect(next > found[0] && next <= acknowledged + 2, "call \(after)")
            try survivor.save(next)
            #expect(try Self.saves(survivor) == [next, next], "call \(after)")
            try survivor.close()
            withExtendedLifetime(dying) {}
            let alone = try TwoStores(on: disk)
            for store in alone.stack.stores {
                #expect(try TwoStores.saves(in: store) == next, "call \(after)")
                #expect(try store.check().isSound)
            }
            try alone.close()
            if !died { break }
            after += 4
        }
        #expect(after > 40)
    }

    /// Process 1 dies at a call of the file system in its save, and has prepared its part.
    @Test("SAV-11: a batch completes the save over two stores of a process that died")
    func batchAfterADeath() throws {
        var batches = 0
        var after = 0
        while true {
            let (_, survivor, dying, faults) = try Self.processes(dyingAfter: after)
            try? dying.save(2)
            for store in dying.stack.stores { store.engine.sharing?.turn.lock.release() }
            for store in survivor.stack.stores {
                _ = try store.refresh()
                guard try store.preparedPart() != nil else { continue }
                batches += 1
                let born = store.model.entitiesByName["Author"]!.propertiesByName["born"]!
                let batch = BatchUpdate(
                    request: FetchDescription(entityName: "Author"), assignments: [.init(born, try FetchExpression(format: "1900"))])
                let count = try survivor.stack.completingTwoPhaseCommits { try store.update(batch) }.count
                #expect(count == (try Self.newest(survivor)), "call \(after)")
            }
            try survivor.close()
            withExtendedLifetime(dying) {}
            if faults.firedCount == 0 { break }
            after += 3
        }
        #expect(batches > 4)
    }

    /// The number of saves in the version that the next transaction changes.
    private static func newest(_ process: TwoStores) throws -> Int {
        try Store.withTurns(of: process.stack.stores) { try saves(process)[0] }
    }

    /// Two processes, of which the second one has migrated the store. `beforeMigration` is called with the store of the first one.
    private static func migrated<R>(on disk: SimulatedDisk, _ beforeMigration: (Store) throws -> R) throws -> (old: Store, new: Store, result: R) {
        func open(_ model: ManagedObjectModel) throws -> Store {
            var options = Store.Options()
            options.isShared = true
            options.fileSystem = disk
            options.backgroundCheckpoints = false
            options.migration = MigrationOptions()
            return try Store.open(.directory("s.hornbeam"), model: model, options: options)
        }
        let models = try [false, true].map { hasNickname in
            try ManagedObjectModel {
                Entity("Author") {
                    Attribute<String?>("name")
                    if hasNickname { Attribute<String?>("nickname") }
                }
            }
        }
        let old = try open(models[0])
        let result = try beforeMigration(old)
        return (old, try open(models[1]), result)
    }

    @Test("a process whose model is old closes the store as the last one, with a checkpoint")
    func modelIsOldAtTheEnd() throws {
        let disk = SimulatedDisk()
        let (old, new, _) = try Self.migrated(on: disk) { _ in }
        try new.close()
        try old.close()
        #expect(try disk.list("s.hornbeam").allSatisfy { $0 == "meta" || $0 == "lock" || $0.hasPrefix("pages-") })
    }

    @Test("a process whose model is old reads its last state, and its saves are refused", arguments: [false, true])
    func modelChangesBesideAnotherProcess(hasSnapshot: Bool) throws {
        let (old, new, snapshot) = try Self.migrated(on: SimulatedDisk()) { store -> StoreSnapshot? in hasSnapshot ? try store.snapshot() : nil }
        let entity = try #require(old.model.entitiesByName["Author"])
        var changes = ChangeSet()
        changes.inserts = [.init(entity: entity, key: 77, values: [])]
        let refused = #expect(throws: HornbeamError.self) { _ = try old.save(changes) }
        #expect(refused?.code == .modelMismatch)
        if let snapshot {
            #expect(try old.snapshot() === snapshot)
        } else {
            let unreadable = #expect(throws: HornbeamError.self) { _ = try old.snapshot() }
            #expect(unreadable?.code == .modelMismatch)
        }
        try old.close()
        #expect(try new.check().isSound)
        try new.close()
    }

    // MARK: Saves in doubt

    private static func open(on disk: any FileSystem, isShared: Bool = true) throws -> Store {
        var options = Store.Options()
        options.isShared = isShared
        options.fileSystem = disk
        options.backgroundCheckpoints = false
        options.history = .standard
        return try Store.open(.directory("s.hornbeam"), model: libraryModel, options: options)
    }

    private static func save(_ store: Store, _ name: String) throws {
        let author = store.model.entitiesByName["Author"]!
        var changes = ChangeSet()
        changes.inserts = [.init(entity: author, key: try store.reserveKeys(1), values: [(author.propertiesByName["name"]!, .string(name))])]
        _ = try store.save(changes)
    }

    /// The number of the later save is that of the lost one, and its process has the same identifier.
    @Test("SAV-8: a save in doubt is not taken for a later one with its number", arguments: [false, true])
    func doubtAndALaterSave(isShared: Bool) throws {
        let faults = FaultInjector(SimulatedDisk())
        let first = try Self.open(on: faults, isShared: isShared)
        try Self.save(first, "a")
        faults.add(FaultRule(.fail(.inputOutput), calls: [.write], kind: .log))
        let doubt = try #require(#expect(throws: InDoubtSave.self) { try Self.save(first, "lost") })
        faults.removeRules()
        try? first.close()
        let second = try Self.open(on: faults, isShared: isShared)
        try Self.save(second, "other")
        let stack = StoreStack([StoreStack.Part(second)])
        #expect(try stack.outcome(of: doubt) == .dropped)
        try second.close()
    }

    /// The process had the key before the sync at its hand-over failed. A save of the second object with the key would have ended its process.
    @Test("two processes never get the same key, also if a sync fails")
    func keysAfterAFailedSync() throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let (first, second) = (try Self.open(on: faults), try Self.open(on: disk))
        faults.add(FaultRule(.failSyncRevertingToOld, calls: [.sync], kind: .log, isSticky: true))
        let key = try? first.reserveKeys(1)
        faults.removeRules()
        #expect(try second.reserveKeys(1) != key)
        try? first.close()
        try second.close()
    }

    /// The first key of the next opening, after a failed sync has lost the commits of the store.
    private static func firstKey(after store: Store, losingCommitsOn disk: SimulatedDisk, _ faults: FaultInjector) throws -> UInt64 {
        faults.add(FaultRule(.failSyncRevertingToOld, calls: [.sync], kind: .log, isSticky: true))
        #expect(throws: HornbeamError.self) { try store.checkpoint() }
        try? store.close()
        faults.removeRules()
        let next = try open(on: disk, isShared: false)
        let key = try next.reserveKeys(1)
        try next.close()
        return key
    }

    @Test("a store that is opened again after a failed sync returns no key twice")
    func keysOfTheNextOpening() throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let store = try Self.open(on: faults, isShared: false)
        let key = try store.reserveKeys(1)
        #expect(try Self.firstKey(after: store, losingCommitsOn: disk, faults) > key)
    }

    @Test("a store that is opened again after a failed sync returns no key of a lost batch again")
    func keysOfALostBatch() throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let store = try Self.open(on: faults, isShared: false)
        let author = try #require(store.model.entitiesByName["Author"])
        var options = BatchWriter.Options()
        options.durability = .lazy(maxDelay: .seconds(1))
        let writer = try store.batchWriter(for: author, options: options)
        try writer.set(#require(author.propertiesByName["name"]), "lost")
        let key = try writer.append()
        try writer.finish()
        #expect(try Self.firstKey(after: store, losingCommitsOn: disk, faults) > key)
    }

    /// Without its record in the history, the save counted as lost, and the context wrote its changes twice.
    @Test("SAV-8: the outcome of a save in doubt is unknown after its record was purged")
    func doubtAndAPurge() throws {
        let faults = FaultInjector(SimulatedDisk())
        let first = try Self.open(on: faults)
        try Self.save(first, "a")
        faults.add(FaultRule(.failSyncKeepingNew, calls: [.sync], kind: .log))
        let doubt = try #require(#expect(throws: InDoubtSave.self) { try Self.save(first, "kept") })
        faults.removeRules()
        try? first.close()
        let second = try Self.open(on: faults)
        let stack = StoreStack([StoreStack.Part(second)])
        #expect(try stack.outcome(of: doubt) == .kept)
        try second.purgeHistory(through: second.latestTransaction)
        #expect(try stack.outcome(of: doubt) == .unknown)
        try second.close()
    }

    /// The commits are in a checkpoint, so the reader reads their history from the disk after it has changed to the new version.
    @Test("when history cannot be read, observers learn that anything may have changed", arguments: 0 ..< 8)
    func unreadableHistory(after calls: Int) throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let writer = try Self.open(on: disk)
        try Self.save(writer, "a")
        let reader = try Self.open(on: faults)
        let seen = Guarded<[StoreChange]>([])
        let observation = reader.observe { change in seen.withLock { $0.append(change) } }
        var commits: [UInt64] = []
        for fails in [true, false] {
            try Self.save(writer, "commit \(commits.count)")
            commits.append(writer.engine.latest.rawValue)
            try writer.engine.checkpoint()
            if fails { faults.add(FaultRule(.fail(.inputOutput), calls: [.read], kind: .pages, after: calls, isSticky: true)) }
            do { _ = try reader.refresh() } catch { #expect(fails, "\(error)") }
            faults.removeRules()
        }
        let changes = seen.withLock { $0 }
        for commit in commits {
            #expect(changes.contains { $0.isUnknown ? $0.transaction >= commit : $0.transaction == commit }, "\(commit) of \(changes.map(\.transaction))")
        }
        withExtendedLifetime(observation) {}
        try reader.close()
        try writer.close()
    }
}
