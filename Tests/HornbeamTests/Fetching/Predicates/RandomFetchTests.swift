import Foundation
import Hornbeam
import HornbeamModel
import Testing

/// Random predicates of matching types, fetched from a store and evaluated on the objects in memory, with equal results.
struct RandomFetchTests {
    private static let effort = max(1, Int(ProcessInfo.processInfo.environment["HORNBEAM_FUZZ"] ?? "") ?? 1)

    /// Even seeds have an index on every attribute, every second two an index that folds.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func storeAndMemoryAgree(seed: UInt64) throws {
        var random = RandomSample(seed: seed)
        let stack = try Stack(.inMemory, RandomSample.model(indexed: seed % 2 == 0, folded: seed % 4 >= 2))
        try random.fill(stack.newContext(), count: 100)
        let context = stack.newContext()
        let everything = FetchRequest<ManagedObject>(entityName: "Sample")
        let all = try context.fetch(everything)
        for round in 0..<120 * Self.effort {
            let predicate = FetchPredicate(node: random.node(2))
            let found = Set(try context.fetch(everything.where(predicate)))
            let wanted = Set(try all.filter { try predicate.evaluate(with: $0) })
            #expect(found == wanted, "seed \(seed), round \(round): \(predicate)")
            #expect(try context.count(everything.where(predicate)) == wanted.count, "seed \(seed), round \(round): \(predicate)")
        }
    }
}
