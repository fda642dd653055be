#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamPostgres
import Testing

/// Stores in a real PostgreSQL server.
@Suite(.enabled(if: PostgresServer.isThere)) struct PostgresStoreTests {
    private func authors(_ format: String? = nil) throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("born"), FetchSort("name")])
        request.predicate = try format.map { try FetchPredicate(format: $0) }
        return request
    }

    /// Authors a0, a1, … born in 1900, 1901, …
    private func fill(_ container: PersistentContainer, _ count: Int) throws {
        let context = container.newContext()
        for number in 0 ..< count {
            let author = try context.insert(entityNamed: "Author")
            try author.setValue(.string("a\(number)"), forKey: "name")
            try author.setValue(.int(Int64(1900 + number)), forKey: "born")
        }
        try context.save()
    }

    @Test("CST-3: a store in PostgreSQL passes the conformance suite")
    func storeConforms() {
        let schemas = SchemaNames()
        let conformance = StoreConformance(reopening: { PostgresServer.description(schemas[$0]) }) { schemas.make() }
        for failure in conformance.run() { Issue.record("\(failure)") }
    }

    @Test func errorsHaveNoCredentials() {
        let connections = [
            "host=/nowhere user=me password=secret7", "postgresql://me:secret7@/shop?host=/nowhere", "password=secret7 nonsense=1",
            "postgresql://me:secret7@[/shop", "secret7", "postgresql://me:pass@secret7@localhost/shop",
            // The mark combines with the first @.
            "postgresql://me:pass@\u{301}secret7@localhost/shop",
        ]
        for connection in connections {
            let error = hornbeamError { _ = try PostgresServer.container(.postgres(connection)) }
            #expect(error != nil)
            let text = error.map { "\($0) \($0.message) \($0.cause ?? "") \($0.details)" } ?? ""
            #expect(!text.contains("secret7"), "\(text)")
        }
        // The beginning of the password would be a port.
        let error = hornbeamError { _ = try PostgresServer.container(.postgres("postgresql://127.0.0.1:7/secret7@localhost")) }
        #expect(error?.message.contains("its parameters are invalid") == true, "\(error?.message ?? "")")
    }

    @Test func serverAppliesConditionOrderAndWindow() throws {
        let container = try PostgresServer.container()
        try fill(container, 50)
        let context = container.newContext()
        var request = try authors("born >= 1910 AND name BEGINSWITH 'a'")
        request.fetchOffset = 5
        request.fetchLimit = 3
        #expect(try context.fetch(request).map { try $0.value(forKey: "born") } == [1915, 1916, 1917])
        #expect(try context.count(authors("born < 1910")) == 10)
        let plan = try context.explain(request)
        #expect(plan.contains("by the server: SELECT"))
        #expect(plan.contains("LIMIT 3 OFFSET $"))
        let sql = plan.split(separator: "\n").first { $0.contains("by the server") }
        #expect(sql?.contains("1910") == false, "Constants are parameters.")
        let other = try context.explain(authors("name MATCHES 'a.' AND born > 1902"))
        #expect(other.contains("more rows by the server") && other.contains("here: condition, order"))
        #expect(try context.fetch(authors("name MATCHES 'a.' AND born > 1907")).map { try $0.value(forKey: "name") } == ["a8", "a9"])
    }

    @Test func changedRowsAndTakenValuesAreConflicts() throws {
        let schema = PostgresServer.freshSchema()
        let (first, second) = (try PostgresServer.container(schema), try PostgresServer.container(schema))
        try fill(first, 3)
        let (mine, other) = (first.newContext(), second.newContext())
        let author = try #require(mine.fetch(authors("born == 1901")).first)
        let same = try #require(other.fetch(authors("born == 1901")).first)
        try author.setValue("mine", forKey: "name")
        try same.setValue("other", forKey: "name")
        try other.save()
        #expect(hornbeamError { try mine.save() }?.code == .mergeConflict)
        mine.mergePolicy = .mergeByPropertyObjectTrump
        try mine.save()
        #expect(try second.newContext().count(authors("name == 'mine'")) == 1)
        let late = try other.insert(entityNamed: "Author")
        try late.setValue("mine", forKey: "name")
        let error = hornbeamError { try other.save() }
        #expect(error?.code == .constraintConflict)
        #expect(error?.message.contains("and the stored Author/p") == true)
        try late.setValue("late", forKey: "name")
        try other.save()
        #expect(try first.newContext().count(authors()) == 4)
    }

    @Test func objectsExchangeUniqueValuesInOneSave() throws {
        let container = try PostgresServer.container()
        try fill(container, 2)
        let context = container.newContext()
        let found = try context.fetch(authors())
        try found[0].setValue("a1", forKey: "name")
        try found[1].setValue("a0", forKey: "name")
        try context.save()
        #expect(try container.newContext().fetch(authors()).map { try $0.value(forKey: "name") } == ["a1", "a0"])
    }

    @Test func serverMakesGroups() throws {
        let server = try PostgresServer.container()
        let memory = try PostgresServer.container(.inMemory())
        for container in [server, memory] {
            let context = container.newContext()
            for number in 0 ..< 40 {
                let author = try context.insert(entityNamed: "Author")
                try author.setValue(.string("a\(number)"), forKey: "name")
                if !number.isMultiple(of: 5) { try author.setValue(.int(Int64(number % 4)), forKey: "born") }
                let book = try context.insert(entityNamed: number.isMultiple(of: 3) ? "Book" : "Song")
                try book.setValue(.string("z\(number % 7)"), forKey: "title")
                if number.isMultiple(of: 2) { try book.setValue(author, forKey: "author") }
            }
            try context.save()
        }
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Author")
        request.propertiesToGroupBy = ["born"]
        request.propertiesToFetch = [
            "born", .count(as: "n"), .minimum(of: "name", as: "first"), .maximum(of: "name", as: "last"), .count(of: "born", as: "some"),
        ]
        try expectEqual(server, memory, request)
        request.sortDescriptors = [FetchSort("born", ascending: false)]
        request.predicate = try FetchPredicate(format: "NOT born == 2")
        try expectEqual(server, memory, request)
        var works = FetchRequest<[String: PropertyValue]>(entityName: "Work", sortedBy: [FetchSort("author.born"), FetchSort("title")])
        works.propertiesToGroupBy = ["title", "author.born"]
        works.propertiesToFetch = ["author.born", "title", .count(as: "n"), .sum(of: "author.born", as: "sum")]
        try expectEqual(server, memory, works)
        works.propertiesToFetch.removeLast()
        try expectEqual(server, memory, works)
    }

    private func expectEqual(_ server: PersistentContainer, _ memory: PersistentContainer, _ request: FetchRequest<[String: PropertyValue]>) throws {
        let results = try [server, memory].map { try $0.newContext().fetch(request) }
        #expect(results[0] == results[1] && !results[0].isEmpty)
    }

    @Test(.timeLimit(.minutes(20))) func savesOfOtherProcessesAreMerged() async throws {
        let schema = PostgresServer.freshSchema()
        let (first, second) = (
            try PostgresServer.container(PostgresServer.description(schema, application: "listening")), try PostgresServer.container(schema)
        )
        try fill(first, 3)
        let (mine, other) = (first.newContext(), second.newContext())
        let found = try mine.fetch(authors())
        for round in 0 ..< 3 {
            // The listener connects again, and reads the save that it has missed.
            if round == 2 { try killConnections("listening") }
            let same = try #require(other.fetch(authors("born == 1901")).first)
            try same.setValue(.string("round \(round)"), forKey: "name")
            try other.save()
            while try found[1].value(forKey: "name") != .string("round \(round)") {
                try await Task.sleep(for: .milliseconds(5))
                try mine.mergeChanges()
            }
        }
        other.delete(try #require(other.fetch(authors("born == 1902")).first))
        try other.save()
        while !found[2].isDeleted {
            try await Task.sleep(for: .milliseconds(5))
            try mine.mergeChanges()
        }
    }

    @Test func anotherModelIsRefused() throws {
        let schema = PostgresServer.freshSchema()
        try PostgresServer.container(schema).close()
        let model = try ManagedObjectModel { Entity("Other") { Attribute("name", .string) } }
        let error = hornbeamError { _ = try PostgresServer.container(schema, model) }
        #expect(error.map { "\($0.code.rawValue) \($0.details.map(\.code.rawValue))" }?.contains("134100") == true)
    }

    @Test func aDescriptionServesOneContainerAtATime() throws {
        let description = PostgresServer.description(PostgresServer.freshSchema())
        let first = try PostgresServer.container(description)
        #expect(hornbeamError { _ = try PostgresServer.container(description) }.map { [$0.code] + $0.details.map(\.code) }?.contains(.storeInUse) == true)
        try fill(first, 1)
        #expect(try first.newContext().count(authors()) == 1)
        try first.close()
        let second = try PostgresServer.container(description)
        #expect(try second.newContext().count(authors()) == 1)
        try second.close()
    }

    @Test func aStoreThatWasClosedTwiceOpensAgain() throws {
        let store = PostgresStore(PostgresServer.connection ?? "", schema: PostgresServer.freshSchema())
        for _ in 0 ..< 2 {
            try store.open(StoreConformance.model())
            #expect(try store.newKeys(for: ["Author"]).count == 1)
            try store.close()
            try store.close()
        }
        #expect(hornbeamError { _ = try store.newKeys(for: ["Author"]) }?.code == .closed)
    }

    @Test("a property with the name of a column that each table has is refused", arguments: ["_version", "xmin", "ctid", "tableoid"])
    func namesOfColumnsAreRefused(name: String) throws {
        let model = try ManagedObjectModel { Entity("Thing") { Attribute(name, .string, optional: true) } }
        let error = hornbeamError { _ = try PostgresServer.container(PostgresServer.freshSchema(), model) }
        let codes = error.map { [$0.code] + $0.details.map(\.code) } ?? []
        #expect(codes.contains(.modelMismatch), "\(codes)")
    }

    @Test func metadataIsStored() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
        try container.persistentStoreCoordinator.setMetadata(["origin": "here"], for: store)
        try container.close()
        let again = try PostgresServer.container(schema)
        let reopened = try #require(again.persistentStoreCoordinator.persistentStores.first)
        #expect(reopened.identifier == store.identifier)
        #expect(try again.persistentStoreCoordinator.metadata(for: reopened)["origin"] == "here")
    }

    @Test func savesContinueAfterConnectionsWereKilled() throws {
        let container = try PostgresServer.container(PostgresServer.description(application: "killed"))
        try fill(container, 1)
        let context = container.newContext()
        let author = try #require(context.fetch(authors()).first)
        try killConnections()
        try author.setValue(2000, forKey: "born")
        try context.save()
        try killConnections()
        #expect(hornbeamError { _ = try context.count(authors("born == 2000")) } == nil)
        #expect(try container.newContext().count(authors("born == 2000")) == 1)
    }

    @Test func keysAreTakenAfterConnectionsWereKilled() throws {
        let container = try PostgresServer.container(PostgresServer.description(application: "killed-keys"))
        try killConnections("killed-keys")
        try fill(container, 1)
        #expect(try container.newContext().count(authors()) == 1)
    }

    @Test func fetchWithoutSubentitiesFindsNoneOfAnAbstractRoot() throws {
        let model = try ManagedObjectModel {
            Entity("Shape", abstract: true) { Attribute("name", .string) }
            Entity("Circle", parent: "Shape") {}
        }
        for container in [try PostgresServer.container(PostgresServer.freshSchema(), model), try PostgresServer.container(.inMemory(), model)] {
            let context = container.newContext()
            try context.insert(entityNamed: "Circle").setValue("c", forKey: "name")
            try context.save()
            var request = FetchRequest<ManagedObject>(entityName: "Shape")
            #expect(try context.count(request) == 1)
            request.includesSubentities = false
            #expect(try context.fetch(request).isEmpty)
            #expect(try context.count(request) == 0)
        }
    }

    /// Ends the connections of the test.
    private func killConnections(_ application: String = "killed") throws {
        let psql = Process()
        psql.executableURL = URL(filePath: "/usr/bin/env")
        psql.arguments = [
            "psql", PostgresServer.connection ?? "", "-qAtc",
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '\(application)'",
        ]
        psql.standardOutput = FileHandle.nullDevice
        try psql.run()
        psql.waitUntilExit()
        #expect(psql.terminationStatus == 0)
    }

    @Test func hostileNamesAndValuesStayInTheirPlaces() throws {
        let hostile = [
            "\"\u{301}, NULL, 'x", "'\u{301}; DROP", "'; DROP TABLE \"Author\"; --",
            "\"; SELECT 1; --", "\\'", "$1", "a\u{0}b\u{1}\u{2}", "{\"a\",NULL}", "%s%%_", "\u{FEFF}é𝄞", "NULL", "",
        ]
        let model = try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .string, unique: true)
                Attribute("select", .string, optional: true)
                Attribute("größe", .binary, optional: true)
            }
        }
        let schema = "x\"; DROP SCHEMA public; --'" + UUID().uuidString.prefix(8)
        let container = try PostgresServer.container(schema, model)
        let context = container.newContext()
        for text in hostile {
            let object = try context.insert(entityNamed: "Author")
            try object.setValue(.string(text), forKey: "name")
            try object.setValue(.string(text), forKey: "select")
            try object.setValue(.data(Data(text.utf8)), forKey: "größe")
        }
        try context.save()
        let reader = try PostgresServer.container(schema, model).newContext()
        for text in hostile {
            for test in ["name == %@", "select == %@", "name IN {%@}"] {
                var request = FetchRequest<ManagedObject>(entityName: "Author")
                request.predicate = try FetchPredicate(format: test, text)
                let found = try reader.fetch(request)
                #expect(try found.map { try $0.value(forKey: "name") } == [.string(text)])
                #expect(try found.map { try $0.value(forKey: "größe") } == [.data(Data(text.utf8))])
            }
        }
        let sorted = FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("name")])
        let names = try reader.fetch(sorted).map { try $0.value(forKey: "name") }
        #expect(names == hostile.map { .string($0) }.sorted { $0.sortOrder(to: $1) == .less })
    }
}

/// The schemas of the descriptions that a suite has made.
private final class SchemaNames {
    private var names: [URL: String] = [:]

    func make() -> PersistentStoreDescription {
        let name = PostgresServer.freshSchema()
        let description = PostgresServer.description(name)
        names[description.url] = name
        return description
    }

    subscript(description: PersistentStoreDescription) -> String { names[description.url] ?? "" }
}
#endif
