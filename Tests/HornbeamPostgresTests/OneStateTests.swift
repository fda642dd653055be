#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Synchronization
import Testing

/// Fetches that read several tables read one state.
@Suite(.enabled(if: PostgresServer.isThere)) struct OneStateTests {
    /// An author, a book and a tag, all with the text “old”.
    private func filled(_ schema: String) throws -> PersistentContainer {
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        let author = try context.make("Author", ["name": "old"])
        let book = try context.make("Book", ["title": "old"])
        let tag = try context.make("Tag", ["label": "old"])
        try book.setValue(author, forKey: "author")
        try book.changeObjects(forKey: "tags") { $0.append(tag) }
        try context.save()
        return container
    }

    /// Changes all three in one save, and gives the book another tag.
    private static func change(_ container: PersistentContainer, to text: String) throws {
        let context = container.newContext()
        let book = try #require(context.all("Book", by: "title").first)
        try book.setValue(.string(text), forKey: "title")
        try book.object(forKey: "author")?.setValue(.string(text), forKey: "name")
        for tag in try book.objects(forKey: "tags") { try tag.setValue(.string(text), forKey: "label") }
        let tag = try context.make("Tag", ["label": .string(text)])
        try book.changeObjects(forKey: "tags") { $0.append(tag) }
        try context.save()
    }

    private static func texts(_ context: ManagedObjectContext) throws -> [[PropertyValue]] {
        var request = FetchRequest<ManagedObject>(entityName: "Work", sortedBy: [FetchSort("title")])
        request.relationshipKeyPathsForPrefetching = ["author", "tags"]
        return try context.fetch(request).map { work in
            [try work.value(forKey: "title"), try work.object(forKey: "author")?.value(forKey: "name") ?? .null]
                + (try work.objects(forKey: "tags").map { try $0.value(forKey: "label") })
        }
    }

    @Test("a save of another process between the statements of a fetch is seen as a whole or not at all", arguments: 1 ... 5)
    func fetchesWithPrefetching(message: Int) throws {
        let schema = PostgresServer.freshSchema()
        let writer = try filled(schema)
        let (proxy, container) = try PostgresServer.proxied(schema)
        // The cache has old rows, which the fetch must not mix with new ones.
        #expect(try Self.texts(container.newContext()) == [["old", "old", "old"]])
        proxy.beforeMessage(message) {
            do { try Self.change(writer, to: "new") } catch { Issue.record(error) }
        }
        let found = try Self.texts(container.newContext())
        #expect(found == [["old", "old", "old"]] || found == [["new", "new", "new", "new"]], "\(found)")
        #expect(try Self.texts(container.newContext()) == [["new", "new", "new", "new"]] || message > 3)
    }

    @Test("a fetch whose results are found here reads its objects and their related ones from one state", arguments: 1 ... 4)
    func fetchesOfSupersets(message: Int) throws {
        let schema = PostgresServer.freshSchema()
        let writer = try filled(schema)
        let (proxy, container) = try PostgresServer.proxied(schema)
        proxy.beforeMessage(message) {
            do { try Self.change(writer, to: "new") } catch { Issue.record(error) }
        }
        // Only one of the mixed states satisfies the condition: an old title and a new name.
        let mixed = try container.newContext().all("Work", by: "title", "title MATCHES 'o.d' AND author.name MATCHES 'n.w'")
        #expect(mixed.isEmpty)
    }

    /// The objects were read in a newer state than the objects to which they refer.
    @Test("dictionaries with columns that are computed here have values of one state", arguments: 1 ... 5)
    func computedDictionaries(message: Int) throws {
        let schema = PostgresServer.freshSchema()
        let writer = try filled(schema)
        let (proxy, container) = try PostgresServer.proxied(schema)
        proxy.beforeMessage(message) {
            do { try Self.change(writer, to: "new") } catch { Issue.record(error) }
        }
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Work")
        request.propertiesToFetch = ["title", try .expression("name", "lowercase:(author.name)")]
        let found = try container.newContext().fetch(request)
        #expect(found == [["title": "old", "name": "old"]] || found == [["title": "new", "name": "new"]], "\(found)")
        try container.close()
    }

    /// The sections were counted in a newer state than that of the objects, so that they had other objects, or there was an error.
    @Test("FRC-1: the sections of a list with batches are those of its objects, although another process saves meanwhile", arguments: 1 ... 4)
    func sectionedLists(message: Int) throws {
        let schema = PostgresServer.freshSchema()
        let writer = try filled(schema)
        let (proxy, container) = try PostgresServer.proxied(schema)
        let context = container.newContext()
        #expect(try context.all("Tag", by: "label").count == 1)
        proxy.beforeMessage(message) {
            do { try Self.change(writer, to: "new") } catch { Issue.record(error) }
        }
        let request = FetchRequest<ManagedObject>(entityName: "Tag", sortedBy: [FetchSort("label")]).batches(of: 10)
        let list = try FetchedResultsController(request, in: context, sectionedBy: "label")
        try list.performFetch()
        let sections = list.sections.map { "\($0.name) \($0.count)" }
        #expect(sections == ["old 1"] || sections == ["new 2"], "\(sections)")
        for section in list.sections {
            for tag in section.objects { #expect(try tag.value(forKey: "label") == .string(section.name)) }
        }
        try container.close()
    }

    @Test("readers with prefetching beside a writer always get a connection", .timeLimit(.minutes(20)))
    func connectionsOfReaders() throws {
        let schema = PostgresServer.freshSchema()
        _ = try filled(schema)
        let container = try PostgresServer.container(
            .postgres(PostgresServer.connection ?? "", schema: schema, connectionsMax: 2, connectionTimeout: .seconds(4)))
        let end = Date().addingTimeInterval(8)
        let running = Mutex((count: 4, errors: [String]()))
        for part in 0 ..< 4 {
            Thread.detachNewThread {
                do {
                    let context = container.newContext()
                    while Date() < end {
                        guard part == 0 else {
                            _ = try Self.texts(container.newContext())
                            continue
                        }
                        try context.make("Tag", ["label": "more"])
                        try context.save()
                    }
                } catch { running.withLock { $0.errors.append("\(error)") } }
                running.withLock { $0.count -= 1 }
            }
        }
        while running.withLock({ $0.count > 0 }) { usleep(20_000) }
        #expect(running.withLock { $0.errors } == [])
        try container.close()
    }

    @Test func noTransactionIsOpenAfterAFetch() throws {
        let schema = PostgresServer.freshSchema()
        _ = try filled(schema)
        let container = try PostgresServer.container(PostgresServer.description(schema, application: "idle"))
        let context = container.newContext()
        #expect(try Self.texts(context) == [["old", "old", "old"]])
        var states = ""
        for _ in 0 ..< 100 {
            states = try PostgresServer.run("SELECT string_agg(DISTINCT state, ' ') FROM pg_stat_activity WHERE application_name = 'idle'")
            if states == "idle" { break }
            usleep(20_000)
        }
        #expect(states == "idle")
    }

    @Test("a page with two relationships waits for at most three answers", .timeLimit(.minutes(20)))
    func aPageWaitsForThreeAnswers() throws {
        let schema = PostgresServer.freshSchema()
        _ = try filled(schema)
        let (proxy, container) = try PostgresServer.proxied(schema)
        let context = container.newContext()
        // The first fetch makes the connection, the second prepares statements.
        for _ in 0 ..< 2 { #expect(try Self.texts(context) == [["old", "old", "old"]]) }
        usleep(100_000)
        let before = proxy.roundTripCount
        // Of a COMMIT that ends a fetch, the answer is read later.
        proxy.holdAnswers(after: 3)
        Thread.detachNewThread {
            sleep(20)
            proxy.holdAnswers(after: nil)
        }
        let start = Date()
        #expect(try Self.texts(context) == [["old", "old", "old"]])
        #expect(Date().timeIntervalSince(start) < 15, "The fetch waits for more answers.")
        proxy.holdAnswers(after: nil)
        #expect(proxy.roundTripCount - before <= 3)
    }

    @Test("a fetch with prefetching is repeated when its connection is lost", arguments: 1 ... 4)
    func lostConnections(message: Int) throws {
        let schema = PostgresServer.freshSchema()
        _ = try filled(schema)
        for direction in SocketProxy.Direction.allCases {
            let (proxy, container) = try PostgresServer.proxied(schema)
            proxy.closeAtMessage(message, direction)
            #expect(try Self.texts(container.newContext()) == [["old", "old", "old"]])
        }
    }
}
#endif
