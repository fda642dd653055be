import Foundation
import Testing

/// Every row of the tables of Core Data's features has a test that names it, or a line in the document of deviations.
@Suite struct HandleRules {
    /// The tables that are held to it: the model, and everything about contexts and objects (sections 1.2 to 1.5 and 1.8 to 1.23).
    private static let tables = [
        "MOD", "ATT", "REL", "MDL", "PSC", "CON", "MOC", "OBJ", "VAL", "DEL", "SAV", "MRG", "NOT", "QGN", "UND", "FET", "ASY", "BAT", "HIS",
        "FRC", "CST",
    ]

    /// What Core Data leaves undefined (section 1.29), by the numbers of the list.
    private static let undecided = 1...17

    /// The titles of tests, and what deviations are about.
    private static func named() throws -> [String] {
        let titles = Repository.files(".swift", in: ["Tests"]).flatMap { file in
            file.text.matches(of: /@Test\(\s*"([^"]*)"/).map { String($0.1) }
        }
        let deviations = try #require(TextFile("Docs/Deviations.md")).lines.compactMap { line in
            line.firstMatch(of: /^- \*\*([^*]*)\*\*/).map { String($0.1) }
        }
        return titles + deviations
    }

    private static let rows: [String] = {
        let url = Repository.root.appending(path: "../shared/reference/coredata.md")
        guard let text = try? String(contentsOf: url, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^\| ([A-Z]{3}-[0-9]+) \|/).map { String($0.1) }
        }.filter { tables.contains(String($0.prefix(3))) }
    }()

    @Test(.enabled(if: !rows.isEmpty, "The tables are not beside the package."))
    func everyRowIsTestedOrDeviatesOnPurpose() throws {
        let named = Set(try Self.named().flatMap(Self.handles))
        #expect(Self.rows.count > 250)
        #expect(Self.rows.filter { !named.contains($0) } == [])
    }

    @Test func everythingThatAppleLeavesUndefinedIsDecided() throws {
        let decided = Set(try Self.named().flatMap { text in
            text.matches(of: /1\.29(?:,| no\.) ([0-9]+)/).compactMap { Int($0.1) }
        })
        #expect(Self.undecided.filter { !decided.contains($0) } == [])
    }

    /// The handles of a title: `MOD-4, MOD-5: …`, and all of `ATT-5 … ATT-8`.
    static func handles(in title: String) -> [String] {
        var found: [String] = []
        for match in title.matches(of: /([A-Z]{3})-([0-9]+)(?: … \1-([0-9]+))?/) {
            let first = Int(match.2) ?? 0
            let last = match.3.flatMap { Int($0) } ?? first
            found += (min(first, last)...max(first, last)).map { "\(match.1)-\($0)" }
        }
        return found
    }

    @Test func handlesAreReadOneByOneAndInRows() {
        #expect(Self.handles(in: "MOD-4, ATT-5 … ATT-7: x (REL-12)") == ["MOD-4", "ATT-5", "ATT-6", "ATT-7", "REL-12"])
        #expect(Self.handles(in: "nothing") == [])
    }
}
