import HornbeamModel
import Testing
@testable import Hornbeam

@Suite("Objects of a context by key") struct ObjectRegistryTests {
    @Test("an unreferenced object is a fault at its next lookup, even if the table has changed", arguments: 0..<12)
    func othersBecomeFaults(seed: Int) throws {
        var random = SplitMix(UInt64(seed))
        let stack = try Parity.stack(.inMemory)
        let writer = stack.newContext()
        let made = (0..<3_000).map { _ in PEntity(context: writer) }
        try writer.save()
        let ids = made.map(\.objectID)
        let context = stack.newContext()
        context.retainsRegisteredObjects = true
        let registry = context.registry
        var held: [Int: PEntity] = [:]
        // The registered objects that have only the values of their rows.
        var realised: Set<Int> = []
        for step in 0..<120 {
            let number = Int.random(in: 0..<ids.count, using: &random)
            switch Int.random(in: 0..<9, using: &random) {
            case 0, 1:
                for number in number..<min(number + Int.random(in: 1...400, using: &random), ids.count) {
                    _ = try context.existingObject(PEntity.self, with: ids[number]).counter
                    realised.insert(number)
                }
            case 2:
                held[number] = try context.existingObject(PEntity.self, with: ids[number])
                realised.insert(number)
            case 3:
                held[held.keys.randomElement(using: &random) ?? 0] = nil
            case 4, 5:
                let found = registry.heldObjectsFaultingOthers().map(\.key)
                #expect(found == held.values.map(\.key).sorted(), "seed \(seed), step \(step)")
                realised.formIntersection(held.keys)
            case 6 where step % 3 == 0:
                registry.sweep()
                realised.formIntersection(held.keys)
                #expect(registry.count == held.count, "seed \(seed), step \(step)")
            case 7:
                registry.sweepNewObjects()
                #expect(held.allSatisfy { registry[ids[$0.key].reference] === $0.value }, "seed \(seed), step \(step)")
                #expect(registry.objects.count == registry.count, "seed \(seed), step \(step)")
            default:
                for _ in 0..<50 {
                    let number = Int.random(in: 0..<ids.count, using: &random)
                    guard let object = registry[ids[number].reference] else { continue }
                    #expect(object.isFault == !realised.contains(number), "seed \(seed), step \(step)")
                }
            }
        }
        for object in registry.objects {
            let number = try #require(ids.firstIndex(of: object.objectID))
            #expect(object.isFault == !realised.contains(number), "seed \(seed)")
        }
    }

    @Test("a sweep of new objects releases the unused ones and leaves older ones, those in use and changed ones")
    func newObjectsAreSwept() throws {
        let stack = try Parity.stack(.inMemory)
        let writer = stack.newContext()
        let made = (0..<800).map { _ in PEntity(context: writer) }
        try writer.save()
        let ids = made.map(\.objectID)
        let context = stack.newContext()
        context.retainsRegisteredObjects = true
        let registry = context.registry
        func read(_ range: Range<Int>) throws -> [PEntity] { try range.map { try context.existingObject(PEntity.self, with: ids[$0]) } }
        _ = try read(0..<400)
        registry.sweep()
        #expect(registry.count == 0)
        let older = try read(0..<200)
        registry.sweepNewObjects()
        #expect(registry.count == older.count)
        let held = try read(400..<410)
        let changed = try read(410..<411)[0]
        changed.name = "changed"
        _ = try read(411..<600)
        registry.sweepNewObjects()
        #expect(registry.count == older.count + held.count + 1)
        #expect(Set(registry.objects.map(\.objectID)) == Set((older + held + [changed]).map(\.objectID)))
        // Their slots are free, or are found to be empty.
        #expect(ids[411..<600].allSatisfy { registry[$0.reference] == nil })
        #expect(try read(0..<800).map(\.objectID) == ids)
        #expect(registry.count == 800)
    }

    @Test("several threads that search the table find the same objects as one thread")
    func largeTablesAreShared() throws {
        let stack = try Parity.stack(.inMemory)
        let count = 120_000
        try stack.newContext().execute(BatchInsertRequest(PEntity.self, from: 0..<count) { number, row in row.set(PEntity.counter, Int32(number)) })
        let context = stack.newContext()
        var objects = try context.fetch(FetchRequest<PEntity>())
        #expect(objects.reduce(0) { $0 + Int($1.counter) } == count * (count - 1) / 2)
        objects = objects.enumerated().filter { $0.offset % 1_000 == 1 }.map(\.element)
        #expect(context.registry.heldObjectsFaultingOthers().map(\.key) == objects.map(\.key))
        #expect(objects.allSatisfy { !$0.isFault })
        #expect(context.registry.objects.count { $0.isFault } == count - objects.count)
    }

    // A weak reference does not keep an object in use, but it can reach the object without the registry.
    @Test("a weakly held object keeps changes made before its lookup, and is reported when it is held again")
    func weaklyHeldObjectsAreNotForgotten() throws {
        let stack = try Parity.stack(.inMemory)
        let writer = stack.newContext()
        let made = (0..<3).map { _ in PEntity(context: writer) }
        try writer.save()
        let ids = made.map(\.objectID)
        let context = stack.newContext()
        context.retainsRegisteredObjects = true
        let registry = context.registry
        weak let changed = try context.existingObject(PEntity.self, with: ids[0])
        weak let held = try context.existingObject(PEntity.self, with: ids[1])
        weak let left = try context.existingObject(PEntity.self, with: ids[2])
        #expect(registry.heldObjectsFaultingOthers().isEmpty)
        let mine = try #require(changed)
        mine.name = "mine"
        let again = try #require(held)
        #expect(registry.heldObjectsFaultingOthers().map(\.objectID) == [ids[0], ids[1]])
        #expect(registry[ids[0].reference] === mine && !mine.isFault && mine.name == "mine")
        #expect(registry[ids[1].reference] === again && !again.isFault)
        #expect(registry[ids[2].reference]?.isFault == true && left?.isFault == true)
        // Changed between the sweep and the next lookup.
        _ = registry.heldObjectsFaultingOthers()
        let third = try #require(left)
        third.counter = 9
        #expect(registry[ids[2].reference] === third && !third.isFault)
        try context.save()
        try writer.mergeChanges()
        #expect((made[0].name, made[2].counter) == ("mine", 9))
    }
}
