#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import Testing

@testable import HornbeamPostgres

/// Reads of the table of saves, in which a process finds the saves of others.
@Suite(.enabled(if: PostgresServer.isThere)) struct SaveReaderTests {
    private func connection() throws -> Connection { try Connection(PostgresServer.connection ?? "", until: Deadline(after: .seconds(20))) }

    @Test("beside a long transaction, each read of the saves reads the new ones only, and a failed read is repeated", .timeLimit(.minutes(20)))
    func longTransactions() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        let holder = try PostgresServer.holding("SELECT pg_current_xact_id()")
        defer { holder.terminate() }
        let connection = try connection()
        var reader = SaveReader(try StoreLayout(StoreConformance.model(), schema: schema), UUID())
        try reader.begin(connection)
        for _ in 0 ..< 3 {
            for number in 0 ..< 20 {
                try context.make("Tag", ["label": .string("t\(number)")])
                try context.save()
            }
            var failed = reader
            let first = try failed.next(connection)
            let second = try reader.next(connection)
            #expect(first.changed.count == 20 && second.changed == first.changed)
        }
        let rest = try reader.next(connection)
        #expect(rest.changed.isEmpty)
        // The server does not read the 60 saves either.
        try connection.execute(Statement("SET enable_seqscan TO off"))
        let search = reader.search
        let plan = try connection.execute(Statement("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) " + search.sql, search.parameters))
        let lines = (0 ..< plan.rowCount).compactMap { plan[$0, 0] }
        let counts = lines.flatMap { $0.matches(of: #/(?:rows=|Removed by [A-Za-z ]*: )(\d+)/#).compactMap { Int($0.1) } }
        #expect(!counts.isEmpty && counts.allSatisfy { $0 < 20 }, "\(lines.joined(separator: "\n"))")
        try container.close()
    }

    @Test("a save that is committed after a later one is read, once", .timeLimit(.minutes(20)))
    func lateCommits() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        let (early, reading) = (try connection(), try connection())
        var reader = SaveReader(try StoreLayout(StoreConformance.model(), schema: schema), UUID())
        try reader.begin(reading)
        try early.execute(Statement("BEGIN"))
        try early.execute(
            Statement(
                "INSERT INTO \"\(schema)\"._hornbeam_saves (token, source, changed, deleted) VALUES (gen_random_uuid(), gen_random_uuid(), '999:Tag', '')"))
        try context.make("Tag", ["label": "later"])
        try context.save()
        var counts = [try reader.next(reading).changed.count, try reader.next(reading).changed.count]
        try early.execute(Statement("COMMIT"))
        let late = try reader.next(reading)
        counts.append(try reader.next(reading).changed.count)
        #expect(counts == [1, 0, 0] && late.changed.map(\.key) == [999])
        try container.close()
    }

    @Test("saves whose numbers are those of another cluster, as in a restored database, are not read again and again", .timeLimit(.minutes(20)))
    func restoredSaves() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let connection = try connection()
        var reader = SaveReader(try StoreLayout(StoreConformance.model(), schema: schema), UUID())
        try reader.begin(connection)
        try connection.execute(
            Statement(
                """
                INSERT INTO "\(schema)"._hornbeam_saves (token, source, transaction, changed, deleted) \
                VALUES (gen_random_uuid(), gen_random_uuid(), '1000000000000'::xid8, '999:Tag', '')
                """))
        let counts = [try reader.next(connection).changed.count, try reader.next(connection).changed.count]
        #expect(counts == [0, 0])
        try container.close()
    }
}
#endif
