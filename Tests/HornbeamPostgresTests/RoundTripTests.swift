#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamPostgres
import Testing

/// How often a process waits for the server.
@Suite(.enabled(if: PostgresServer.isThere)) struct RoundTripTests {
    private func proxied(_ schema: String, pollInterval: Duration? = nil) throws -> (SocketProxy, PersistentContainer) {
        let part = PostgresServer.connection?.split(separator: " ").first { $0.hasPrefix("host=") }
        let proxy = try SocketProxy(server: String(part?.dropFirst(5) ?? ""))
        let container = try PostgresServer.container(
            .postgres("host=\(proxy.folder) user=hornbeam dbname=postgres", schema: schema, connectionsMax: 2, pollInterval: pollInterval))
        return (proxy, container)
    }

    @Test func aPageWithTwoRelationshipsTakesThreeRoundTrips() throws {
        let schema = PostgresServer.freshSchema()
        let writer = try PostgresServer.container(schema).newContext()
        for number in 0 ..< 80 {
            let work = try writer.insert(entityNamed: "Book")
            try work.setValue(.string("book \(number)"), forKey: "title")
            let author = try writer.insert(entityNamed: "Author")
            try author.setValue(.string("author \(number)"), forKey: "name")
            try work.setValue(author, forKey: "author")
            let tag = try writer.insert(entityNamed: "Tag")
            try tag.setValue(.string("tag \(number)"), forKey: "label")
            try work.changeObjects(forKey: "tags") { $0.append(tag) }
        }
        try writer.save()
        let (proxy, container) = try proxied(schema)
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Work", sortedBy: [FetchSort("title")])
        request.fetchLimit = 50
        request.relationshipKeyPathsForPrefetching = ["author", "tags"]
        let before = proxy.roundTripCount
        var texts: [String] = []
        for work in try context.fetch(request) {
            texts.append(try work.object(forKey: "author")?.value(forKey: "name").stringValue ?? "")
            texts += try work.objects(forKey: "tags").map { try $0.value(forKey: "label").stringValue ?? "" }
        }
        #expect(texts.count == 100 && texts.allSatisfy { !$0.isEmpty })
        #expect(proxy.roundTripCount - before <= 3)
    }

    @Test func aBatchUpdateReadsNoRows() throws {
        let schema = PostgresServer.freshSchema()
        let writer = try PostgresServer.container(schema).newContext()
        for number in 0 ..< 30 {
            let author = try writer.insert(entityNamed: "Author")
            try author.setValue(.string("a \(number)"), forKey: "name")
            try author.setValue(.int(Int64(1900 + number)), forKey: "born")
        }
        try writer.save()
        let (proxy, container) = try proxied(schema, pollInterval: .seconds(600))
        let context = container.newContext()
        let request = FetchRequest<ManagedObject>(
            entityName: "Author", predicate: try FetchPredicate(format: "born < 1910"), sortedBy: [FetchSort("born")])
        let held = try context.fetch(request)
        #expect(try held.map { try $0.value(forKey: "born") } == (1900 ..< 1910 as Range<Int64>).map { PropertyValue.int($0) })
        let before = proxy.roundTripCount
        var update = BatchUpdateRequest(entityName: "Author", predicate: try FetchPredicate(format: "born < 1920"))
        update.propertiesToUpdate["born"] = try FetchExpression(format: "born + 1000")
        update.resultType = .count
        #expect(try container.newContext().execute(update).count == 20)
        try context.mergeChanges()
        // Ten of the rows are cached.
        #expect(try held.map { try $0.value(forKey: "born") } == (2900 ..< 2910 as Range<Int64>).map { PropertyValue.int($0) })
        #expect(proxy.roundTripCount - before == 1)
        // The cached rows have the versions of the server.
        try held[0].setValue(.int(1), forKey: "born")
        try context.save()
        let expected = try writer.fetch(FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("born")])).map { try $0.value(forKey: "born") }
        #expect(expected.first == 1 && expected.suffix(19).first == 2901)
    }

    @Test func aSaveOfNewObjectsTakesOneRoundTrip() throws {
        // The thread that receives notifications makes round trips of its own, so there is none: the table of saves is not read meanwhile.
        let (proxy, container) = try proxied(PostgresServer.freshSchema(), pollInterval: .seconds(600))
        let context = container.newContext()
        let saveCount = 40
        let before = proxy.roundTripCount
        for round in 0 ..< saveCount {
            for number in 0 ..< 20 { try context.insert(entityNamed: "Author").setValue(.string("a \(round) \(number)"), forKey: "name") }
            try context.save()
        }
        // The store takes blocks of 256 keys.
        #expect(proxy.roundTripCount - before <= saveCount + saveCount * 20 / 256 + 2)
    }

    @Test func aSaveOfManyNewObjectsTakesOneRoundTrip() throws {
        let (proxy, container) = try proxied(PostgresServer.freshSchema(), pollInterval: .seconds(600))
        let context = container.newContext()
        let new = try (0 ..< 3000).map { number in try context.make("Author", ["name": .string("author \(number)")]) }
        try context.obtainPermanentIDs(for: new)
        let before = proxy.roundTripCount
        // Twelve statements, which the server executes while the others are sent.
        try context.save()
        #expect(proxy.roundTripCount - before == 1)
        #expect(try container.newContext().count(FetchRequest<ManagedObject>(entityName: "Author")) == 3000)
    }

    @Test("a save that changes and deletes many objects takes two round trips: the first one locks them and reads their versions")
    func aSaveOfManyChangedObjectsTakesTwoRoundTrips() throws {
        let (proxy, container) = try proxied(PostgresServer.freshSchema(), pollInterval: .seconds(600))
        let context = container.newContext()
        let values = try (0 ..< 2000).map { number in try context.make("Values", ["int32": .int(Int64(number))]) }
        try context.save()
        for object in values[..<1000] { try object.setValue(-1, forKey: "int32") }
        for object in values[1500...] { context.delete(object) }
        let before = proxy.roundTripCount
        try context.save()
        #expect(proxy.roundTripCount - before <= 2)
        #expect(try container.newContext().count(FetchRequest<ManagedObject>(entityName: "Values")) == 1500)
        #expect(try container.newContext().count(FetchRequest<ManagedObject>(entityName: "Values", predicate: FetchPredicate(format: "int32 == -1"))) == 1000)
    }
}
#endif
