#if Postgres
import Foundation
import Hornbeam
import Testing

@testable import HornbeamPostgres

/// TLS and passwords. At its loopback address, the server of `Scripts/with-postgres` requires a password.
@Suite(.enabled(if: EncryptedServer.isThere)) struct EncryptedConnectionTests {
    /// A role with a password, and a schema of its own. Rights on the database would be granted by several tests at once, which the server refuses.
    private struct Login {
        let role = "r" + UUID().uuidString.prefix(8).lowercased()
        let password = "s3cret " + UUID().uuidString

        let schema = PostgresServer.freshSchema()

        init() throws { try PostgresServer.sql("CREATE ROLE \(role) LOGIN PASSWORD '\(password)'; CREATE SCHEMA \"\(schema)\" AUTHORIZATION \(role)") }

        /// A connection string. Later parameters replace earlier ones.
        func connection(_ parameters: String, password: String? = nil) -> String {
            "host=localhost hostaddr=\(EncryptedServer.address) dbname=postgres user=\(role) password='\(password ?? self.password)' application_name=\(role) "
                + parameters.replacing("%", with: EncryptedServer.folder)
        }
    }

    private func texts(_ error: HornbeamError?) -> String {
        error.map { "\($0) \(String(reflecting: $0)) \($0.message) \($0.cause ?? "") \($0.details)" } ?? ""
    }

    @Test(
        "a store is read, written and notified over TLS", .timeLimit(.minutes(20)),
        arguments: ["sslmode=require", "sslmode=verify-full sslrootcert=%/server.crt"])
    func encryptedConnections(parameters: String) async throws {
        let login = try Login()
        let container = try PostgresServer.container(.postgres(login.connection(parameters), schema: login.schema, connectionsMax: 3))
        let context = container.newContext()
        let author = try context.make("Author", ["name": .string(String(repeating: "a", count: 2_000)), "born": 1900])
        // More than a block of TLS.
        for number in 0 ..< 300 { try context.make("Author", ["name": .string("\(number) " + String(repeating: "x", count: 500))]) }
        try context.save()
        #expect(try container.newContext().all("Author", by: "name").count == 301)
        let sessions = try PostgresServer.sql(
            "SELECT bool_and(ssl), count(*) > 1 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = '\(login.role)'")
        #expect(sessions == "t|t")
        let other = try PostgresServer.container(login.schema)
        let writer = other.newContext()
        try writer.existingObject(with: author.objectID).setValue(1901, forKey: "born")
        try writer.save()
        while try author.value(forKey: "born") != 1901 {
            try await Task.sleep(for: .milliseconds(20))
            try context.mergeChanges()
        }
        for container in [container, other] { try container.close() }
    }

    @Test(
        "a connection that is not safe, and a wrong password, are errors with the reason",
        arguments: [
            ("sslmode=verify-full sslrootcert=%/other.crt", "certificate verify failed"),
            ("sslmode=verify-full sslrootcert=%/none.crt", "does not exist"),
            ("host=other.example sslmode=verify-full sslrootcert=%/server.crt", "does not match host name"),
            ("sslmode=require password=s3cret-wrong", "password authentication failed"),
        ])
    func refusedConnections(parameters: String, reason: String) throws {
        let login = try Login()
        let error = hornbeamError { _ = try PostgresServer.container(.postgres(login.connection(parameters), schema: login.schema)) }
        #expect(error?.code == .storeOperationFailed, "\(texts(error))")
        #expect(error?.message.contains(reason) == true && !texts(error).contains("s3cret"), "\(texts(error))")
        #expect(try PostgresServer.sql("SELECT count(*) FROM pg_class WHERE relnamespace = '\"\(login.schema)\"'::regnamespace") == "0")
    }

    @Test("a store that requires TLS does not open on a server without it, and sends no password")
    func requiredEncryption() throws {
        let (server, login) = (try FirstAnswer(Array("N".utf8)), try Login())
        let connection = login.connection("host=127.0.0.1 hostaddr=127.0.0.1 port=\(server.port) sslmode=require")
        let error = hornbeamError { _ = try PostgresServer.container(.postgres(connection)) }
        #expect(error?.code == .storeOperationFailed && error?.message.contains("does not support SSL") == true, "\(texts(error))")
        #expect(!texts(error).contains("s3cret"))
    }

    @Test("a password that was changed while the store is open is an error at once, without either password", .timeLimit(.minutes(20)))
    func changedPasswords() throws {
        let login = try Login()
        let container = try PostgresServer.container(.postgres(login.connection("sslmode=require"), schema: login.schema, connectionTimeout: .seconds(60)))
        try PostgresServer.sql(
            """
            ALTER ROLE \(login.role) PASSWORD 's3cret-new';
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(login.role)'
            """)
        let start = ContinuousClock.now
        let error = hornbeamError { _ = try container.newContext().all("Author", by: "name") }
        #expect(error?.code == .storeOperationFailed && error?.message.contains("password authentication failed") == true, "\(texts(error))")
        #expect(ContinuousClock.now - start < .seconds(30) && !texts(error).contains("s3cret"))
        try container.close()
    }

    @Test("the password is in no description, dump or plan, and not in the log of the server")
    func passwordsAreNotDescribed() throws {
        let login = try Login()
        let connection = login.connection("sslmode=require")
        let description = PersistentStoreDescription.postgres(connection, schema: login.schema)
        let container = try PostgresServer.container(description)
        let context = container.newContext()
        try context.make("Author", ["name": "a"])
        try context.save()
        let options = ConnectionOptions(parameters: connection)
        var dumped = ""
        dump(options, to: &dumped)
        let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
        let texts = [
            "\(description) \(String(reflecting: description)) \(description.url)", "\(options) \(String(reflecting: options))", dumped,
            "\(store) \(String(reflecting: store)) \(String(reflecting: description.customStore)) \(container)",
            try context.explain(FetchRequest<ManagedObject>(entityName: "Author")),
            (try? String(contentsOfFile: EncryptedServer.folder + "/log", encoding: .utf8)) ?? "",
        ]
        for text in texts { #expect(!text.contains(login.password)) }
        try container.close()
    }
}

/// The address and the certificates of the server, which `Scripts/with-postgres` names.
private enum EncryptedServer {
    private static let parts = (ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES_TLS"] ?? "").split(separator: " ").map(String.init)

    static var isThere: Bool { parts.count == 2 && PostgresServer.isThere }
    static var address: String { parts[0] }
    static var folder: String { parts[1] }
}
#endif
