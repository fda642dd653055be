#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Connection strings with several hosts, of which libpq uses the first one that accepts a connection.
@Suite(.enabled(if: PostgresServer.isThere)) struct SeveralHostsTests {
    @Test("a store opens, saves and connects again at the second host while the first one is not there")
    func deadHosts() throws {
        let (schema, application) = (PostgresServer.freshSchema(), "hosts" + UUID().uuidString.prefix(8))
        let container = try PostgresServer.container(
            .postgres("host=/nowhere,\(PostgresServer.folder) user=hornbeam dbname=postgres application_name=\(application)", schema: schema))
        let context = container.newContext()
        let author = try context.make("Author", ["name": "a"])
        try context.save()
        try PostgresServer.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(application)'")
        try author.setValue(1900, forKey: "born")
        try context.save()
        #expect(try PostgresServer.sql("SELECT born FROM \"\(schema)\".\"Author\"") == "1900")
        try container.close()
    }

    @Test("the error of several hosts is that of the server that has answered")
    func errors() {
        let role = "missing" + UUID().uuidString.prefix(8).lowercased()
        let error = hornbeamError {
            _ = try PostgresServer.container(.postgres("host=/nowhere,\(PostgresServer.folder) user=\(role) dbname=postgres"))
        }
        #expect(error?.code == .storeOperationFailed && error?.message.contains("role \"\(role)\" does not exist") == true, "\(error?.message ?? "")")
    }
}
#endif
