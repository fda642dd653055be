#if Postgres
import Foundation
import Hornbeam
import HornbeamModel
import Testing

/// The functions of a schema fold texts with the frozen tables of Hornbeam.
@Suite(.enabled(if: PostgresServer.isThere)) struct FoldingFunctionTests {
    @Test(.timeLimit(.minutes(20))) func serverFoldsEachCharacterLikeHornbeam() throws {
        let schema = PostgresServer.freshSchema()
        try PostgresServer.container(schema).close()
        // Each character of the tables has a number below 0x20000.
        let folded = ["c", "d", "cd"].map { "encode(convert_to(\"\(schema)\".\"_hornbeam_fold1_\($0)\"(chr(n)), 'UTF8'), 'hex')" }
        let lines = try rows("SELECT n, \(folded.joined(separator: ", ")) FROM generate_series(1, 131071) n WHERE n NOT BETWEEN 55296 AND 57343")
        #expect(lines.count == 131_071 - 2_048)
        let options: [FetchPredicate.Options] = [.caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]]
        var wrong: [String] = []
        for line in lines {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 4, let scalar = UInt32(cells[0]).flatMap(Unicode.Scalar.init) else { continue }
            for (cell, option) in zip(cells.dropFirst(), options) where cell != hex(Folding.fold(String(scalar), option)) {
                wrong.append("\(scalar.value) \(option.rawValue)")
            }
        }
        #expect(wrong == [])
    }

    @Test func wholeTextsAreFolded() throws {
        let schema = PostgresServer.freshSchema()
        try PostgresServer.container(schema).close()
        let both = try rows("SELECT \"\(schema)\".\"_hornbeam_fold1_cd\"(x) FROM unnest(ARRAY['', 'ABC xyz', 'Straße ÉÀ', 'e\u{301}E']) x")
        #expect(both == ["", "abc xyz", "strasse ea", "ee"])
    }

    private func hex(_ bytes: [UInt8]) -> String { bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    /// The rows of a statement that psql executes.
    private func rows(_ sql: String) throws -> [String] {
        let psql = Process()
        psql.executableURL = URL(filePath: "/usr/bin/env")
        psql.arguments = ["psql", PostgresServer.connection ?? "", "-qAtc", sql]
        let output = Pipe()
        psql.standardOutput = output
        try psql.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        psql.waitUntilExit()
        #expect(psql.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}
#endif
