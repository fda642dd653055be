import Foundation
import Testing

/// Inside a module each folder uses only the folders below it. The order is that of `Docs/Architecture.md`, "Folders of …", from the
/// bottom up. A use is a word of the code that is the name of a type which another folder declares at the top level of a file.
@Suite struct FolderRules {
    private static let modules: [Module] = Module.all(in: TextFile("Docs/Architecture.md"))

    @Test func theDocumentOrdersModules() {
        #expect(!Self.modules.isEmpty)
    }

    @Test(arguments: modules) func everyFolderHasOnePlace(in module: Module) {
        #expect(module.order.sorted() == Set(module.files.map(module.folder)).sorted())
    }

    @Test(arguments: modules) func noFolderUsesAFolderAboveIt(in module: Module) {
        #expect(module.upwardUses == [])
    }

    /// Files beside the folders are shared by tests of several folders; `Support` and `Misuse` are about all of them.
    @Test(arguments: ["HornbeamEngine", "HornbeamModel", "HornbeamStore", "Hornbeam"]) func testsMirrorTheFolders(of name: String) throws {
        let module = try #require(Self.modules.first { $0.name == name })
        let folders = Set(module.testFiles.map(module.folder))
        #expect(!folders.isEmpty)
        #expect(folders.subtracting(module.order + [".", "Support", "Misuse", "Fetching/Predicates", "Predicate/Cases"]) == [])
    }

    @Test func declarationsAreReadInEverySpelling() {
        let spellings = [
            "struct Page {", "public final class Page {", "package indirect enum Page: Sendable {", "@safe package struct Page<Value> {",
            "actor Page {", "package protocol Page {", "@frozen public struct Page {", "typealias Page = Int",
        ]
        for line in spellings { #expect(TextFile.declaredType(line[...]) == "Page", "\(line)") }
        for line in ["private struct Page {", "    struct Page {", "extension Page {", "func page() {", "// struct Page {"] {
            #expect(TextFile.declaredType(line[...]) == nil, "\(line)")
        }
    }

    @Test func wordsOfCommentsAndTextsAreNoUses() {
        #expect(TextFile.usedTypes(#"let a: Page = "Leaf \(1)" // Node"#[...]) == ["Page"])
        #expect(TextFile.usedTypes("/// Reads a Page.") == [])
    }
}

/// A module whose folders are listed in order in the document.
struct Module: CustomTestStringConvertible, Sendable {
    let name: String
    /// The folders from the bottom up; "." for files beside them.
    let order: [String]

    var testDescription: String { name }
    var files: [TextFile] { Repository.sourceFiles.filter { $0.module == name } }

    var testFiles: [TextFile] { Repository.swiftFiles.filter { $0.path.hasPrefix("Tests/\(name)Tests/") } }

    /// The tables below the headings `Folders of NAME`.
    static func all(in document: TextFile?) -> [Module] {
        var modules: [Module] = []
        for line in document?.lines ?? [] {
            if let match = line.firstMatch(of: /^#+ Folders of `(\w+)`/) {
                modules.append(Module(name: String(match.1), order: []))
            } else if line.hasPrefix("#") {
                modules.append(Module(name: "", order: []))
            } else if let match = line.firstMatch(of: /^\| `([^`]+)` \|/), let last = modules.popLast() {
                modules.append(Module(name: last.name, order: last.order + [String(match.1)]))
            }
        }
        return modules.filter { !$0.name.isEmpty }
    }

    func folder(of file: TextFile) -> String {
        let parts = file.path.split(separator: "/").dropFirst(2).dropLast()
        return parts.isEmpty ? "." : parts.joined(separator: "/")
    }

    /// `file:line: Lower uses Type of Higher`, for each use of a type that a higher folder declares.
    var upwardUses: [String] {
        let height = Dictionary(order.enumerated().map { ($1, $0) }) { first, _ in first }
        var declared: [String: String] = [:]
        for file in files {
            for type in file.lines.compactMap(TextFile.declaredType) where declared[type] == nil { declared[type] = folder(of: file) }
        }
        return files.flatMap { file -> [String] in
            let own = folder(of: file)
            return file.lines.enumerated().flatMap { index, line in
                TextFile.usedTypes(line).compactMap { type in
                    guard let other = declared[type], other != own, height[own, default: 0] < height[other, default: 0] else { return nil }
                    return "\(file.place(index)): \(own) uses \(type) of \(other)"
                }
            }
        }
    }
}

extension TextFile {
    /// The type that a line at the top of a file declares for the whole module; nil for any other line.
    static func declaredType(_ line: Substring) -> String? {
        guard let first = line.first, first.isLetter || first == "@" else { return nil }
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "actor", "typealias"]
        let words = line.split(whereSeparator: { " :<{=(".contains($0) })
        guard let kind = words.firstIndex(where: kinds.contains), kind + 1 < words.endIndex,
            words[..<kind].allSatisfy({ $0.hasPrefix("@") || modifiers.contains($0) })
        else { return nil }
        return String(words[kind + 1])
    }

    private static let modifiers: Set<Substring> = ["public", "package", "internal", "open", "final", "indirect", "nonisolated", "unsafe"]

    /// The words of a line's code that begin with a capital letter. Read by hand: a regular expression takes too long for all sources.
    static func usedTypes(_ line: Substring) -> Set<String> {
        var words: Set<String> = []
        var word: [UInt8] = []
        var isText = false
        var last: UInt8 = 0
        for byte in Array(line.utf8) + [UInt8(ascii: " ")] {
            if byte == UInt8(ascii: "\""), last != UInt8(ascii: "\\") { isText.toggle() }
            if byte == UInt8(ascii: "/"), last == byte, !isText { return words }
            let isLetter = byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
            if !isText, isLetter || byte == UInt8(ascii: "_") || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")) {
                word.append(byte)
            } else {
                if let first = word.first, first >= UInt8(ascii: "A"), first <= UInt8(ascii: "Z") {
                    words.insert(String(decoding: word, as: UTF8.self))
                }
                word.removeAll(keepingCapacity: true)
            }
            last = byte
        }
        return words
    }
}
