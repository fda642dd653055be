import Foundation
import Testing

/// `Docs/Features.md` is the inventory: every handle that is used has a row there, and the suites of each row have tests for its handle.
@Suite struct HandleRules {
    /// One row of the inventory.
    struct Row: Sendable {
        enum Status: String, Sendable { case yes, differs }

        let handle: String
        let status: Status
        let suites: [String]
    }

    private static let rows: [Row] = (TextFile("Docs/Features.md")?.lines ?? []).compactMap { line in
        guard let match = line.firstMatch(of: /^\| ([A-Z]{3,4}-[0-9]+) \| .+ \| (yes|differs) \| ([\w+, ]*) \|$/),
            let status = Row.Status(rawValue: String(match.2))
        else { return nil }
        return Row(handle: String(match.1), status: status, suites: match.3.split(separator: ", ").map(String.init))
    }

    /// The handles in the titles of tests, by the name of the file.
    private static let tested: [String: Set<String>] = {
        var found: [String: Set<String>] = [:]
        for file in Repository.files(".swift", in: ["Tests"]) {
            let name = String(file.path.split(separator: "/").last?.dropLast(".swift".count) ?? "")
            for match in file.text.matches(of: /@Test\(\s*"([^"]*)"/) { found[name, default: []].formUnion(handles(in: String(match.1))) }
        }
        return found
    }()

    /// The handles of each entry in the document of deviations.
    private static let deviations: [String] = (TextFile("Docs/Deviations.md")?.lines ?? []).compactMap { line in
        line.firstMatch(of: /^- \*\*([^*]*)\*\*/).map { String($0.1) }
    }

    @Test func theInventoryIsReadWhole() {
        #expect(Self.rows.count >= 332)
        #expect(Set(Self.rows.map(\.handle)).count == Self.rows.count)
    }

    @Test func everyHandleThatIsUsedHasARow() {
        let known = Set(Self.rows.map(\.handle))
        let prefixes = Set(known.map { $0.prefix { $0 != "-" } })
        let used = (Repository.swiftFiles + Repository.documents).flatMap { file in
            file.lines.filter(Self.mayHoldHandle).flatMap { Self.handles(in: String($0)) }
                .filter { prefixes.contains($0.prefix { $0 != "-" }) && !known.contains($0) }.map { "\(file.path): \($0)" }
        }
        #expect(used.filter { !$0.contains("HandleRules.swift") } == [])
    }

    @Test func everyNamedSuiteHasATestOfTheRow() {
        let wrong = Self.rows.flatMap { row in
            row.suites.filter { Self.tested[$0]?.contains(row.handle) != true }.map { "\(row.handle): \($0)" }
        }
        #expect(wrong == [])
    }

    @Test func theStatusOfEveryRowIsTrue() {
        let differing = Set(Self.deviations.flatMap(Self.handles))
        let wrong = Self.rows.filter { row in
            switch row.status {
            case .yes: row.suites.isEmpty
            case .differs: !differing.contains(row.handle)
            }
        }
        #expect(wrong.map(\.handle) == [])
        #expect(Self.rows.filter { $0.status == .yes && differing.contains($0.handle) }.map(\.handle) == [])
    }

    /// The rows of stacks, lists, documents and the layers over Core Data.
    @Test func theRowsOfStacksListsAndDocumentsAreDone() {
        let wanted = Set(Self.handles(in: "STK-1 … STK-10, CON-7 … CON-8, ASY-4, FRC-1 … FRC-18, DOC-1, SEED-1 … SEED-15"))
        let done = Set(Self.rows.map(\.handle))
        #expect(wanted.count == 47)
        #expect(wanted.subtracting(done).sorted() == [])
    }

    /// What Core Data leaves undefined (section 1.29 of the notes on it), by the numbers of the list.
    private static let undecided = 1...17

    @Test func everythingThatAppleLeavesUndefinedIsDecided() {
        let titles = Repository.files(".swift", in: ["Tests"]).flatMap { file in
            file.text.matches(of: /@Test\(\s*"([^"]*)"/).map { String($0.1) }
        }
        let decided = Set((titles + Self.deviations).flatMap { text in
            text.matches(of: /1\.29(?:,| no\.) ([0-9]+)/).compactMap { Int($0.1) }
        })
        #expect(Self.undecided.filter { !decided.contains($0) } == [])
    }

    /// The handles of a text: `MOD-4, MOD-5: …`, and all of `ATT-5 … ATT-8`.
    static func handles(in text: String) -> [String] {
        var found: [String] = []
        for match in text.matches(of: /\b([A-Z]{3,4})-([0-9]+)\b(?: … \1-([0-9]+))?/) {
            let first = Int(match.2) ?? 0
            let last = match.3.flatMap { Int($0) } ?? first
            found += (min(first, last)...max(first, last)).map { "\(match.1)-\($0)" }
        }
        return found
    }

    /// True for a line with a hyphen between a capital letter and a digit: a quick look, since a regular expression over all sources is slow.
    private static func mayHoldHandle(_ line: Substring) -> Bool {
        var (before, last): (UInt8, UInt8) = (0, 0)
        for byte in line.utf8 {
            if last == UInt8(ascii: "-"), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"),
                before >= UInt8(ascii: "A"), before <= UInt8(ascii: "Z")
            {
                return true
            }
            (before, last) = (last, byte)
        }
        return false
    }

    @Test func handlesAreReadOneByOneAndInRows() {
        #expect(Self.handles(in: "MOD-4, ATT-5 … ATT-7: x (REL-12)") == ["MOD-4", "ATT-5", "ATT-6", "ATT-7", "REL-12"])
        #expect(Self.handles(in: "nothing") == [])
    }
}
