import HornbeamModel
import HornbeamStore
import Testing
@testable import Hornbeam

@Suite("Commits that contexts have not merged") struct ChangeLogTests {
    /// The expected content of a change queue, as a list of its own.
    private struct Expected {
        var transactions: [UInt64] = []
        var weight = 0
        var isOverflowing = false
    }

    @Test("a position in the shared log returns the commits that a separate list would, and reports when commits were dropped", arguments: 0..<40)
    func placesGiveWhatListsWould(seed: Int) throws {
        let store = try Parity.stack(.inMemory).container.persistentStoreCoordinator.stack.firstStore()
        var random = SplitMix(UInt64(seed))
        let limit = 40
        let broadcast = ChangeBroadcast(limit: limit)
        var inboxes: [UInt64: (changeQueue: ChangeQueue, expected: Expected)] = [:]
        var transaction: UInt64 = 0
        for step in 0..<600 {
            let owner = UInt64.random(in: 1...5, using: &random)
            switch (Int.random(in: 0..<12, using: &random), inboxes[owner]) {
            case (0, nil):
                let changeQueue = ChangeQueue(broadcast, owner: owner)
                broadcast.subscribe(changeQueue)
                inboxes[owner] = (changeQueue, Expected())
            case (0, let known?):
                broadcast.unsubscribe(known.changeQueue)
                inboxes[owner] = nil
            case (1...3, let known?):
                let delivery = known.changeQueue.drain()
                let expected = known.expected
                #expect(delivery.isOverflowing == expected.isOverflowing, "seed \(seed), step \(step)")
                #expect(
                    delivery.changes.map(\.transaction) == (expected.isOverflowing ? [] : expected.transactions),
                    "seed \(seed), step \(step)")
                #expect(known.changeQueue.isEmpty)
                inboxes[owner]?.expected = Expected()
            case (4, let known?):
                known.changeQueue.skip()
                inboxes[owner]?.expected = Expected()
            case (5, let known?) where step % 7 == 0:
                known.changeQueue.overflow()
                inboxes[owner]?.expected.isOverflowing = true
            case (6, _) where step % 11 == 0:
                broadcast.publishUnknownState()
                for key in inboxes.keys { inboxes[key]?.expected.isOverflowing = true }
            default:
                transaction += 1
                var change = StoreChange()
                change.transaction = transaction
                change.originator = owner
                change.inserted = (0..<UInt64.random(in: 0...9, using: &random)).map { ObjectReference(entityIndex: 0, key: $0 + 1) }
                if inboxes.keys.contains(where: { $0 != owner }) {
                    for key in inboxes.keys {
                        // A context that has merged all commits is not delayed by its own.
                        if key == owner, inboxes[key]?.expected.weight == 0, inboxes[key]?.expected.isOverflowing == false { continue }
                        if key != owner { inboxes[key]?.expected.transactions.append(transaction) }
                        inboxes[key]?.expected.weight += change.count + 1
                        if (inboxes[key]?.expected.weight ?? 0) > limit { inboxes[key]?.expected.isOverflowing = true }
                    }
                }
                broadcast.publish(change, of: store)
            }
        }
    }

    @Test("commits that all contexts have merged are released") func mergedCommitsAreReleased() {
        var log = ChangeLog(limit: 1000)
        for number in 0..<100 as Range<UInt64> {
            var change = StoreChange()
            change.transaction = number
            log.append(change)
            if number % 10 == 9 { log.drop(before: number - 3) }
        }
        #expect(log.start == 96 && log.end == 100 && log.weight == 4)
        #expect(log.changes(from: 98)?.map(\.transaction) == [98, 99])
        #expect(log.changes(from: 95) == nil)
        log.forget()
        #expect(log.changes(from: 100) == nil && log.changes(from: 101)?.isEmpty == true && log.weight == 0)
    }

    /// A broadcast with two contexts, of which the first saves.
    private func pair(limit: Int) throws -> (save: (Int) -> Void, own: ChangeQueue, other: ChangeQueue, broadcast: ChangeBroadcast) {
        let store = try Parity.stack(.inMemory).container.persistentStoreCoordinator.stack.firstStore()
        let broadcast = ChangeBroadcast(limit: limit)
        let inboxes = (1...2 as ClosedRange<UInt64>).map { ChangeQueue(broadcast, owner: $0) }
        for changeQueue in inboxes { broadcast.subscribe(changeQueue) }
        func save(_ count: Int) {
            var change = StoreChange()
            change.originator = 1
            change.inserted = (0..<count).map { ObjectReference(entityIndex: 0, key: UInt64($0) + 1) }
            broadcast.publish(change, of: store)
        }
        return (save, inboxes[0], inboxes[1], broadcast)
    }

    @Test("a context's own save, however large, is nothing that it has missed") func ownSavesAreNotMissed() throws {
        let pair = try pair(limit: 40)
        pair.save(100)
        #expect(pair.own.isEmpty && pair.own.drain().isEmpty)
        #expect(pair.other.drain().isOverflowing)
        #expect(pair.other.isEmpty)
    }

    @Test("after a context has been idle too long the log is released, whether the context continues or not") func sleepersHoldNothing() throws {
        let pair = try pair(limit: 4_000)
        for _ in 0..<5_000 { pair.save(1) }
        #expect(pair.broadcast.weight < 600, "who has missed something needs none of it")
        #expect(pair.other.drain().isOverflowing)
        for _ in 0..<1_000 {
            pair.save(1)
            #expect(pair.other.drain().changes.count == 1)
        }
        #expect(pair.broadcast.weight < 600)
    }

    // In a process of its own: after notification names are requested, contexts search for changes to publish.
    @Test("a context that only inserts and saves reads no state of the store, and shows what it saved")
    func savingAloneReadsNoState() async {
        await #expect(processExitsWith: .success) {
            let stack = try Parity.stack(.onDisk)
            let context = stack.newContext()
            let others = stack.newContext()
            let object = PEntity(context: context)
            object.name = "mine"
            _ = PEntity(context: others)
            try others.save()
            try context.save()
            #expect(context.snapshot == nil && context.merging.changeQueue.isEmpty)
            #expect(object.name == "mine" && context.snapshot != nil)
            try others.existingObject(PEntity.self, with: object.objectID).name = "theirs"
            try others.save()
            #expect(object.name == "mine")
            try context.mergeChanges()
            #expect(object.name == "theirs")
        }
    }
}
