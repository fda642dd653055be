#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamPostgres
import Testing

/// Saves while connections are lost, and saves of several stores at the same time.
@Suite(.enabled(if: PostgresServer.isThere)) struct LostConnectionTests {
    private func count(_ context: ManagedObjectContext, _ format: String, _ argument: String) throws -> Int {
        try context.count(FetchRequest<ManagedObject>(entityName: "Author", predicate: FetchPredicate(format: format, argument)))
    }

    /// The folder of the server's socket.
    private var serverFolder: String {
        let part = PostgresServer.connection?.split(separator: " ").first { $0.hasPrefix("host=") }
        return String(part?.dropFirst(5) ?? "")
    }

    @Test(arguments: SocketProxy.Direction.allCases)
    func aSaveIsWrittenOnceWhereverTheConnectionEnds(direction: SocketProxy.Direction) throws {
        let schema = PostgresServer.freshSchema()
        let proxy = try SocketProxy(server: serverFolder)
        let container = try PostgresServer.container(
            .postgres("host=\(proxy.folder) user=hornbeam dbname=postgres", schema: schema, connectionsMax: 2))
        let direct = try PostgresServer.container(schema)
        let context = container.newContext()
        let kept = try context.insert(entityNamed: "Author")
        try kept.setValue("kept", forKey: "name")
        try context.save()
        for number in 1 ... 8 {
            let new = try context.insert(entityNamed: "Author")
            try new.setValue(.string("new \(number)"), forKey: "name")
            // Every second save has an update too, so it locks rows before it writes.
            if number.isMultiple(of: 2) { try kept.setValue(.int(Int64(number)), forKey: "born") }
            proxy.closeAtMessage((number + 1) / 2, direction)
            do { try context.save() } catch {
                // The save is known not to be written, so it can be repeated.
                #expect(try count(direct.newContext(), "name == %@", "new \(number)") == 0, "message \(number): \(error)")
                proxy.forwardAll()
                try context.save()
            }
            proxy.forwardAll()
            #expect(try count(direct.newContext(), "name == %@", "new \(number)") == 1, "message \(number)")
        }
        #expect(try count(direct.newContext(), "born == 8 AND name == %@", "kept") == 1)
        // At least in the one round trip of new objects, and in the two of changed ones.
        #expect(proxy.closedCount >= 3)
    }

    /// The save does not reach the server, and then the answer to the question whether it was committed is lost.
    @Test(arguments: 1 ... 16) func aSaveThatReturnsIsWrittenWhereverItsQuestionEnds(message: Int) throws {
        let schema = PostgresServer.freshSchema()
        let proxy = try SocketProxy(server: serverFolder)
        let container = try PostgresServer.container(
            .postgres("host=\(proxy.folder) user=hornbeam dbname=postgres", schema: schema, connectionsMax: 1))
        let direct = try PostgresServer.container(schema).newContext()
        let context = container.newContext()
        let new = try context.insert(entityNamed: "Author")
        try new.setValue("new", forKey: "name")
        // Reads a key, so that the next message to the server is the save. Nothing was saved yet, so no notification disturbs the count.
        try context.obtainPermanentIDs(for: [new])
        proxy.closeAtMessage(1, .toServer)
        proxy.thenCloseAtMessage(message, .fromServer)
        let error = hornbeamError { try context.save() }
        proxy.forwardAll()
        if error != nil {
            #expect(try count(direct, "name == %@", "new") == 0)
            try context.save()
        }
        #expect(proxy.closedCount >= 1)
        #expect(try count(direct, "name == %@", "new") == 1)
    }

    @Test func savesOfSeveralStoresLoseNoChange() async throws {
        let schema = PostgresServer.freshSchema()
        let (stores, rounds) = (4, 25)
        let setUp = try PostgresServer.container(schema).newContext()
        let counter = try setUp.insert(entityNamed: "Author")
        try counter.setValue("counter", forKey: "name")
        try counter.setValue(0, forKey: "born")
        try setUp.save()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in 0 ..< stores {
                group.addTask {
                    let container = try PostgresServer.container(schema)
                    for round in 0 ..< rounds { try Self.increment(container, "\(store) \(round)") }
                    try container.close()
                }
            }
            try await group.waitForAll()
        }
        let reader = try PostgresServer.container(schema).newContext()
        #expect(try count(reader, "born == \(stores * rounds) AND name == %@", "counter") == 1)
        #expect(try count(reader, "name != %@", "counter") == stores * rounds)
    }

    /// Adds one to the counter and inserts an object in one save. Repeats after conflicts.
    private static func increment(_ container: PersistentContainer, _ name: String) throws {
        while true {
            let context = container.newContext()
            let request = FetchRequest<ManagedObject>(entityName: "Author", predicate: try FetchPredicate(format: "name == 'counter'"))
            let counter = try #require(context.fetch(request).first)
            guard case .int(let value) = try counter.value(forKey: "born") else { throw HornbeamError(.objectNotFound, "no counter") }
            try counter.setValue(.int(value + 1), forKey: "born")
            let new = try context.insert(entityNamed: "Author")
            try new.setValue(.string(name), forKey: "name")
            do { return try context.save() } catch let error as HornbeamError where error.code == .mergeConflict { continue }
        }
    }
}
#endif
