import Testing

@testable import HornbeamExpansion

/// The plug-in ends and does not trap, whatever the source: the compiler also expands macros of files that are being written.
@Suite struct FuzzTests {
    /// Each seed mutates the corpus in a different way; a failure prints the seed.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func mutatedSourceIsAnsweredInTime(seed: UInt64) {
        var mutation = Mutation(seed: seed)
        let clock = ContinuousClock()
        for _ in 0..<60 {
            let source = mutation.mutated(classOf: mutation.members())
            let time = clock.measure {
                for (type, role) in [("EntityMacro", "member"), ("EntityMacro", "memberAttribute"), ("ManagedPropertyMacro", "accessor")] {
                    let part = SourcePart(source: source)
                    let json = Expansion.response(to: .init(typeName: type, role: role, attribute: part, declaration: part)).json
                    if JSON(Array(json.description.utf8)) != json { Issue.record("seed \(seed): the response is no JSON: \(source)") }
                }
            }
            if time > .seconds(5) { Issue.record("seed \(seed): \(time) for \(source)") }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func mutatedMessagesAreAnswered(seed: UInt64) {
        var mutation = Mutation(seed: seed)
        let message = JSON.object([
            .init(key: "expandAttachedMacro", value: [
                "macro": ["typeName": .string("EntityMacro")], "macroRole": .string("member"),
                "attributeSyntax": ["source": .string("@Entity")],
                "declSyntax": ["source": .string("class A: B { var a: Int }"), "location": ["fileName": .string("a"), "offset": .number(3)]],
            ])
        ]).description
        for _ in 0..<200 { _ = Response(to: Request(Array(mutation.mutated(message).utf8))).json.description }
    }

    /// Source that makes a careless scanner read the same bytes repeatedly.
    @Test(arguments: [
        "\"\\(", "\"", "#\"", "/*", "#/a ", "(/[", "`", "{", "((", "<A", "[", "@A(", "var a: A<", "var a = ", "#if ", "\"\"\"\n\\(", "->", "a.", "!?",
        "x: (A) -> ", "@A ", "private(", "/a", "\u{0}", "é",
    ])
    func hostileRepetitionEndsSoon(piece: String) {
        let source = "class A: B { var a: T = " + String(repeating: piece, count: 5_000) + " }"
        let time = ContinuousClock().measure { _ = expand(source) }
        #expect(time < .seconds(20), "\(time)")
    }
}

/// Changes source at random, the same way for the same seed.
struct Mutation {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    private mutating func next(below bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(max(1, bound)))
    }

    /// Some members of the corpus.
    mutating func members() -> [String] {
        (0...next(below: 6)).map { _ in Corpus.members[next(below: Corpus.members.count)].source }
    }

    mutating func mutated(classOf members: [String]) -> String {
        mutated("@Entity(\"x\") public final class A: ManagedObject {\n" + members.joined(separator: "\n") + "\n}")
    }

    private static let pieces = [
        "\"", "\"\"\"", "#", "\\(", "(", ")", "[", "]", "{", "}", "<", ">", "/", "/*", "*/", "//", "`", "@", "\\", ",", ";", ":", "=", ".", "?", "!",
        "\n", "var ", "let ", "->", "é", "🙂", "\u{0}", "#if ", "#endif", "didSet", "&", "-",
    ].map { Array($0.utf8) }

    /// The source with up to six pieces removed, inserted or duplicated.
    mutating func mutated(_ source: String) -> String {
        var bytes = Array(source.utf8)
        for _ in 0...next(below: 6) {
            let start = next(below: bytes.count)
            let end = min(bytes.count, start + next(below: 12))
            switch next(below: 5) {
            case 0: bytes.removeSubrange(start..<end)
            case 1: bytes.insert(contentsOf: Self.pieces[next(below: Self.pieces.count)], at: start)
            case 2: bytes.insert(contentsOf: Array(bytes[start..<end]), at: next(below: bytes.count + 1))
            case 3: if start < bytes.count { bytes[start] = UInt8(next(below: 256)) }
            default: if next(below: 4) == 0 { bytes.removeSubrange(start...) }
            }
            if bytes.isEmpty { bytes = [0x20] }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
