import Foundation
import HornbeamModel
import Testing

@Suite struct StringsFileTests {
    @Test("MDL-3: a strings file is read with comments, escapes and bare words")
    func stringsFileIsRead() throws {
        let text = """
            /* Entities
               of the model */
            "Entity/Book" = "Buch"; // a comment
            "Property/title/Entity/Book" = "Der \\"Titel\\"\\n\\U00e9";
            bare.word = value_1;
            "alone";
            """
        let expected = [
            "Entity/Book": "Buch", "Property/title/Entity/Book": "Der \"Titel\"\né", "bare.word": "value_1", "alone": "alone",
        ]
        #expect(try StringsFile.parse(text) == expected)
        #expect(try StringsFile.parse(Data(text.utf8)) == expected)
        #expect(try StringsFile.parse(Data([0xEF, 0xBB, 0xBF]) + Data(text.utf8)) == expected)
        #expect(try StringsFile.parse(#require(text.data(using: .utf16))) == expected)
        #expect(try StringsFile.parse("") == [:])
    }

    @Test(
        "MDL-3: a strings file that is wrong names the line",
        arguments: [
            ("\"a\" = \"b\"\n\"c\" = \"d\";", "The strings file cannot be read at line 2: a “;” is missing after the text of “a”."),
            ("\n\"a", "The strings file cannot be read at line 2: the text that begins at line 2 has no closing quote."),
            ("/* a\n", "The strings file cannot be read at line 2: the comment that begins at line 1 has no end."),
            ("\"a\" = ;", "The strings file cannot be read at line 1: a text in quotes is expected."),
            (
                "\"a\" = \"\\U12\";",
                "The strings file cannot be read at line 1: “\\U” must be followed by four hexadecimal digits of a character."
            ),
        ])
    func wrongStringsFileNamesTheLine(_ text: String, _ message: String) {
        let error = #expect(throws: HornbeamError.self) { try StringsFile.parse(text) }
        #expect(error?.message == message)
    }
}
