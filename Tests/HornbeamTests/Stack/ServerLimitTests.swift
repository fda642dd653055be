import Foundation
import Testing

@Suite struct ServerLimitTests {
    /// The rows of the table, without the last column.
    @Test func documentHasTheRefusalsThatTestsExpect() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Docs/Postgres.md")
        let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
        let table = lines.drop { $0 != "<!-- refusals -->" }.prefix { $0 != "<!-- end of refusals -->" }.dropFirst(3)
        let rows = table.map { $0.split(separator: " | ").prefix(2).joined(separator: " | ") }
        #expect(rows == ServerLimit.allCases.map { "| \($0.rawValue) | `\($0.code)`" })
    }
}
