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

    /// With `pollInterval` it opened, and missed saves that were running during a read.
    @Test("a standby is refused", .timeLimit(.minutes(20)))
    func standbys() throws {
        let standby = try FirstAnswer(
            FirstAnswer.message("R", [0, 0, 0, 0]) + FirstAnswer.message("S", Array("server_version\u{0}15.0\u{0}".utf8))
                + FirstAnswer.message("S", Array("in_hot_standby\u{0}on\u{0}".utf8)) + FirstAnswer.message("Z", Array("I".utf8)))
        let error = hornbeamError {
            _ = try PostgresServer.container(
                .postgres("host=127.0.0.1 port=\(standby.port) sslmode=disable gssencmode=disable user=hornbeam", pollInterval: .seconds(1)))
        }
        #expect(error?.code == .readOnly && error?.message.contains("standby") == true, "\(error?.message ?? "")")
    }
}
#endif
