@testable import HornbeamEngine
import HornbeamModel
import HornbeamSimulation
import Testing
@testable import HornbeamStore

/// Batches in a store that two processes write. Two engines stand for the processes.
@Suite("Batches beside another process") struct SharedBatchTests {
    private static func open(_ disk: any FileSystem) throws -> Library {
        let model = try ManagedObjectModel {
            Entity("Item") {
                Attribute("text", .string, optional: true)
                Attribute("amount", .integer64)
            }
        }
        var options = Store.Options()
        options.isShared = true
        options.fileSystem = disk
        options.backgroundCheckpoints = false
        options.engine.pageSize = 1_024
        return Library(try Store.open(.directory("items.hornbeam"), model: model, options: options))
    }

    /// After a checkpoint of the other process, a process reads the tree again. Its leaves may have other limits than those of the snapshot that it
    /// had of the same transaction.
    @Test("BAT-2: a batch selects rows in the tree that it changes", arguments: 0 ..< 6 as Range<UInt64>)
    func batchAfterACheckpointOfAnotherProcess(seed: UInt64) throws {
        let disk = SimulatedDisk()
        var random = SeededGenerator(seed: seed)
        let (first, second) = (try Self.open(disk), try Self.open(disk))
        var items: [(reference: ObjectReference, version: UInt32)] = []
        for round in 1 ... 24 {
            for _ in 0 ..< 40 {
                let text = PropertyValue.string(String(repeating: "x", count: Int(random.next() % 60)))
                let isGrowing = round % 6 < 3
                let writer = [first, second][Int(random.next() % 2)]
                for process in [first, second] { _ = try process.store.refresh() }
                if items.isEmpty || (isGrowing && random.next() % 2 == 0) {
                    items.append((try writer.insert("Item", ["text": text, "amount": .int(Int64(items.count))]), 1))
                } else if !isGrowing, items.count > 1, random.next() % 3 == 0 {
                    let item = items.remove(at: Int(random.next() % UInt64(items.count)))
                    try writer.delete(item.reference)
                } else {
                    let place = Int(random.next() % UInt64(items.count))
                    try writer.update(items[place].reference, ["text": text], version: items[place].version)
                    items[place].version += 1
                }
                _ = try second.store.refresh()
                #expect(try second.store.snapshot().count(FetchDescription(entityName: "Item")) == items.count)
            }
            guard round % 3 == 0 else { continue }
            // A context has a snapshot of the newest transaction.
            let inUse = try second.store.snapshot()
            defer { withExtendedLifetime(inUse) {} }
            try first.store.checkpoint()
            let request = FetchDescription(entityName: "Item", predicate: try FetchPredicate(format: "amount >= 0"))
            let batch = BatchUpdate(
                request: request, assignments: [.init(second.property("amount", of: "Item"), try FetchExpression(format: "7"))])
            #expect(try second.store.update(batch).count == items.count, "seed \(seed), round \(round)")
            for place in items.indices { items[place].version += 1 }
            #expect(try first.store.refresh())
        }
        let changed = FetchDescription(entityName: "Item", predicate: try FetchPredicate(format: "amount == 7"))
        #expect(try first.store.snapshot().count(changed) == items.count)
        for process in [first, second] { try process.store.close() }
    }
}
