/// The words after a subcommand, which the command parses one by one.
///
/// Options are parsed first, by name (`--limit 20` or `--limit=20`), then the remaining words by
/// position; `finish` rejects the words that are left.
struct Arguments {
    private var words: [String]
    /// Words after `--`: positional, even if they begin with a dash.
    private var literalWords: [String]
    private var knownOptions: [String] = []

    init(_ words: [String]) {
        if let end = words.firstIndex(of: "--") {
            self.words = Array(words[..<end])
            literalWords = Array(words[(end + 1)...])
        } else {
            self.words = words
            literalWords = []
        }
    }

    /// True when the option is present.
    mutating func flag(_ name: String) -> Bool {
        knownOptions.append(name)
        guard let index = words.firstIndex(of: name) else { return false }
        words.remove(at: index)
        return true
    }

    /// The value of an option; nil when it is absent.
    mutating func option(_ name: String) throws(UsageError) -> String? {
        knownOptions.append(name)
        guard let index = words.firstIndex(where: { $0 == name || $0.hasPrefix(name + "=") }) else { return nil }
        let word = words.remove(at: index)
        if word != name { return String(word.dropFirst(name.count + 1)) }
        guard index < words.count else { throw UsageError("\(name) needs a value") }
        return words.remove(at: index)
    }

    /// The value of an option as an integer in `range`.
    mutating func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = try option(name) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw UsageError("\(name) needs a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
        }
        return value
    }

    /// All values of an option that may be repeated.
    mutating func options(_ name: String) throws(UsageError) -> [String] {
        var values: [String] = []
        while let value = try option(name) { values.append(value) }
        return values
    }

    /// The next positional word.
    mutating func word(_ description: String) throws(UsageError) -> String {
        guard let word = try optionalWord() else { throw UsageError("\(description) is missing") }
        return word
    }

    mutating func optionalWord() throws(UsageError) -> String? {
        if let word = words.first(where: Self.looksLikeOption) { throw unknownOption(word) }
        if !words.isEmpty { return words.removeFirst() }
        return literalWords.isEmpty ? nil : literalWords.removeFirst()
    }

    /// Throws when there is another word.
    mutating func finish() throws(UsageError) {
        if let extra = try optionalWord() { throw UsageError("'\(extra)' is one word too many") }
    }

    private static func looksLikeOption(_ word: String) -> Bool { word.hasPrefix("-") && word != "-" }

    private func unknownOption(_ word: String) -> UsageError {
        let name = String(word.prefix { $0 != "=" })
        let hint = Spelling.nearest(to: name, among: knownOptions).map { "; did you mean \($0)?" } ?? ""
        return UsageError("there is no option \(name)\(hint)")
    }
}

/// A syntax error of the command line. Ends the tool with status 2.
struct UsageError: Error, Equatable {
    let message: String
    init(_ message: String) { self.message = message }
}
