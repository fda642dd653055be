import Testing

@testable import HornbeamExpansion

/// The compiler's messages are read and written as they are meant.
@Suite struct JSONTests {
    @Test(arguments: [
        #"{"a":1,"b":[true,false,null,"x"],"c":{}}"#, #"[]"#, #""é\n\"\\""#, #"-12"#,
    ])
    func writtenTextEqualsReadText(text: String) throws {
        let json = try #require(JSON(Array(text.utf8)))
        #expect(json.description == text)
    }

    @Test func escapesAreDecoded() throws {
        let json = try #require(JSON(Array(#""\u00e9\uD83D\uDE00\/\t""#.utf8)))
        #expect(json.text == "é😀/\t")
    }

    @Test func controlBytesAreEscaped() { #expect(JSON.string("\u{1}").description == #""\u0001""#) }

    @Test(arguments: ["", "{", "[1,", #"{"a"}"#, #""open"#, "nul", "{} {}", #""\u12"#, "+", "\u{0}"])
    func otherTextIsRefused(text: String) { #expect(JSON(Array(text.utf8)) == nil) }

    @Test func deepNestingIsRefused() {
        #expect(JSON(Array(String(repeating: "[", count: 100_000).utf8)) == nil)
    }
}

/// The plug-in responds to the requests of the compiler, and responds with an error to an invalid request.
@Suite struct AnswerTests {
    @Test func theVersionOfTheProtocolIsAnswered() {
        let response = Response(to: Request(Array(#"{"getCapability":{"capability":{"protocolVersion":9}}}"#.utf8)))
        #expect(response.json.description == #"{"getCapabilityResult":{"capability":{"protocolVersion":7}}}"#)
    }

    @Test(arguments: [#"{"expandWithMagic":{}}"#, "not JSON", #"{"expandAttachedMacro":{"macro":{}}}"#, "[]", "{}"])
    func anUnknownMessageNamesTheGenerator(message: String) throws {
        let json = Response(to: Request(Array(message.utf8))).json
        guard case .array(let diagnostics)? = json["expandMacroResult"]?["diagnostics"] else { throw Missing() }
        let text = try #require(diagnostics.first?["message"]?.text)
        #expect(text.contains("version 7 of the compiler's plug-in protocol") && text.contains("`hornbeam generate`"))
    }

    struct Missing: Error {}

    @Test func diagnosticsLieAtTheOffendingByteOfTheFile() throws {
        let source = "\n\n@Entity final class A: ManagedObject {\n    let é: Int\n}"
        let part = SourcePart(source: source, fileName: "A.swift", offset: 100)
        let response = Expansion.response(to: .init(typeName: "EntityMacro", role: "member", attribute: part, declaration: part))
        guard case .array(let diagnostics)? = response.json["expandMacroResult"]?["diagnostics"] else { throw Missing() }
        let position = 100 + Array(source.utf8).count - "let é: Int\n}".utf8.count
        #expect(diagnostics.count == 1)
        #expect(diagnostics[0]["position"]?.description == #"{"fileName":"A.swift","offset":\#(position)}"#)
        #expect(
            diagnostics[0]["fixIts"]?.description
                == #"[{"message":"Make it a var","changes":[{"range":{"fileName":"A.swift","startOffset":\#(position),"endOffset":\#(position + 3)},"newText":"var"}]}]"#
        )
    }
}
