#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Options for servers that lack features of PostgreSQL.
@Suite(.enabled(if: PostgresServer.isThere)) struct ServerOptionTests {
    private func open(_ schema: String, _ application: String, pollInterval: Duration? = nil, defersConstraints: Bool = true) throws -> PersistentContainer {
        try PostgresServer.container(
            .postgres(
                (PostgresServer.connection ?? "") + " application_name=\(application)", schema: schema, connectionsMax: 3, pollInterval: pollInterval,
                defersConstraints: defersConstraints))
    }

    private func author(_ context: ManagedObjectContext, _ name: String) throws -> ManagedObject {
        let author = try context.insert(entityNamed: "Author")
        try author.setValue(.string(name), forKey: "name")
        return author
    }

    @Test("PSC-8: metadata that several processes set stay, and each process reads those of the others")
    func metadataOfSeveralProcesses() throws {
        let schema = PostgresServer.freshSchema()
        let containers = try (0 ..< 2).map { _ in try PostgresServer.container(schema) }
        let coordinators = containers.map(\.persistentStoreCoordinator)
        func set(_ process: Int, _ metadata: [String: PropertyValue]) throws {
            let coordinator = coordinators[process]
            try coordinator.setMetadata(metadata, for: #require(coordinator.persistentStores.first))
        }
        func read(_ process: Int) throws -> [String: PropertyValue] {
            let coordinator = coordinators[process]
            var metadata = try coordinator.metadata(for: #require(coordinator.persistentStores.first))
            metadata["HornbeamStoreUUID"] = nil
            return metadata
        }
        try set(0, ["a": 1, "text": "\u{0}é"])
        try set(1, ["b": 2])
        #expect(try read(0) == ["a": 1, "text": "\u{0}é", "b": 2])
        #expect(try read(1) == read(0))
        try set(1, ["a": 1, "b": 3])
        #expect(try read(0) == ["a": 1, "b": 3])
        // Only process 0 has not read the new value, and does not change it.
        try set(1, ["a": 5, "b": 3])
        try set(0, ["a": 1, "b": 3, "c": 4])
        #expect(try read(0) == ["a": 5, "b": 3, "c": 4])
        for container in containers { try container.close() }
    }

    @Test("PSC-8: keys that two processes add at the same time are all kept", .timeLimit(.minutes(20)))
    func simultaneousMetadata() throws {
        let schema = PostgresServer.freshSchema()
        let containers = try (0 ..< 2).map { _ in try PostgresServer.container(schema) }
        DispatchQueue.concurrentPerform(iterations: 2) { process in
            let coordinator = containers[process].persistentStoreCoordinator
            do {
                for number in 0 ..< 10 {
                    let store = try #require(coordinator.persistentStores.first)
                    var metadata = try coordinator.metadata(for: store)
                    metadata["\(process) \(number)"] = true
                    try coordinator.setMetadata(metadata, for: store)
                }
            } catch { Issue.record(error) }
        }
        let coordinator = containers[0].persistentStoreCoordinator
        #expect(try coordinator.metadata(for: #require(coordinator.persistentStores.first)).count == 21)
        for container in containers { try container.close() }
    }

    @Test("with a poll interval, contexts show saves of other processes without LISTEN")
    func savesArePolled() throws {
        let schema = PostgresServer.freshSchema()
        let application = "polls" + UUID().uuidString.prefix(8)
        let (a, b) = (try open(schema, application, pollInterval: .milliseconds(50)), try open(schema, application, pollInterval: .milliseconds(50)))
        let writer = a.newContext()
        let object = try author(writer, "Ann")
        try writer.save()
        let reader = b.newContext()
        reader.automaticallyMergesChangesFromParent = true
        let seen = try reader.existingObject(with: object.objectID)
        #expect(try seen.value(forKey: "born") == .null)
        for year in [1950, 1951] as [Int64] {
            try object.setValue(.int(year), forKey: "born")
            try writer.save()
            let end = Date() + 20
            while try seen.value(forKey: "born") != .int(year), Date() < end {
                Thread.sleep(forTimeInterval: 0.02)
                try reader.mergeChanges()
            }
            #expect(try seen.value(forKey: "born") == .int(year))
        }
        let statements = try PostgresServer.sql("SELECT query FROM pg_stat_activity WHERE application_name = '\(application)'")
        #expect(!statements.isEmpty && !statements.contains("LISTEN") && !statements.contains("pg_notify"), "\(statements)")
        try a.close()
        try b.close()
    }

    @Test("without deferred constraints, taken values are conflicts, and objects cannot exchange values")
    func constraintsAreImmediate() throws {
        let schema = PostgresServer.freshSchema()
        let container = try open(schema, "tests", defersConstraints: false)
        let deferrable = try PostgresServer.sql(
            "SELECT count(*) FROM pg_constraint WHERE condeferrable AND connamespace = '\"\(schema)\"'::regnamespace")
        #expect(deferrable == "0")
        let context = container.newContext()
        let (ann, bob) = (try author(context, "Ann"), try author(context, "Bob"))
        try context.save()
        let other = container.newContext()
        _ = try author(other, "Ann")
        #expect(hornbeamError { try other.save() }?.code == .constraintConflict)
        try ann.setValue("Bob", forKey: "name")
        try bob.setValue("Ann", forKey: "name")
        #expect(hornbeamError { try context.save() } != nil)
        #expect(try PostgresServer.sql("SELECT string_agg(name, ',' ORDER BY _id) FROM \"\(schema)\".\"Author\"") == "Ann,Bob")
        context.rollback()
        try ann.setValue("Cem", forKey: "name")
        try context.save()
        try container.close()
    }
}
#endif
