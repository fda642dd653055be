#if Postgres
import Foundation
import Hornbeam
import HornbeamModel
import HornbeamPostgres
import Testing

/// The server of `Scripts/with-postgres`.
private let server = ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES"]

/// Random predicates have the same results on a PostgreSQL server as on the objects in memory.
@Suite(.enabled(if: server != nil)) struct RandomServerFetchTests {
    private static let effort = max(1, Int(ProcessInfo.processInfo.environment["HORNBEAM_FUZZ"] ?? "") ?? 1)

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func serverAndMemoryAgree(seed: UInt64) throws {
        var random = RandomSample(seed: seed &* 977)
        let schema = "random \(UUID().uuidString)"
        try random.fill(container(schema).newContext(), count: 100)
        let context = try container(schema).newContext()
        let everything = FetchRequest<ManagedObject>(entityName: "Sample")
        let all = try container(schema).newContext().fetch(everything)
        var exactCount = 0
        for round in 0..<120 * Self.effort {
            let predicate = FetchPredicate(node: random.node(2))
            let found = Set(try context.fetch(everything.where(predicate)).map(\.objectID))
            let wanted = Set(try all.filter { try predicate.evaluate(with: $0) }.map(\.objectID))
            #expect(found == wanted, "seed \(seed), round \(round): \(predicate)")
            #expect(try context.count(everything.where(predicate)) == wanted.count, "seed \(seed), round \(round): \(predicate)")
            if try context.explain(everything.where(predicate)).contains("  by the server") { exactCount += 1 }
        }
        #expect(exactCount > 70, "seed \(seed): the server decides \(exactCount) of 120 requests")
    }

    private func container(_ schema: String) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Test", model: RandomSample.model(indexed: false, folded: false))
        container.persistentStoreDescriptions = [.postgres(server ?? "", schema: schema, connectionsMax: 3)]
        try container.loadPersistentStores()
        return container
    }
}
#endif
