#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Roles with settings and privileges of their own.
@Suite(.enabled(if: PostgresServer.isThere)) struct RoleTests {
    private func role(_ settings: [String] = []) throws -> String {
        let role = "r" + UUID().uuidString.prefix(8).lowercased()
        try PostgresServer.sql("CREATE ROLE \(role) LOGIN")
        for setting in settings { try PostgresServer.sql("ALTER ROLE \(role) SET \(setting)") }
        return role
    }

    private func description(_ role: String, _ schema: String) -> PersistentStoreDescription {
        .postgres("host=\(PostgresServer.folder) user=\(role) dbname=postgres application_name=\(role)", schema: schema, connectionsMax: 3)
    }

    // MARK: Settings

    /// Settings that change how a server reads and writes values, and what a transaction reads.
    private static let settings = [
        "array_nulls TO off", "backslash_quote TO off", "bytea_output TO escape", "client_encoding TO latin1", "\"DateStyle\" TO 'German, DMY'",
        "default_transaction_isolation TO serializable", "extra_float_digits TO -15", "\"IntervalStyle\" TO sql_standard",
        "quote_all_identifiers TO on", "standard_conforming_strings TO off", "\"TimeZone\" TO 'Asia/Kathmandu'", "transform_null_equals TO on",
    ]

    /// An entity with the name of a type that the statements of the store name.
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("text") {
                Attribute("id", .integer64, unique: true)
                Attribute("name", .string, optional: true)
                Attribute("ratio", .double, optional: true)
                Attribute("part", .float, optional: true)
                Attribute("amount", .decimal, optional: true)
                Attribute("day", .date, optional: true)
                Attribute("bytes", .binary, optional: true)
                Attribute("mark", .uuid, optional: true)
                Attribute("flag", .boolean, optional: true)
            }
            Entity("Event", userInfo: ["postgres.table": "events"]) {
                Attribute("name", .string, optional: true)
                Attribute("seen", .date, optional: true).adding(userInfo: ["postgres.type": "timestamptz"])
            }
        }
    }

    private static let values: [[String: PropertyValue]] = [
        ["id": 1],
        [
            "id": 2, "name": "NULL", "ratio": .double(0.1 + 0.2), "part": .double(Double(Float(0.1))), "amount": .decimal(Decimal(string: "0.10") ?? 0),
            "day": .date(Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)), "bytes": .data(Data([0, 92, 39, 255])), "mark": .uuid(UUID()), "flag": true,
        ],
        ["id": 3, "name": "\\é'\" \n", "ratio": .double(-.infinity), "day": .date(Date(timeIntervalSinceReferenceDate: 1e9))],
    ]

    @Test("settings of a role change no value and no result", arguments: [false, true])
    func settings(isShadowed: Bool) throws {
        let schema = PostgresServer.freshSchema()
        // With the schema before the server's own names, the table `text` would replace the type.
        let role = try role(Self.settings + (isShadowed ? ["search_path TO \"\(schema)\", pg_catalog"] : []))
        try PostgresServer.sql(
            """
            CREATE SCHEMA "\(schema)" AUTHORIZATION \(role);
            CREATE TABLE "\(schema)".events (id bigserial PRIMARY KEY, name varchar, seen timestamptz, _version bigint NOT NULL DEFAULT 1);
            ALTER TABLE "\(schema)".events OWNER TO \(role)
            """)
        let container = try PostgresServer.container(description(role, schema), Self.model())
        let context = container.newContext()
        for values in Self.values { try context.make("text", values) }
        let seen = PropertyValue.date(Date(timeIntervalSinceReferenceDate: 1.000_001))
        for name in [PropertyValue.null, "NULL", "x"] { try context.make("Event", ["name": name, "seen": seen]) }
        try context.save()
        #expect(try PostgresServer.sql("SELECT count(*) FROM \"\(schema)\".\"text\" WHERE name IS NULL") == "1")
        #expect(try PostgresServer.sql("SELECT extract(epoch FROM min(seen)) FROM \"\(schema)\".events") == "978307201.000001")
        let reader = try PostgresServer.container(description(role, schema), Self.model())
        let reading = reader.newContext()
        let found = try reading.all("text", by: "id")
        for (object, values) in zip(found, Self.values) {
            for attribute in object.entity.attributes {
                #expect(try object.value(forKey: attribute.name) == values[attribute.name] ?? .null, "\(attribute.name)")
            }
        }
        for (name, value) in Self.values[1] {
            var request = FetchRequest<ManagedObject>(entityName: "text")
            request.predicate = FetchPredicate(
                node: .comparison(.init(.keyPath(.evaluatedObject, [.name(name)]), .equal, .constant(value), options: [])))
            #expect(try reading.fetch(request).map(\.objectID) == [found[1].objectID], "\(name)")
        }
        var update = BatchUpdateRequest(entityName: "text", predicate: try FetchPredicate(format: "name == nil"))
        update.set("ratio", to: .double(0.3))
        #expect(try reader.newContext().execute(update).count == 1)
        #expect(try reader.newContext().all("text", by: "id", "ratio == 0.3").count == 1)
        let names = try reader.newContext().all("Event", by: "name").map { try $0.value(forKey: "name") }
        #expect(names == [.null, "NULL", "x"])
        for container in [container, reader] { try container.close() }
    }

    // MARK: Privileges

    /// Deleting old saves failed, and the connection that waits for notifications was made again every few seconds.
    @Test("a role that may only read opens a store, fetches and receives saves; its own saves are refused", .timeLimit(.minutes(20)), arguments: [false, true])
    func readers(isByDefault: Bool) async throws {
        let schema = PostgresServer.freshSchema()
        let writer = try PostgresServer.container(schema)
        let writing = writer.newContext()
        let author = try writing.make("Author", ["name": "a", "born": 1])
        try writing.save()
        let role = try role(isByDefault ? ["default_transaction_read_only TO on"] : [])
        let right = isByDefault ? "ALL" : "SELECT"
        try PostgresServer.sql(
            """
            GRANT USAGE ON SCHEMA "\(schema)" TO \(role);
            GRANT \(right) ON ALL TABLES IN SCHEMA "\(schema)" TO \(role);
            GRANT \(right) ON ALL SEQUENCES IN SCHEMA "\(schema)" TO \(role)
            """)
        let container = try PostgresServer.container(description(role, schema))
        let context = container.newContext()
        let seen = try #require(context.all("Author", by: "name").first)
        // Of the connection that waits for notifications.
        func session() throws -> String {
            try PostgresServer.sql(
                "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name = '\(role)' AND query SIMILAR TO '%(snapshot|_saves)%'")
        }
        let before = try session()
        // Longer than the time between two reads of the table of saves.
        try await Task.sleep(for: .seconds(3))
        try author.setValue(2, forKey: "born")
        try writing.save()
        while try seen.value(forKey: "born") != 2 {
            try await Task.sleep(for: .milliseconds(20))
            try context.mergeChanges()
        }
        #expect(try session() == before && !before.isEmpty)
        try seen.setValue(3, forKey: "born")
        let error = hornbeamError { try context.save() }
        #expect(error?.code == (isByDefault ? .readOnly : .storeOperationFailed), "\(error?.message ?? "")")
        #expect(isByDefault || error?.message.contains("permission denied") == true, "\(error?.message ?? "")")
        #expect(try PostgresServer.sql("SELECT born FROM \"\(schema)\".\"Author\"") == "2")
        context.rollback()
        #expect(try context.all("Author", by: "name", "born == 2").count == 1)
        for container in [container, writer] { try container.close() }
    }

    @Test("a role that may not create a schema, or tables in it, gets an error with the reason, and nothing is created")
    func creators() throws {
        let schema = PostgresServer.freshSchema()
        let role = try role()
        let noSchema = hornbeamError { _ = try PostgresServer.container(description(role, schema)) }
        #expect(noSchema?.code == .storeOperationFailed && noSchema?.message.contains("permission denied") == true, "\(noSchema?.message ?? "")")
        try PostgresServer.sql("CREATE SCHEMA \"\(schema)\"; GRANT USAGE ON SCHEMA \"\(schema)\" TO \(role)")
        let noTable = hornbeamError { _ = try PostgresServer.container(description(role, schema)) }
        #expect(noTable?.code == .storeOperationFailed && noTable?.message.contains("permission denied") == true, "\(noTable?.message ?? "")")
        #expect(try PostgresServer.sql("SELECT count(*) FROM pg_class WHERE relnamespace = '\"\(schema)\"'::regnamespace") == "0")
    }

    @Test("a schema with an object that has the name of an entity, of any kind, is refused, and nothing is created", arguments: ["TABLE", "VIEW", "SEQUENCE"])
    func sameNames(kind: String) throws {
        let schema = PostgresServer.freshSchema()
        let definition = kind == "VIEW" ? " AS SELECT 1 AS a" : kind == "TABLE" ? " (a int)" : ""
        try PostgresServer.sql("CREATE SCHEMA \"\(schema)\"; CREATE \(kind) \"\(schema)\".\"Author\"\(definition)")
        let error = hornbeamError { _ = try PostgresServer.container(schema) }
        #expect(error?.code == .storeOperationFailed && error?.message.contains("already exists") == true, "\(error?.message ?? "")")
        #expect(try PostgresServer.sql("SELECT count(*) FROM pg_class WHERE relnamespace = '\"\(schema)\"'::regnamespace AND relname <> 'Author'") == "0")
    }
}
#endif
