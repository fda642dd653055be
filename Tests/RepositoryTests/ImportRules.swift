import Testing

/// Each module imports only the modules below it. The table equals the one in `Docs/Architecture.md`.
@Suite struct ImportRules {
    private static let system: Set<String> = [
        "Foundation", "FoundationEssentials", "Synchronization", "Observation", "Dispatch", "Glibc", "Musl", "Darwin",
    ]

    private static let libc: Set<String> = ["Synchronization", "Glibc", "Musl", "Darwin"]

    private static let allowed: [String: Set<String>] = [
        "HornbeamThreads": libc,
        "HornbeamEngine": libc.union(["CLZ4", "CSystem", "HornbeamThreads"]),
        "HornbeamModel": system.union(["HornbeamThreads"]),
        "HornbeamXcodeModels": system.union(["FoundationXML", "HornbeamModel"]),
        "HornbeamGenerator": system.union(["HornbeamModel"]),
        "ModelPluginTool": system.union(["HornbeamModel", "HornbeamXcodeModels", "HornbeamGenerator"]),
        "HornbeamModelPlugin": system.union(["PackagePlugin"]),
        "GenerateModelPlugin": system.union(["PackagePlugin"]),
        "HornbeamExpansion": [],
        "HornbeamMacros": libc.union(["HornbeamExpansion"]),
        "HornbeamStore": system.union(["HornbeamThreads", "HornbeamEngine", "HornbeamModel"]),
        "Hornbeam": system.union(["HornbeamThreads", "HornbeamModel", "HornbeamStore", "Runtime"]),
        "HornbeamSimulation": libc.union(["HornbeamThreads", "HornbeamEngine"]),
        "HornbeamLists": system.union(["Hornbeam"]),
        "HornbeamConformance": system.union(["HornbeamModel", "Hornbeam"]),
        "HornbeamPostgres": system.union(["CPostgres", "HornbeamThreads", "HornbeamModel", "Hornbeam"]),
        "HornbeamTool": system.union([
            "CLZ4", "HornbeamThreads", "HornbeamEngine", "HornbeamModel", "HornbeamXcodeModels", "HornbeamGenerator", "HornbeamStore", "Hornbeam",
            "HornbeamLists", "HornbeamPostgres",
        ]),
        "CrashHarness": system.union([
            "HornbeamThreads", "HornbeamEngine", "HornbeamSimulation", "HornbeamModel", "HornbeamStore", "Hornbeam", "HornbeamPostgres",
        ]),
        "Examples": system.union(["Hornbeam", "HornbeamLists"]),
        "Benchmarks": system.union(["HornbeamThreads", "HornbeamEngine", "HornbeamModel", "Hornbeam", "HornbeamPostgres", "CSQLite", "CLMDB", "CPostgres"]),
    ]

    @Test func everyModuleImportsOnlyWhatLiesBelowIt() throws {
        var violations: [String] = []
        for file in Repository.sourceFiles where !file.path.hasSuffix("Package.swift") {
            let allowed = try #require(Self.allowed[file.module], "\(file.path) belongs to a module without an import rule.")
            violations += file.imports.filter { !allowed.contains($0.module) }.map {
                "\(file.place($0.line)): \(file.module) must not import \($0.module)"
            }
        }
        #expect(violations == [])
    }

    @Test func liblz4IsImportedInOneFileOfTheEngineAndOneOfTheTool() {
        let importers = Repository.sourceFiles.filter { $0.imports.contains { $0.module == "CLZ4" } }.map(\.module)
        #expect(Set(importers).count == importers.count, "\(importers)")
        #expect(Set(importers).isSubset(of: ["HornbeamEngine", "HornbeamTool"]))
    }

    @Test func importsAreReadInEverySpelling() {
        let spellings = [
            "import Glibc", "public import Glibc", "@testable import Glibc", "@_exported public import Glibc",
            "package import struct Glibc.stat", "  internal import Glibc  // why",
        ]
        for line in spellings { #expect(TextFile.importedModule(line[...]) == "Glibc", "\(line)") }
        #expect(TextFile.importedModule("let important = 1") == nil)
        #expect(TextFile.importedModule("/// import Glibc") == nil)
    }
}

extension TextFile {
    /// The modules that the file imports, with the index of the line.
    var imports: [(line: Int, module: String)] {
        lines.enumerated().compactMap { index, line in Self.importedModule(line).map { (index, $0) } }
    }

    /// The module of an import declaration; nil for any other line.
    static func importedModule(_ line: Substring) -> String? {
        var words = line.split(whereSeparator: \.isWhitespace)[...]
        let modifiers: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
        while let word = words.first, word.hasPrefix("@") || modifiers.contains(word) { words.removeFirst() }
        guard words.popFirst() == "import", var module = words.popFirst() else { return nil }
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        if kinds.contains(module), let next = words.popFirst() { module = next }
        return String(module.prefix { $0 != "." })
    }
}
