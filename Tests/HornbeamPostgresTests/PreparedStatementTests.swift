#if Postgres
import Foundation
import Hornbeam
import Testing

@testable import HornbeamPostgres

/// The statements that a connection prepares.
@Suite struct PreparedStatementTests {
    private func statement(_ number: Int) -> Statement { Statement("SELECT $1::int + \(number)", ["1"]) }

    @Test func aStatementIsPreparedAtItsSecondUse() {
        var prepared = PreparedStatements()
        let uses = (0 ..< 4).map { _ in prepared.use(statement(0)) }
        #expect(uses == [.text, .prepare("s1", removing: nil), .name("s1"), .name("s1")])
    }

    @Test("a further statement replaces the least recently used one")
    func oldestStatementsAreReplaced() {
        var prepared = PreparedStatements()
        for number in 0 ..< PreparedStatements.preparedMax {
            for _ in 0 ..< 2 { _ = prepared.use(statement(number)) }
        }
        let first = prepared.use(statement(0))
        let new = [prepared.use(statement(1_000)), prepared.use(statement(1_000)), prepared.use(statement(1_000))]
        #expect(first == .name("s1"))
        #expect(new == [.text, .prepare("s129", removing: "s2"), .name("s129")])
        let replaced = [prepared.use(statement(1)), prepared.use(statement(1))]
        #expect(replaced == [.text, .prepare("s130", removing: "s3")])
    }

    @Test("a statement that the server could not prepare does not count")
    func failedStatements() {
        var prepared = PreparedStatements()
        for number in 0 ..< 2 * PreparedStatements.preparedMax {
            for _ in 0 ..< 2 { _ = prepared.use(statement(number)) }
            prepared.forget(statement(number))
        }
        let next = prepared.use(statement(0))
        #expect(next == .prepare("s257", removing: nil))
    }

    @Test("the server keeps a limited number of statements, and all have their results, also after errors", .enabled(if: PostgresServer.isThere))
    func statementsOfAServer() throws {
        let connection = try Connection(PostgresServer.connection ?? "", until: Deadline(after: .seconds(20)))
        for round in 0 ..< 3 {
            for number in 0 ..< 200 {
                for _ in 0 ..< 2 { #expect(try connection.execute(statement(number)).integer(0, 0) == Int64(number + 1)) }
                // In pipelines: two statements, and one that fails before a statement that would be prepared.
                let results = try connection.execute(all: [statement(number), statement(number + round)])
                #expect(results.map { $0.integer(0, 0) } == [Int64(number + 1), Int64(number + round + 1)])
                guard number % 50 == 7 else { continue }
                let failing = Statement("SELECT 1 / ($1::int - 1) + \(number)", ["1"])
                let isRefused = (try? connection.execute(all: [failing, statement(500 + number), statement(500 + number)])) == nil
                #expect(isRefused)
            }
        }
        let count = try connection.execute(Statement("SELECT count(*) FROM pg_prepared_statements")).integer(0, 0) ?? 0
        // A statement whose removal an error has prevented stays.
        #expect(count > 100 && count <= Int64(PreparedStatements.preparedMax + 12), "\(count)")
    }
}
#endif
