import Foundation

/// The document that contains the table of sums, between two HTML comments.
struct FiguresDocument {
    static let begin = "<!-- figures -->\n"
    static let end = "\n<!-- end of figures -->"

    let path: String

    /// The table that is in the document now.
    func shown() throws -> String { try parts().shown }

    /// Replaces the table in the document.
    func show(_ table: FiguresTable) throws {
        let parts = try parts()
        let text = parts.before + Self.begin + table.text + Self.end + parts.after
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    private func parts() throws -> (before: String, shown: String, after: String) {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        guard let begin = text.range(of: Self.begin), let end = text.range(of: Self.end, range: begin.upperBound..<text.endIndex)
        else { throw UsageError("\(path) has no place for figures") }
        return (
            String(text[..<begin.lowerBound]), String(text[begin.upperBound..<end.lowerBound]), String(text[end.upperBound...])
        )
    }
}
