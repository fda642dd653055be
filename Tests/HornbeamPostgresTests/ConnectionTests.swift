#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamPostgres
import Synchronization
import Testing

/// Waiting for connections and for the server, time limits, cancellation, and the texts of errors.
@Suite(.enabled(if: PostgresServer.isThere), .serialized) struct ConnectionTests {
    private func opened(
        _ schema: String, _ application: String = "connections", connectionTimeout: Duration = .seconds(20), statementTimeout: Duration? = nil
    ) throws -> PersistentContainer {
        let description = PersistentStoreDescription.postgres(
            (PostgresServer.connection ?? "") + " application_name=\(application)", schema: schema, connectionsMax: 2,
            connectionTimeout: connectionTimeout, statementTimeout: statementTimeout)
        return try PostgresServer.container(description)
    }

    /// Waits until sessions of an application wait for a lock.
    private func waitForBlocked(_ application: String, _ count: Int = 1) async throws {
        for _ in 0 ..< 600 {
            let found = try PostgresServer.run(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(application)' AND wait_event_type = 'Lock'")
            if (Int(found) ?? 0) >= count { return }
            // Without blocking the thread, which the tasks of a test may need.
            try await Task.sleep(for: .milliseconds(50))
        }
        // The test must end: a further read would wait for the lock that the test releases later.
        throw HornbeamError(.general, "No session waits.")
    }

    @Test(.timeLimit(.minutes(20))) func aCallWaitsALimitedTimeForAConnection() async throws {
        let schema = PostgresServer.freshSchema()
        let container = try opened(schema, "pool", connectionTimeout: .seconds(5))
        let lock = try PostgresServer.locking("Author", in: schema)
        defer { lock.terminate() }
        let first = Task { try await container.performBackgroundTask { try $0.all("Author", by: "name").count } }
        let second = Task { try await container.performBackgroundTask { try $0.all("Author", by: "name").count } }
        try await waitForBlocked("pool", 2)
        let error = hornbeamError { _ = try container.newContext().all("Author", by: "name") }
        #expect(error?.code == .busy)
        #expect(error?.message.contains("connectionsMax") == true)
        lock.terminate()
        #expect(try await first.value == 0)
        #expect(try await second.value == 0)
        #expect(try container.newContext().all("Author", by: "name").isEmpty)
    }

    @Test(.timeLimit(.minutes(20))) func aStatementEndsAtItsTimeLimit() throws {
        let schema = PostgresServer.freshSchema()
        let container = try opened(schema, "limited", statementTimeout: .milliseconds(200))
        let lock = try PostgresServer.locking("Author", in: schema)
        defer { lock.terminate() }
        let error = hornbeamError { _ = try container.newContext().all("Author", by: "name") }
        #expect(error?.code == .storeOperationFailed)
        #expect(error?.message.contains("statementTimeout") == true, "\(error?.message ?? "")")
    }

    @Test(.timeLimit(.minutes(20))) func aSaveWaitsALimitedTimeForARow() throws {
        let schema = PostgresServer.freshSchema()
        let container = try opened(schema, "waiting", connectionTimeout: .milliseconds(500))
        let context = container.newContext()
        let author = try context.make("Author", ["name": "a"])
        try context.save()
        let other = try PostgresServer.holding("UPDATE \"\(schema)\".\"Author\" SET born = 1")
        defer { other.terminate() }
        try author.setValue(2, forKey: "born")
        #expect(hornbeamError { try context.save() }?.code == .busy)
        #expect(context.hasChanges)
        var request = BatchUpdateRequest(entityName: "Author")
        request.set("born", to: 3)
        #expect(hornbeamError { _ = try container.newContext().execute(request) }?.code == .busy)
        other.terminate()
        try context.save()
        #expect(try PostgresServer.run("SELECT born FROM \"\(schema)\".\"Author\"") == "2")
    }

    /// The server locks the tables of a statement before it executes it, so a statement that limits the waits itself would wait without a limit.
    @Test(.timeLimit(.minutes(20))) func aSaveOfOneNewObjectWaitsALimitedTimeForATable() throws {
        let schema = PostgresServer.freshSchema()
        let container = try opened(schema, "inserting", connectionTimeout: .milliseconds(500))
        let context = container.newContext()
        // The statements of the second save are prepared before the lock, those of the third one are executed.
        for name in ["a", "b"] {
            try context.make("Author", ["name": .string(name)])
            try context.save()
        }
        let lock = try PostgresServer.locking("Author", in: schema)
        defer { lock.terminate() }
        try context.make("Author", ["name": "c"])
        #expect(hornbeamError { try context.save() }?.code == .busy)
        lock.terminate()
        try context.save()
        #expect(try PostgresServer.run("SELECT count(*) FROM \"\(schema)\".\"Author\"") == "3")
    }

    @Test(.timeLimit(.minutes(20))) func aNewConnectionWaitsALimitedTimeForAMigration() throws {
        let schema = PostgresServer.freshSchema()
        let container = try opened(schema, "migrating", connectionTimeout: .milliseconds(300))
        try PostgresServer.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'migrating'")
        let migration = try PostgresServer.holding("SELECT pg_advisory_lock(hashtextextended('hornbeam model \(schema)', 0))")
        defer { migration.terminate() }
        let error = hornbeamError { _ = try container.newContext().all("Author", by: "name") }
        #expect(error?.code == .busy && error?.message.contains("migrates") == true, "\(error?.message ?? "")")
        migration.terminate()
        #expect(try container.newContext().all("Author", by: "name").isEmpty)
    }

    @Test("a store whose opening failed can be opened again")
    func openingAgain() throws {
        let (schema, role) = (PostgresServer.freshSchema(), "r" + UUID().uuidString.prefix(8).lowercased())
        // The connection that waits for notifications is the second one.
        try PostgresServer.run("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 1; GRANT CREATE ON DATABASE postgres TO \(role)")
        let description = PersistentStoreDescription.postgres(
            "host=\(PostgresServer.folder) user=\(role) dbname=postgres", schema: schema, connectionTimeout: .milliseconds(300))
        #expect(hornbeamError { _ = try PostgresServer.container(description) } != nil)
        try PostgresServer.run("ALTER ROLE \(role) CONNECTION LIMIT -1")
        try PostgresServer.container(description).close()
    }

    @Test("a store that several threads open at once is opened once")
    func openingAtOnce() throws {
        let store = PostgresStore(PostgresServer.connection ?? "", schema: PostgresServer.freshSchema())
        let model = try StoreConformance.model()
        let codes = Mutex<[HornbeamError.Code?]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            let error = hornbeamError { try store.open(model) }
            codes.withLock { $0.append(error?.code) }
        }
        let found = codes.withLock { $0 }
        #expect(found.count { $0 == nil } == 1 && found.count { $0 == .storeInUse } == 3)
        try store.close()
        try store.open(model)
        try store.close()
    }

    private enum Work: CaseIterable { case background, actor, asynchronous, batch }

    @Test("a cancelled task cancels its statement on the server", .timeLimit(.minutes(20)), arguments: Work.allCases)
    private func cancellation(work: Work) async throws {
        let schema = PostgresServer.freshSchema()
        let application = "cancelled-\(work)"
        let container = try opened(schema, application)
        let lock = try PostgresServer.locking("Author", in: schema)
        defer { lock.terminate() }
        let task = Task {
            switch work {
            case .background: _ = try await container.performBackgroundTask { try $0.all("Author", by: "name").count }
            case .actor: _ = try await container.newBackgroundContext().perform { try $0.all("Author", by: "name").count }
            case .asynchronous:
                let context = container.newContext()
                _ = try await context.fetch(AsynchronousFetchRequest(FetchRequest<ManagedObject>(entityName: "Author"))).count
            case .batch:
                _ = try await container.performBackgroundTask { context in
                    var request = BatchUpdateRequest(entityName: "Author")
                    request.set("born", to: 1)
                    return try context.execute(request).count
                }
            }
        }
        try await waitForBlocked(application)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let active = try PostgresServer.run(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(application)' AND wait_event_type = 'Lock'")
        #expect(active == "0")
        lock.terminate()
        #expect(try container.newContext().all("Author", by: "name").isEmpty)
    }

    private enum Waiting: CaseIterable { case fetch, batch }

    @Test("a cancelled task that waits for a save of the process is woken; a save of a cancelled task is written", .timeLimit(.minutes(20)), arguments: Waiting.allCases)
    private func cancellationWhileASaveWaits(waiting: Waiting) async throws {
        let schema = PostgresServer.freshSchema()
        let application = "turn-\(waiting)"
        let container = try opened(schema, application, connectionTimeout: .seconds(300))
        let context = container.newContext()
        try context.make("Author", ["name": "a"])
        try context.save()
        let lock = try PostgresServer.holding("UPDATE \"\(schema)\".\"Author\" SET born = 1")
        defer { lock.terminate() }
        let saving = Task {
            try await container.performBackgroundTask { context in
                let author = try #require(context.all("Author", by: "name").first)
                try author.setValue(2, forKey: "born")
                try context.save()
            }
        }
        try await waitForBlocked(application)
        let task = Task {
            try await container.performBackgroundTask { context in
                if waiting == .fetch { return try context.all("Author", by: "name").count }
                var request = BatchUpdateRequest(entityName: "Author")
                request.set("born", to: 3)
                return try context.execute(request).count
            }
        }
        try await Task.sleep(for: .milliseconds(500))
        saving.cancel()
        task.cancel()
        // The save still waits for the lock.
        await #expect(throws: CancellationError.self) { try await task.value }
        lock.terminate()
        _ = try await saving.value
        #expect(try PostgresServer.run("SELECT born FROM \"\(schema)\".\"Author\"") == "2")
        try container.close()
    }

    @Test("fetches and saves wait for a server that is away for a moment", .timeLimit(.minutes(20)), arguments: SocketProxy.Absence.allCases)
    func theServerRestarts(absence: SocketProxy.Absence) throws {
        let schema = PostgresServer.freshSchema()
        let (proxy, container) = try PostgresServer.proxied(schema)
        let context = container.newContext()
        let author = try context.make("Author", ["name": "a"])
        try context.save()
        for round in 0 ..< 2 {
            proxy.setAway(absence)
            proxy.closeAtMessage(1, .toServer)
            Thread.detachNewThread {
                usleep(700_000)
                proxy.setAway(nil)
            }
            if round == 0 {
                #expect(try container.newContext().all("Author", by: "name").count == 1)
            } else {
                try author.setValue(1900, forKey: "born")
                try context.save()
            }
        }
        #expect(try PostgresServer.container(schema).newContext().all("Author", by: "name", "born == 1900").count == 1)
        #expect(proxy.closedCount == 2)
    }

    @Test(
        "objects, lists and lazy results that an app holds are read while the server restarts, and then show what others have saved",
        .timeLimit(.minutes(20)))
    func heldObjects() async throws {
        let (schema, application) = (PostgresServer.freshSchema(), "held" + UUID().uuidString.prefix(8))
        let proxy = try SocketProxy(server: PostgresServer.folder)
        let container = try PostgresServer.container(
            .postgres("host=\(proxy.folder) user=hornbeam dbname=postgres application_name=\(application)", schema: schema, connectionsMax: 2))
        let writer = try PostgresServer.container(schema)
        let context = container.newContext()
        let author = try context.make("Author", ["name": "a", "born": 1900])
        try context.save()
        let request = FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("name")])
        let list = try FetchedResultsController(request, in: context)
        list.onChange = { _ in }
        try list.performFetch()
        let lazy = try context.fetchLazily(request)
        proxy.setAway(.starting)
        try PostgresServer.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(application)'")
        let other = writer.newContext()
        try other.existingObject(with: author.objectID).setValue(1901, forKey: "born")
        try other.make("Author", ["name": "b"])
        try other.save()
        #expect(try author.value(forKey: "born") == 1900)
        #expect(list.fetchedObjects?.count == 1 && lazy.count == 1 && lazy[0] === author)
        proxy.setAway(nil)
        while list.fetchedObjects?.count != 2 {
            try await Task.sleep(for: .milliseconds(20))
            try context.mergeChanges()
            context.processPendingChanges()
        }
        #expect(try author.value(forKey: "born") == 1901 && lazy.count == 1)
        try author.setValue(1902, forKey: "born")
        try context.save()
        #expect(try PostgresServer.run("SELECT born FROM \"\(schema)\".\"Author\" WHERE name = 'a'") == "1902")
        for container in [container, writer] { try container.close() }
    }

    @Test(.timeLimit(.minutes(20)), arguments: SocketProxy.Absence.allCases) func waitingForAServerHasALimit(absence: SocketProxy.Absence) throws {
        let (proxy, container) = try PostgresServer.proxied(PostgresServer.freshSchema(), connectionTimeout: .milliseconds(400))
        proxy.setAway(absence)
        proxy.closeAtMessage(1, .toServer)
        let context = container.newContext()
        let error = hornbeamError { _ = try context.all("Author", by: "name") }
        #expect(error?.code == .storeOperationFailed)
        #expect(error?.message.contains("There is no connection to the PostgreSQL server") == true, "\(error?.message ?? "")")
        proxy.setAway(nil)
        #expect(try context.all("Author", by: "name").isEmpty)
    }

    @Test func aServerThatIsNotThereIsReportedAtOnce() throws {
        let start = Date()
        let error = hornbeamError { _ = try PostgresServer.container(.postgres("host=/nowhere dbname=shop")) }
        #expect(error != nil)
        #expect(Date().timeIntervalSince(start) < 15)
    }

    private static let secret = "s3cret'\"\\ \n$1;--"

    /// Changes of the tables by which the server refuses values.
    private static let obstacles = [
        "ALTER TABLE \"%\".\"Author\" ALTER name TYPE integer USING 1",
        "ALTER TABLE \"%\".\"Author\" ALTER name TYPE varchar(3)",
        "ALTER TABLE \"%\".\"Author\" ADD CHECK (name <> 's3cret''\"\\ ' || chr(10) || '$1;--')",
        "ALTER TABLE \"%\".\"Author\" ADD other text NOT NULL",
        "CREATE TABLE \"%\".taken AS SELECT; CREATE UNIQUE INDEX ON \"%\".\"Author\" ((left(name, 2)))",
        """
        CREATE FUNCTION \"%\".refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no %%', NEW.name; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON \"%\".\"Author\" FOR EACH ROW EXECUTE FUNCTION \"%\".refuse()
        """,
        """
        CREATE FUNCTION \"%\".refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no %%', NEW.name USING ERRCODE = '42501'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON \"%\".\"Author\" FOR EACH ROW EXECUTE FUNCTION \"%\".refuse()
        """,
    ]

    private static let obstacleCodes: [HornbeamError.Code] = [
        .storeOperationFailed, .storeOperationFailed, .validation, .missingRequiredValue, .constraintConflict, .storeOperationFailed, .storeOperationFailed,
    ]

    @Test("errors name no values", arguments: obstacles.indices)
    func errorsHaveNoValues(obstacle: Int) throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        if obstacle == 4 {
            try context.make("Author", ["name": "s3 other"])
            try context.save()
        }
        let text = Self.obstacles[obstacle].replacingOccurrences(of: "%%", with: "\u{1}").replacingOccurrences(of: "%", with: schema)
        try PostgresServer.run(text.replacingOccurrences(of: "\u{1}", with: "%"))
        try context.make("Author", ["name": .string(Self.secret)])
        let error = hornbeamError { try context.save() }
        let report = error.map { "\($0) \($0.message) \($0.cause ?? "") \($0.details)" } ?? ""
        #expect(error?.code == Self.obstacleCodes[obstacle], "\(report)")
        #expect(report.contains("SQLSTATE"), "\(report)")
        #expect(!report.contains("s3"), "\(report)")
    }

    @Test("while keys are read, other calls of the store do not wait", .timeLimit(.minutes(20)))
    func readingKeysHoldsNoLock() async throws {
        let schema = PostgresServer.freshSchema()
        let store = PostgresStore((PostgresServer.connection ?? "") + " application_name=keys", schema: schema)
        try store.open(StoreConformance.model())
        let lock = try PostgresServer.holding("ALTER SEQUENCE \"\(schema)\"._hornbeam_keys CACHE 2")
        let isDone = Signal()
        Thread.detachNewThread {
            do { _ = try store.newKeys(for: ["Author"]) } catch { Issue.record(error) }
            isDone.raise()
        }
        try await waitForBlocked("keys")
        #expect(store.metadata.isEmpty)
        #expect(!isDone.isRaised)
        lock.terminate()
        while !isDone.isRaised { try await Task.sleep(for: .milliseconds(10)) }
        try store.close()
    }
}

/// A flag of several threads.
private final class Signal: Sendable {
    private let value = Mutex(false)
    var isRaised: Bool { value.withLock { $0 } }
    func raise() { value.withLock { $0 = true } }
}
#endif
