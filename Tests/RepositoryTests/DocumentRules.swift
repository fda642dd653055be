import Foundation
import Testing

/// Links of documents lead to existing targets, and the Swift code of documents is compiled.
@Suite struct DocumentRules {
    @Test func everyLinkLeadsSomewhere() {
        let broken = Repository.documents.flatMap { document in
            document.links.filter { !$0.target.leadsSomewhere(from: document) }.map { "\(document.place($0.line)): \($0.target)" }
        }
        #expect(broken == [])
    }

    /// `function` in `Module/Folder/File.swift`, as the life of a save and of a fetch name their steps.
    @Test func everyStepIsAFunctionOfItsFile() throws {
        let text = try #require(TextFile("Docs/Architecture.md")).lines.joined(separator: "\n")
        let steps = text.matches(of: /`(\w+)`\s+in\s+`([\w\/+]+\.swift)`/)
        #expect(steps.count >= 15)
        for step in steps {
            let file = TextFile("Sources/\(step.2)")
            #expect(file?.lines.contains { $0.contains("func \(step.1)(") || $0.contains("func \(step.1)<") } == true, "\(step.0)")
        }
    }

    /// `Module/Folder/File.swift` in a document is a file below `Sources`.
    @Test func everySourceFileOfADocumentExists() {
        let missing = Repository.documents.flatMap { document in
            document.lines.joined(separator: "\n").matches(of: /`((?:Hornbeam\w*|CrashHarness)\/[\w\/+]+\.swift)`/).map { String($0.1) }
                .filter { TextFile("Sources/\($0)") == nil }.map { "\(document.path): \($0)" }
        }
        #expect(missing == [])
    }

    @Test func linksOutsideCodeAreFound() {
        let lines = "See [a](b.md), [c](#d).\n```\n[no](no.md)\n```\n`[no](no)` [e](https://example.org)"
        let links = Markdown.links(lines.split(separator: "\n", omittingEmptySubsequences: false))
        #expect(links.map(\.target) == ["b.md", "#d", "https://example.org"])
        #expect(links.map(\.line) == [0, 0, 4])
    }

    @Test func anchorsAreMadeAsOnTheWeb() {
        #expect(Markdown.anchor("The engine's `Door`, in 3 steps") == "the-engines-door-in-3-steps")
    }

    /// Each Swift block of a document is compiled and run: it equals the code between markers in a test or in the outside package. Code of other
    /// libraries and fragments that show a signature have a comment on the line before.
    @Test func everySwiftBlockIsASnippetOfATest() {
        let snippets = Set(Snippets.all.map(\.text))
        let unbound = Repository.documents.flatMap { document in
            Markdown.codeBlocks(document.lines, language: "swift")
                .filter { !$0.isExempt && !snippets.contains($0.text) }
                .map { "\(document.place($0.line)): no snippet has this text; \(Snippets.nearest(to: $0.text))" }
        }
        #expect(unbound == [])
    }

    @Test func everySnippetIsInADocument() {
        let blocks = Set(Repository.documents.flatMap { Markdown.codeBlocks($0.lines, language: "swift").map(\.text) })
        #expect(Snippets.all.filter { !blocks.contains($0.text) }.map(\.place) == [])
    }

    @Test func blocksOfOtherLibrariesAreMarked() {
        let lines = "<!-- code of GRDB -->\n```swift\na\n```\n```swift\nb\n\nc\n```\n```json\nd\n```\n<!-- fragment -->\n```swift\ne\n```"
        let blocks = Markdown.codeBlocks(lines.split(separator: "\n", omittingEmptySubsequences: false), language: "swift")
        #expect(blocks.map(\.text) == ["a", "b\n\nc", "e"])
        #expect(blocks.map(\.isExempt) == [true, false, true])
        #expect(blocks.map(\.line) == [1, 4, 13])
    }

    @Test func snippetsLoseTheirMargin() {
        let lines = "x\n    // snippet\n    a\n\n      b\n    // end\ny\n// snippet\nc\n// end"
        #expect(Snippets.regions(lines.split(separator: "\n", omittingEmptySubsequences: false)).map(\.text) == ["a\n\n  b", "c"])
    }
}

/// Code of documents in the sources of tests and of the outside package: the lines between `// snippet` and `// end`, without their indentation.
enum Snippets {
    struct Snippet {
        let place: String
        let text: String
    }

