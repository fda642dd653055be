#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Faults of the server that are not those of a connection: a full disk, deadlocks, another store in place of the open one.
@Suite(.enabled(if: PostgresServer.isThere)) struct FaultTests {
    /// A tablespace of a few megabytes, which `Scripts/with-postgres` makes if it may mount file systems.
    private static let smallTablespace = ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES_SMALL"]

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Picture") {
                Attribute("name", .string, unique: true)
                Attribute("bytes", .binary, optional: true)
                Attribute("views", .integer64, default: 0)
            }
        }
    }

    private let pictures = FetchRequest<ManagedObject>(entityName: "Picture", sortedBy: [FetchSort("name")])

    /// Text that PostgreSQL cannot compress.
    private func bytes(_ count: Int) -> Data { Data((0 ..< count).map { _ in UInt8.random(in: 0 ... 255) }) }

    @discardableResult
    private func add(_ name: String, _ data: Data, _ context: ManagedObjectContext) throws -> ManagedObject {
        let picture = try context.insert(entityNamed: "Picture")
        try picture.setValue(.string(name), forKey: "name")
        try picture.setValue(.data(data), forKey: "bytes")
        return picture
    }

    @Test("the error of a text that is too long for an index names the index", arguments: [(100, "the index “Author_name_key”"), (300, "an index")])
    func longTextsInIndexes(count: Int, name: String) throws {
        let container = try PostgresServer.container()
        let context = container.newContext()
        // The name is unique.
        try context.make("Author", ["name": .string((0 ..< count).map { _ in UUID().uuidString }.joined())])
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .storeOperationFailed && error?.message.contains("too long for \(name) of") == true, "\(error?.message ?? "")")
        try container.close()
    }

    @Test("a store that was destroyed and made again while this process had no connection is refused")
    func storesThatWereMadeAgain() throws {
        let schema = PostgresServer.freshSchema()
        let application = "old-\(schema.suffix(8))"
        let container = try PostgresServer.container(PostgresServer.description(schema, application: application))
        let context = container.newContext()
        // Rows without members are not read again if their keys and versions are known.
        try context.make("Desk", ["place": "old"])
        try context.save()
        try PostgresServer.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(application)'")
        try PostgresServer.run("DROP SCHEMA \"\(schema)\" CASCADE")
        let other = try PostgresServer.container(schema)
        let writer = other.newContext()
        try writer.make("Desk", ["place": "new"])
        try writer.save()
        #expect(hornbeamError { _ = try container.newContext().all("Desk", by: "place") }?.code == .storeInUse)
        try other.close()
        try container.close()
    }

    @Test(
        "a save for which the disk has no space is refused by name, and succeeds when there is space; all others are kept",
        .enabled(if: smallTablespace != nil, "The disk can only be filled where the script may mount a file system."))
    func fullDisk() throws {
        let schema = PostgresServer.freshSchema()
        let tablespace = try #require(Self.smallTablespace)
        let connection = (PostgresServer.connection ?? "") + " options='-c default_tablespace=\(tablespace)'"
        let container = try PostgresServer.container(.postgres(connection, schema: schema, connectionsMax: 3), Self.model())
        try PostgresServer.sql(
            "CREATE TABLE balloon TABLESPACE \(tablespace) AS SELECT md5(n::text) FROM generate_series(1, 100000) n; CHECKPOINT")
        let context = container.newContext()
        var kept: [PropertyValue] = []
        var failure: HornbeamError?
        while failure == nil, kept.count < 1000 {
            let name = "p\(1000 + kept.count)"
            try add(name, bytes(100_000), context)
            failure = hornbeamError { try context.save() }
            if failure == nil { kept.append(.string(name)) }
        }
        #expect(failure?.code == .storeOperationFailed)
        #expect(failure?.message == "The disk of the PostgreSQL server is full. Nothing was written. Free some space and save again.")
        #expect(kept.count > 10 && context.insertedObjects.count == 1)
        let reader = try PostgresServer.container(.postgres(connection, schema: schema, connectionsMax: 3), Self.model())
        #expect(try reader.newContext().fetch(pictures).map { try $0.value(forKey: "name") } == kept)
        try PostgresServer.sql("DROP TABLE balloon; CHECKPOINT")
        try context.save()
        #expect(try reader.newContext().count(pictures) == kept.count + 1)
        try container.close()
        try reader.close()
        try PostgresServer.sql("DROP SCHEMA \"\(schema)\" CASCADE")
    }

    @Test(
        "a save or a batch that ends a deadlock with a program of another kind is repeated", .timeLimit(.minutes(20)), .serialized,
        arguments: [false, true])
    func deadlock(isBatch: Bool) throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(PostgresServer.description(schema, application: "deadlocked"), Self.model())
        let context = container.newContext()
        let found = try (0 ..< 2).map { try add("p\($0)", Data(), context) }
        try context.save()
        let before = try deadlocks()
        let table = "\"\(schema)\".\"Picture\""
        // The other program locks the second row, and the first one when the save waits. The save locks them in the order of their keys, the batch in that
        // of the table. The server looks for a deadlock after a second.
        let other = Thread {
            do {
                try PostgresServer.sql(
                    """
                    SET deadlock_timeout = '60s'; BEGIN; SELECT FROM \(table) WHERE name = 'p1' FOR UPDATE; \
                    DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND application_name = 'deadlocked') \
                    LOOP PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; END $$; \
                    UPDATE \(table) SET views = views + 10 WHERE name = 'p0'; COMMIT
                    """)
            } catch { Issue.record("the other program failed: \(error)") }
        }
        other.start()
        // It has the lock of the row once it sleeps; that of the table it takes before.
        let isWaiting = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE relation = '\(table)'::regclass AND wait_event = 'PgSleep'"
        while try PostgresServer.sql(isWaiting) == "0" { usleep(5000) }
        if isBatch {
            var update = BatchUpdateRequest(entityName: "Picture")
            update.set("views", to: 1)
            #expect(try container.newContext().execute(update).count == 2)
        } else {
            for picture in found { try picture.setValue(1, forKey: "views") }
            context.mergePolicy = .mergeByPropertyObjectTrump
            try context.save()
        }
        while !other.isFinished { usleep(5000) }
        #expect(try PostgresServer.sql("SELECT string_agg(views || ' ' || _version, ', ' ORDER BY name) FROM \(table)") == "1 2, 1 2")
        // The server counts deadlocks with a delay.
        while try deadlocks() == before { usleep(20_000) }
        try container.close()
    }

    @Test("a save or a batch that ends with a serialization failure runs five times at most, and the context keeps its changes", arguments: [false, true])
    func serializationFailures(isBatch: Bool) throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema, Self.model())
        let context = container.newContext()
        let picture = try add("p", Data(), context)
        try context.save()
        func fail(unless condition: String) throws {
            try PostgresServer.sql(
                """
                SET search_path TO "\(schema)"; CREATE SEQUENCE IF NOT EXISTS attempts;
                CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF nextval('"\(schema)".attempts') \(condition) THEN RETURN NEW; END IF;
                    RAISE 'again' USING ERRCODE = '40001';
                END $$;
                CREATE OR REPLACE TRIGGER fail BEFORE UPDATE ON "Picture" FOR EACH ROW EXECUTE FUNCTION fail()
                """)
        }
        func run() throws {
            if isBatch {
                var update = BatchUpdateRequest(entityName: "Picture")
                update.set("views", to: 1)
                try container.newContext().execute(update)
            } else {
                try picture.setValue(1, forKey: "views")
                try context.save()
            }
        }
        try fail(unless: "> 100")
        let error = hornbeamError { try run() }
        #expect(error?.code == .storeOperationFailed && error?.cause?.contains("SQLSTATE 40001") == true, "\(error?.message ?? "")")
        #expect(context.hasChanges != isBatch)
        #expect(try PostgresServer.sql("SELECT last_value FROM \"\(schema)\".attempts") == "5")
        try fail(unless: "= 10")
        try run()
        #expect(try PostgresServer.sql("SELECT views || ' ' || _version FROM \"\(schema)\".\"Picture\"") == "1 2")
        #expect(try PostgresServer.sql("SELECT last_value FROM \"\(schema)\".attempts") == "10")
        try container.close()
    }

    private func deadlocks() throws -> String {
        try PostgresServer.sql("SELECT sum(deadlocks) FROM pg_stat_database")
    }

    @Test("PSC-16: a store is destroyed when no container has it open; other tables of the schema stay, and keys begin anew")
    func destroying() throws {
        let schema = PostgresServer.freshSchema()
        let description = PostgresServer.description(schema)
        let container = try PostgresServer.container(description, Self.model())
        let coordinator = container.persistentStoreCoordinator
        let context = container.newContext()
        let first = try add("one", Data(), context)
        try context.save()
        let other = try PostgresServer.container(PostgresServer.description(schema), Self.model())
        #expect(hornbeamError { try coordinator.destroyPersistentStore(description) }?.code == .storeInUse)
        try container.close()
        #expect(hornbeamError { try coordinator.destroyPersistentStore(description) }?.code == .storeInUse)
        try other.close()
        try PostgresServer.sql("CREATE TABLE \"\(schema)\".mine (a int)")
        try coordinator.destroyPersistentStore(description)
        try coordinator.destroyPersistentStore(description)
        let left = try PostgresServer.sql("SELECT relname FROM pg_class WHERE relnamespace = '\"\(schema)\"'::regnamespace")
        #expect(left == "mine")
        try container.loadPersistentStores()
        let again = container.newContext()
        #expect(try again.count(pictures) == 0)
        let picture = try add("one", Data(), again)
        try again.save()
        #expect(picture.objectID != first.objectID)
        try container.close()
    }

    /// All tables whose names begin like those of the store were removed.
    @Test("a destroyed store leaves tables of others whose names are like those of its own tables")
    func similarNamesOfOthers() throws {
        let schema = PostgresServer.freshSchema()
        let description = PostgresServer.description(schema)
        let container = try PostgresServer.container(description)
        try container.close()
        try PostgresServer.sql(
            "SET search_path TO \"\(schema)\"; CREATE TABLE _hornbeam_backup AS SELECT * FROM _hornbeam; CREATE SEQUENCE _hornbeam_mine")
        try container.persistentStoreCoordinator.destroyPersistentStore(description)
        let left = try PostgresServer.sql("SELECT string_agg(relname, ' ' ORDER BY 1) FROM pg_class WHERE relnamespace = '\"\(schema)\"'::regnamespace")
        #expect(left == "_hornbeam_backup _hornbeam_mine")
    }

    /// The save waited without a limit to remove old entries.
    @Test("reads of history wait a limited time for another session that has locked it, and saves too", .timeLimit(.minutes(20)))
    func lockedHistory() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(PostgresServer.description(schema, connectionTimeout: .milliseconds(400)))
        let context = container.newContext()
        try context.make("Tag", ["label": "t"])
        try context.save()
        let lock = try PostgresServer.holding("SELECT FROM \"\(schema)\"._hornbeam_history_state FOR UPDATE")
        defer { lock.terminate() }
        #expect(hornbeamError { _ = try container.history.currentToken() }?.code == .busy)
        // After some of them, entries are removed.
        for number in 0 ..< 70 {
            try context.make("Tag", ["label": .string("\(number)")])
            try context.save()
        }
        lock.terminate()
        _ = try container.history.currentToken()
        #expect(try PostgresServer.sql("SELECT count(*) FROM \"\(schema)\".\"Tag\"") == "71")
        try container.close()
    }

    @Test(
        "a row that no store writes is an error of the fetch",
        arguments: ["281474976710656, 'Tag', 1", "9223372036854775807, 'Tag', 1", "0, 'Tag', 1", "-1, 'Tag', 1", "5, 'Tag', 0", "5, 'Other', 1"])
    func impossibleRows(row: String) throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        try PostgresServer.sql("INSERT INTO \"\(schema)\".\"Tag\" (_id, _entity, _version, label) VALUES (\(row), 'x')")
        let error = hornbeamError { _ = try container.newContext().all("Tag", by: "label") }
        #expect([.storeOperationFailed, .unknownEntity].contains(error?.code), "\(error?.message ?? "")")
        try PostgresServer.sql("DELETE FROM \"\(schema)\".\"Tag\"")
        #expect(try container.newContext().all("Tag", by: "label").isEmpty)
        try container.close()
    }
}
#endif
