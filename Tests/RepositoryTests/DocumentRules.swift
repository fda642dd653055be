import Foundation
import Testing

/// Documents lead where they say, and the code in the README is code.
@Suite struct DocumentRules {
    @Test func everyLinkLeadsSomewhere() {
        let broken = Repository.documents.flatMap { document in
            document.links.filter { !$0.target.leadsSomewhere(from: document) }.map { "\(document.place($0.line)): \($0.target)" }
        }
        #expect(broken == [])
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

    /// The README's Swift blocks, in order, are what stands between the markers of a file that the tests compile and run.
    @Test func theReadmesCodeIsCompiledAndRun() throws {
        let readme = try #require(TextFile("README.md"))
        let example = try #require(TextFile("Tests/HornbeamToolTests/ReadmeExample.swift"))
        let blocks = Markdown.codeBlocks(readme.lines, language: "swift")
        #expect(!blocks.isEmpty)
        #expect(blocks == example.regions(markedBy: "README"))
    }

    /// The stories of the page on migration stand between the markers of a file that the tests compile and run.
    @Test func theStoriesOfMigrationAreCompiledAndRun() throws {
        let page = try #require(TextFile("Docs/Migration.md"))
        let stories = try #require(TextFile("Tests/HornbeamTests/Migration/MigrationStories.swift"))
        let start = try #require(page.lines.firstIndex(of: "## Three stories"))
        let end = page.lines[(start + 1)...].firstIndex { $0.hasPrefix("## ") } ?? page.lines.endIndex
        let blocks = Markdown.codeBlocks(Array(page.lines[start ..< end]), language: "swift")
        #expect(blocks.count == 3)
        #expect(blocks == stories.regions(markedBy: "STORY"))
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

    static func codeBlocks(_ lines: [Substring], language: String) -> [String] {
        var blocks: [String] = []
        var current: [Substring]?
        for line in lines {
            if line.hasPrefix("```") {
                if let block = current { blocks.append(block.joined(separator: "\n")) }
                current = line == "```\(language)" ? [] : nil
            } else {
                current?.append(line)
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

    /// What stands between lines `// marker` and `// END`, without its indentation.
    fileprivate func regions(markedBy marker: String) -> [String] {
        var regions: [String] = []
        var current: [Substring]?
        for line in lines {
            switch line.drop(while: { $0 == " " }) {
            case "// \(marker)": current = []
            case "// END":
                if let region = current { regions.append(Self.unindented(region)) }
                current = nil
            default: current?.append(line)
            }
        }
        return regions
    }

    private static func unindented(_ lines: [Substring]) -> String {
        let margin = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return lines.map { $0.dropFirst(margin) }.joined(separator: "\n")
    }
}
