import Foundation

/// A document of the repository.
struct Document {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private let lines: [Substring]

    init(_ path: String) throws {
        let text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The fenced code of one language, in order.
    func blocks(of language: String) -> [String] {
        let fences = lines.indices.filter { lines[$0].hasPrefix("```") }
        var blocks: [String] = []
        for pair in stride(from: 0, to: fences.count - 1, by: 2) where lines[fences[pair]] == "```" + language {
            blocks.append(lines[(fences[pair] + 1)..<fences[pair + 1]].joined(separator: "\n"))
        }
        return blocks
    }
}
