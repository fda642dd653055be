import Foundation
import Testing

/// The part of `Docs/Style.md` that can be counted.
@Suite struct StyleRules {
    @Test func filesStopAtFiveHundredLines() {
        let long = Repository.swiftFiles.filter { $0.lines.count > 501 }.map { "\($0.path): \($0.lines.count - 1) lines" }
        #expect(long == [])
    }

    @Test func functionsStopAtSixtyLines() {
        let long = Repository.sourceFiles.flatMap { file in
            file.functions.filter { $0.lineCount > 60 }.map { "\(file.place($0.start)): \($0.lineCount) lines" }
        }
        #expect(long == [])
    }

    /// Tables of data are as wide as their rows.
    @Test func linesOfSourcesFitAScreen() {
        let wide = Repository.sourceFiles.filter { !$0.path.hasSuffix("+Tables.swift") }.flatMap { file in
            file.lines.indices.filter { file.lines[$0].count > 160 }.map { "\(file.place($0)): \(file.lines[$0].count) columns" }
        }
        #expect(wide == [])
    }

    @Test func everyFileOfTheEngineBeginsWithWhatHoldsInIt() {
        let silent = Repository.sourceFiles.filter { file in
            file.module == "HornbeamEngine" && file.lines.first?.hasPrefix("//") != true
        }
        #expect(silent.map(\.path) == [])
    }

    @Test func nothingIsNamedAfterNothing() {
        let empty: Set<String> = ["Utils", "Utilities", "Helpers", "Helper", "Manager", "Managers", "Common", "Misc", "Protocols"]
        let named = Repository.swiftFiles.filter { file in
            file.path.split(whereSeparator: { $0 == "/" || $0 == "." }).contains { empty.contains(String($0)) }
        }
        #expect(named.map(\.path) == [])
    }

    /// Spelt in two halves, so that this file does not hold them.
    private static let banned = [
        ("TO", "DO"), ("FIX", "ME"), ("XX", "X:"), ("HA", "CK:"), ("/wo", "rk/"), ("/ho", "me/"), ("/Us", "ers/"), ("/ro", "ot/"),
    ].map { $0 + $1 }

    @Test func noNotesToSelfAndNoPathsOfOneMachine() {
        let texts = Repository.swiftFiles + Repository.documents + Repository.scripts
        let found = texts.flatMap { file in
            file.lines.indices.flatMap { index in
                Self.banned.filter { file.lines[index].contains($0) }.map { "\(file.place(index)): \($0)" }
            }
        }
        #expect(found == [])
    }

    /// The reason is on the same line or in a comment on the line above.
    @Test func everyPromiseToTheCompilerHasItsReason() {
        let promises = ["@unchecked " + "Sendable", "nonisolated(" + "unsafe)"]
        let bare = Repository.swiftFiles.flatMap { file in
            file.lines.indices.filter { index in
                promises.contains { file.lines[index].contains($0) } && !file.hasComment(at: index)
            }.map(file.place)
        }
        #expect(bare == [])
    }

    /// `preconditionFailure` prints no message in release builds; `misuse` prints its message in all builds.
    @Test func mistakesOfProgramsEndWithASentenceInEveryBuild() {
        let silent = Repository.sourceFiles.filter { $0.module == "Hornbeam" && !$0.path.hasSuffix("ObjectRegistry.swift") }.flatMap { file in
            file.lines.indices.filter { index in
                ["precondition(", "preconditionFailure("].contains { file.lines[index].contains($0) }
            }.map(file.place)
        }
        #expect(silent == [])
    }

    @Test func theScriptNamesTheSuitesThatEndProcesses() throws {
        let suites = Repository.swiftFiles.filter { $0.path.hasPrefix("Tests/") && !$0.path.hasPrefix("Tests/RepositoryTests/") }.flatMap(\.suitesWithExitTests)
        let script = try #require(TextFile("Scripts/test"))
        let named = try #require(script.lines.first { $0.hasPrefix("exits=") })
        #expect(named == "exits='\\.(\(Set(suites).sorted().joined(separator: "|")))/'")
    }

    @Test func theTopLevelHoldsNothingElse() throws {
        let expected: Set<String> = [
            "Package.swift", "Package.resolved", "Sources", "Tests", "Benchmarks", "Docs", "README.md", "Scripts", ".ci", ".gitignore",
            "LICENSE",
        ]
        let names = try FileManager.default.contentsOfDirectory(atPath: Repository.root.path)
            .filter { ![".git", ".build", ".swiftpm", ".DS_Store"].contains($0) && !$0.hasSuffix(".hornbeam") }
        #expect(Set(names).subtracting(expected) == [])
    }
}

extension TextFile {
    /// The names of the suites with tests that end processes.
    fileprivate var suitesWithExitTests: [String] {
        lines.indices.filter { lines[$0].contains("processExitsWith") }.map { index in
            lines[..<index].reversed().lazy.compactMap { $0.firstMatch(of: /\bstruct (\w+Tests)\b/).map { String($0.output.1) } }.first ?? path
        }
    }

    /// A function, an initialiser or the like with a body of several lines.
    struct Function {
        /// The index of the line that declares it.
        let start: Int
        let lineCount: Int
    }

    /// Found by indentation, which is all that a count needs: from the declaration to the closing brace below it.
    var functions: [Function] {
        lines.indices.compactMap { start in
            let line = lines[start]
            let code = line.drop { $0 == " " }
            let words = code.split(whereSeparator: { $0 == " " || $0 == "(" || $0 == "<" })
            guard words.contains(where: { ["func", "init", "deinit", "subscript"].contains($0) }), !code.hasPrefix("//")
            else { return nil }
            let closing = String(line.prefix { $0 == " " }) + "}"
            guard let end = lines[start...].dropFirst().firstIndex(where: { $0 == closing || !Self.belongs($0, closing) }),
                lines[end] == closing
            else { return nil }
            return Function(start: start, lineCount: end - start + 1)
        }
    }

    /// False for a line less indented than the brace: the declaration had no body.
    private static func belongs(_ line: Substring, _ closing: String) -> Bool {
        line.isEmpty || line.prefix { $0 == " " }.count >= closing.count - 1
    }

    fileprivate func hasComment(at index: Int) -> Bool {
        if lines[index].contains("//") { return true }
        return index > 0 && lines[index - 1].drop { $0 == " " }.hasPrefix("//")
    }
}
