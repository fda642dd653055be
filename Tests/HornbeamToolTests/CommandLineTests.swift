import Testing

@testable import HornbeamTool

@Suite struct CommandLineTests {
    @Test func optionsAreTakenByNameAndWordsByPosition() throws {
        var arguments = Arguments(["STORE", "--limit=5", "--where", "--a", "Package", "--plain", "--", "--x"])
        #expect(try arguments.option("--where") == "--a")
        #expect(try arguments.integer("--limit", in: 1...10) == 5)
        let flags = [arguments.flag("--plain"), arguments.flag("--plain")]
        #expect(flags == [true, false])
        #expect(try arguments.word("the store") == "STORE")
        #expect(try arguments.word("the entity") == "Package")
        #expect(try arguments.optionalWord() == "--x")
        #expect(try arguments.optionalWord() == nil)
        try arguments.finish()
    }

    @Test func repeatedOptionsKeepTheirOrder() throws {
        var arguments = Arguments(["--file", "a", "--file=b"])
        #expect(try arguments.options("--file") == ["a", "b"])
    }

    @Test func errorsNameTheArgument() {
        var arguments = Arguments(["--limit", "many", "--file"])
        #expect(throws: UsageError("--limit needs a whole number from 1 to 9, not 'many'")) {
            try arguments.integer("--limit", in: 1...9)
        }
        #expect(throws: UsageError("--file needs a value")) { try arguments.option("--file") }
        #expect(throws: UsageError("the store is missing")) { try arguments.word("the store") }
        var mistyped = Arguments(["--limmit", "3"])
        #expect(throws: UsageError("there is no option --limmit; did you mean --limit?")) {
            _ = try mistyped.option("--limit")
            _ = try mistyped.word("the store")
        }
        var extra = Arguments(["a"])
        #expect(throws: UsageError("'a' is one word too many")) { try extra.finish() }
    }

    @Test(arguments: [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("check", "chekc", 2)])
    func distancesCountEdits(a: String, b: String, distance: Int) {
        #expect(Spelling.distance(a, b) == distance)
        #expect(Spelling.distance(b, a) == distance)
    }

    @Test func farWordsAreNotSuggested() {
        #expect(Spelling.nearest(to: "chekc", among: ["query", "check"]) == "check")
        #expect(Spelling.nearest(to: "chec", among: ["query", "check"]) == "check")
        #expect(Spelling.nearest(to: "anything", among: ["query", "check"]) == nil)
    }
}
