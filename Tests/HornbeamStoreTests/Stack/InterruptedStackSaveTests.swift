import Foundation
import HornbeamEngine
import HornbeamModel
import HornbeamSimulation
import HornbeamThreads
import Testing
@testable import HornbeamStore

/// Interrupted saves over several stores are completed, and their commit records removed, beside other threads and processes.
@Suite struct InterruptedStackSaveTests {
    private struct Trial {
        let parts: [Interleaving.Part]
        /// Judges the stores after the threads have ended.
        let judge: () throws -> Void
    }

    /// Runs two threads, and stops the first one at each of some points until the second one waits or ends.
    private func runPreempted(_ prepare: () throws -> Trial) throws {
        func run(_ schedule: Schedule) throws -> Int {
            let interleaving = Interleaving(schedule)
            let trial = try prepare()
            let outcome = interleaving.run(trial.parts)
            if let reason = outcome.stopReason { throw TwoStores.Torn(description: "\(schedule): \(reason)") }
            #expect(outcome.failures.map { "\($0.name): \($0.error)" } == [], "\(schedule)")
            try trial.judge()
            return outcome.points
        }
        let points = try run(Schedule())
        for point in stride(from: 0, to: points, by: max(points / 80, 1)) {
            _ = try run(Schedule(preemptions: [Schedule.Preemption(point: point, target: 0)]))
        }
    }

    ///     saver                         completer
    ///     takes the writer's turn
    ///                                   takes the lock of publications
    ///     waits for that lock           waits for the writer's turn
    @Test("SAV-11: commit records are removed beside a save over two stores", arguments: [false, true])
    func removalBesideASave(isShared: Bool) throws {
        try runPreempted {
            let stores = try TwoStores(on: SimulatedDisk(), isShared: isShared)
            try stores.save(1)
            // The record of a former process.
            let (coordinating, participant) = stores.roles
            let transaction = try stores.stack.stores[coordinating].engine.begin()
            let participants = [UInt8](stores.stack.stores[participant].identifier.uuidString.utf8)
            try transaction.setValue(StoredValue.decision(UUID()), participants)
            _ = try transaction.commit(.full)
            let parts = [Interleaving.Part("saver") { try stores.save(2) }, Interleaving.Part("completer") { try stores.stack.completeInterruptedSaves() }]
            return Trial(parts: parts) {
                #expect(try stores.newestSaves() == [2, 2])
                try stores.close()
            }
        }
    }

    @Test("SAV-11: two threads that complete an interrupted save apply it once")
    func twoThreadsApplyOnce() throws {
        let disk = try TwoStores.interrupted(isCommitted: true)
        try runPreempted {
            let copy = disk.copy()
            let stores = try TwoStores.names.map { try TwoStores.open($0, copy) }
            let stack = StoreStack(stores.map { StoreStack.Part($0) })
            let parts = (0 ..< 2).map { number in Interleaving.Part("completer \(number)") { try stack.completeInterruptedSaves() } }
            return Trial(parts: parts) {
                #expect(try stores.map(TwoStores.saves) == [2, 2])
                for store in stores { try store.close() }
            }
        }
    }

    /// The process died after the commit record and before the part of the second store. This process shows an older state of the store with the record.
    @Test("SAV-11: a store that is open for reading does not decide by an old state", arguments: 0 ..< 4)
    func decisionBesideAReader(part: Int) throws {
        var after = part
        while true {
            let (disk, survivor, dying, faults) = try SharedStackTests.processes(dyingAfter: after)
            let (coordinating, participant) = survivor.roles
            let reader = try TwoStores.open(TwoStores.names[coordinating], disk, readOnly: true)
            let writer = try TwoStores.open(TwoStores.names[participant], disk, isShared: true)
            try? dying.save(2)
            dying.die()
            _ = try writer.refresh()
            try StoreStack([StoreStack.Part(reader), StoreStack.Part(writer)]).completeInterruptedSaves()
            _ = try survivor.newestSaves()
            try survivor.stack.completeInterruptedSaves()
            let found = try survivor.newestSaves()
            #expect(found[0] == found[1], "call \(after): \(found)")
            for store in [reader, writer] { try store.close() }
            try survivor.close()
            withExtendedLifetime(dying) {}
            if faults.firedCount == 0 { break }
            after += 4
        }
        #expect(after > 8)
    }

    /// The process has keys in reserve, so it takes the turn only for the save itself.
    @Test("SAV-11: a process with one of the stores saves again after another process has completed the save")
    func doubtThatAnotherProcessEnds() throws {
        var doubts = 0
        var after = 0
        while true {
            let (disk, survivor, dying, faults) = try SharedStackTests.processes(dyingAfter: after)
            let store = try TwoStores.open(TwoStores.names[survivor.roles.participant], disk, isShared: true)
            let alone = StoreStack([StoreStack.Part(store)])
            let key = try store.reserveKeys(2)
            try? dying.save(2)
            dying.die()
            do { try Self.insert(key, alone) } catch let error as HornbeamError where error.code == .incompleteSave {
                doubts += 1
                _ = try survivor.newestSaves()
                try survivor.stack.completeInterruptedSaves()
                #expect(throws: Never.self, "call \(after)") { try Self.insert(key + 1, alone) }
            }
            try store.close()
            try survivor.close()
            withExtendedLifetime(dying) {}
            if faults.firedCount == 0 { break }
            after += 1
        }
        #expect(doubts > 2)
    }

    private static func insert(_ key: UInt64, _ stack: StoreStack) throws {
        let author = try stack.firstStore().model.entitiesByName["Author"]!
        var changes = StackChanges(in: stack, by: ChangeSet())
        changes[stack.slots[0]].inserts = [.init(entity: author, key: key, values: [(author.propertiesByName["name"]!, .string("alone \(key)"))])]
        _ = try stack.save(changes)
    }
}
