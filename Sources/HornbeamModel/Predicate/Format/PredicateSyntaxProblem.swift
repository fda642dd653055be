/// The position of a syntax error in a format, and the expected tokens.
struct PredicateSyntaxProblem: Error {
    /// The offset of the token with the error.
    var offset: Int
    /// The description of the error, a clause without a full stop.
    var explanation: String

    /// The error for the user: position, description, and the text with a caret below the position.
    func error(in format: String) -> HornbeamError {
        let characters = Array(format)
        var column = 0
        var bytes = 0
        while column < characters.count, bytes + characters[column].utf8.count <= offset {
            bytes += characters[column].utf8.count
            column += 1
        }
        return HornbeamError(
            .predicateSyntax,
            """
            The predicate format does not parse at position \(column + 1): \(explanation).
            \(Self.excerpt(characters, around: column))
            """)
    }

    /// One line of the format, at most 80 characters wide, and a line with the caret.
    private static func excerpt(_ characters: [Character], around column: Int) -> String {
        let start = max(0, column - 50)
        let end = min(characters.count, start + 80)
        let line = characters[start..<end].map { character in
            character.unicodeScalars.contains { $0.value < 0x20 } ? " " : character
        }
        let prefix = start > 0 ? "…" : ""
        let suffix = end < characters.count ? "…" : ""
        let indent = String(repeating: " ", count: column - start + prefix.count)
        return prefix + String(line) + suffix + "\n" + indent + "^"
    }
}