    static let all = Repository.files(".swift", in: ["Tests/DocumentationTests", "Tests/HornbeamPostgresTests", "Tests/HornbeamTests/Migration", "Tests/OutsidePackage"]).flatMap { file in
        regions(file.lines).map { Snippet(place: file.place($0.line), text: $0.text) }
    }

    static func regions(_ lines: [Substring]) -> [(line: Int, text: String)] {
        var regions: [(line: Int, text: String)] = []
        var start: Int?
        for (index, line) in lines.enumerated() {
            switch line.drop(while: { $0 == " " }) {
            case "// snippet": start = index
            case "// end":
                if let first = start { regions.append((first, unindented(lines[(first + 1)..<index]))) }
                start = nil
            default: break
            }
        }
        return regions
    }

    /// The place of the snippet that begins like a block, and the first line that differs.
    static func nearest(to block: String) -> String {
        let lines = block.split(separator: "\n", omittingEmptySubsequences: false)
        for snippet in all {
            let others = snippet.text.split(separator: "\n", omittingEmptySubsequences: false)
            guard others.first == lines.first else { continue }
            let line = zip(lines, others).first { $0 != $1 }?.0 ?? "the number of lines"
            return "\(snippet.place) differs in: \(line)"
        }
        return "put it between “// snippet” and “// end” in Tests/DocumentationTests"
    }

    private static func unindented(_ lines: ArraySlice<Substring>) -> String {
        let margin = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return lines.map { $0.dropFirst(margin) }.joined(separator: "\n")
    }
}

/// As much of Markdown as the documents use.
enum Markdown {
    struct Link {
        let line: Int
        let target: String
    }

    static func links(_ lines: [Substring]) -> [Link] {
        var isCode = false
        return lines.enumerated().flatMap { index, line -> [Link] in
            if line.hasPrefix("```") { isCode.toggle() }
            guard !isCode else { return [] }
            let prose = String(line).replacing(/`[^`]*`/, with: "")
            return prose.matches(of: /\]\(([^)\s]+)\)/).map { Link(line: index, target: String($0.1)) }
        }
    }

    struct CodeBlock {
        /// The line of the opening fence, counted from 0.
        let line: Int
        let text: String
        /// True after `<!-- code of LIBRARY -->` and `<!-- fragment -->`.
        let isExempt: Bool
    }

    static func codeBlocks(_ lines: [Substring], language: String) -> [CodeBlock] {
        var blocks: [CodeBlock] = []
        var fence: Int?
        for (index, line) in lines.enumerated() where line.hasPrefix("```") {
            if let start = fence {
                if lines[start] == "```\(language)" {
                    let before = start > 0 ? lines[start - 1] : ""
                    let isExempt = before == "<!-- fragment -->" || (before.hasPrefix("<!-- code of ") && before.hasSuffix(" -->"))
                    let text = lines[(start + 1)..<index].joined(separator: "\n")
                    blocks.append(CodeBlock(line: start, text: text, isExempt: isExempt))
                }
                fence = nil
            } else {
                fence = index
            }
        }
        return blocks
    }

    /// The name under which a heading can be linked to.
    static func anchor(_ heading: String) -> String {
        let kept = heading.lowercased().unicodeScalars.filter {
            $0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "-" || $0 == " " || $0 == "_"
        }
        return String(String.UnicodeScalarView(kept)).replacing(" ", with: "-")
    }
}

extension String {
    fileprivate func leadsSomewhere(from document: TextFile) -> Bool {
        if hasPrefix("https://") || hasPrefix("http://") || hasPrefix("mailto:") { return true }
        let parts = split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let folder = URL(filePath: document.path, relativeTo: Repository.root).deletingLastPathComponent()
        let path = parts[0].isEmpty ? document.path : folder.appending(path: parts[0]).relativePath(from: Repository.root)
        guard parts.count == 2 else { return FileManager.default.fileExists(atPath: Repository.root.appending(path: path).path) }
        return TextFile(path)?.anchors.contains(String(parts[1])) ?? false
    }
}

extension URL {
    fileprivate func relativePath(from root: URL) -> String {
        String(standardizedFileURL.path.dropFirst(root.standardizedFileURL.path.count).drop { $0 == "/" })
    }
}

extension TextFile {
    fileprivate var links: [Markdown.Link] { Markdown.links(lines) }

    fileprivate var anchors: Set<String> {
        Set(lines.filter { $0.hasPrefix("#") }.map { Markdown.anchor(String($0.drop { $0 == "#" || $0 == " " })) })
    }
}
