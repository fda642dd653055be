import Testing

/// Words that `Docs/Style.md` and the glossary replace by standard terms do not come back into comments and documents.
@Suite struct WordRules {
    @Test func retiredWordsStayAway() {
        let found = (Repository.swiftFiles + Repository.documents).filter { !$0.path.hasPrefix("Tests/RepositoryTests/") }.flatMap { file in
            file.prose.flatMap { index, prose in
                RetiredWord.found(in: prose).sorted().map { "\(file.place(index)): \($0)" }
            }
        }
        #expect(found == [])
    }

    @Test(arguments: [
        ("Whoever reads it keeps it.", ["whoever"]), ("A page that nobody reads.", ["nobody"]), ("Lets go of a file.", ["lets go"]),
        ("What holds: keys ascend.", ["noun clause", "what holds"]), ("What a scan found.", ["noun clause"]), ("Says whether it is.", ["says"]),
        ("A look-up by key.", ["look-up"]), ("Commits that were promised.", ["promised"]), ("It is carried out later.", ["carried out"]),
        ("Rows are written anew.", ["anew"]), ("Gives back a list.", ["gives back"]), ("Observers hear of it.", ["told of"]),
        ("Returns what the page holds.", []), ("What is a context?", []), ("The lookup says nothing.", []),
    ])
    func eachIsFound(in prose: String, words: [String]) {
        #expect(RetiredWord.found(in: prose[...]) == Set(words))
    }

    @Test func onlyCommentsAreProse() {
        #expect(TextFile.comment(in: "let nobody = 1 // What is left.") == "What is left.")
        #expect(TextFile.comment(in: "    /// Says so.") == "Says so.")
        #expect(TextFile.comment(in: #"let link = "https://example.org""#) == nil)
    }
}

/// A word or a form of sentence with a standard replacement.
enum RetiredWord {
    /// The word, the spellings that are searched, in lower case, and the replacement.
    private static let words: [(name: String, spellings: [String], standard: String)] = [
        ("whoever", ["whoever"], "the reader, the thread, the caller"),
        ("nobody", ["nobody", "anybody"], "no thread, no reader"),
        ("somebody", ["somebody"], "a thread, a reader"),
        ("what holds", ["what holds"], "Invariants:"),
        ("lets go", ["let go", "lets go"], "releases"),
        ("look-up", ["look-up", "look-ups"], "lookup"),
        ("promised", ["promised"], "acknowledged, prepared"),
        ("takes note", ["take note", "takes note"], "records"),
        ("carried out", ["carry out", "carries out", "carried out"], "executed, applied"),
        ("anew", ["anew"], "again, rewritten, rebuilt"),
        ("gives back", ["give back", "gives back"], "returns, frees"),
        ("told of", ["told of", "tells of", "hear of", "hears of"], "notified, published, reported"),
        ("afterlife", ["afterlife context"], "detached read-only context"),
        ("short way", ["short way"], "log-first fast path"),
    ]

    private static let names = Dictionary(uniqueKeysWithValues: words.flatMap { word in word.spellings.map { ($0, word.name) } })

    /// The retired words in a line of prose.
    static func found(in prose: Substring) -> Set<String> {
        // Read as bytes: characters take too long for all sources in a debug build.
        let spelled = prose.utf8.split { !($0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z")) && $0 != UInt8(ascii: "-") }
            .map { Substring($0).lowercased() }
        let pairs = zip(spelled, spelled.dropFirst()).map { "\($0) \($1)" }
        var found = Set((spelled + pairs).compactMap { names[$0] })
        let starts = ["What ", "Who ", "Whose "]
        if !prose.contains("?"), starts.contains(where: prose.hasPrefix) { found.insert("noun clause") }
        if ["Says ", "Tells ", "Looks "].contains(where: prose.hasPrefix) { found.insert("says") }
        return found
    }
}

extension TextFile {
    /// The lines of a document, or the comments of a source, with their indices.
    fileprivate var prose: [(index: Int, text: Substring)] {
        lines.enumerated().compactMap { index, line in
            let text = path.hasSuffix(".md") ? line : Self.comment(in: line)
            return text.map { (index, $0) }
        }
    }

    /// The text of a line's comment; nil if there is none.
    static func comment(in line: Substring) -> Substring? {
        var isText = false
        var last: UInt8 = 0
        for index in line.utf8.indices {
            let byte = line.utf8[index]
            if byte == UInt8(ascii: "\""), last != UInt8(ascii: "\\") { isText.toggle() }
            if byte == UInt8(ascii: "/"), last == byte, !isText { return line[index...].drop { $0 == "/" || $0 == " " } }
            last = byte
        }
        return nil
    }
}
