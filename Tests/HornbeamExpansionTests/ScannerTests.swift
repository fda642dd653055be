import Testing

@testable import HornbeamExpansion

/// The scanner finds the expected declarations of the corpus, one by one and all together.
@Suite struct ScannerTests {
    @Test func theCorpusHoldsAtLeast300Declarations() { #expect(Corpus.members.count >= 300, "\(Corpus.members.count)") }

    /// Each declaration between two others, which must be found too.
    @Test func eachDeclarationIsFoundBetweenOthers() throws {
        for (source, expected) in Corpus.members {
            let found = try outline("@Entity class A: ManagedObject {\n    var first: Int\n    \(source)\n    var last: Int\n}")
            #expect(found == ["first: Int"] + expected + ["last: Int"], "\(source)")
        }
    }

    @Test func allDeclarationsAreFoundInOneClass() throws {
        let body = Corpus.members.map(\.source).joined(separator: "\n")
        let found = try outline("public class A: ManagedObject, Sendable {\n\(body)\n}")
        #expect(found == Corpus.members.flatMap(\.expected))
    }

    @Test func declarationsAreFoundWithoutLineEnds() throws {
        for (source, expected) in Corpus.members where !source.contains("\n") && !source.contains("//") {
            #expect(try outline("class A: B { \(source); var last: Int }") == expected + ["last: Int"], "\(source)")
        }
    }

    @Test(arguments: [
        "class A {}", "@Entity final class A: ManagedObject {}", "public final class A : B.C<D> , E where T == U {}",
        "/// A.\n@Entity(\"x\", abstract: true)\n@available(macOS 15, *) open class A\n  : ManagedObject\n{\n}", "private class `class`: B {}",
        // A sample, which is read and not compiled.
        "@MainActor class A: B, @unchecked Sendable { }", "class A<T: P<Q>>: B where T: R { }", "class A: ~Copyable & P { }",
    ])
    func headsOfClassesAreRead(source: String) throws {
        var scanner = DeclarationScanner(source)
        let found = try scanner.scanClass()
        #expect(["A", "class"].contains(found.name) && found.properties.isEmpty)
    }

    @Test func initialisersAreNoted() throws {
        var scanner = DeclarationScanner("class A: B { init(in a: Int) {}; convenience init?<T>(_ b: T) where T: P {}; required init() {} }")
        #expect(try scanner.scanClass().initialisers == [
            .init(firstLabel: "in", isConvenience: false), .init(firstLabel: "_", isConvenience: true),
            .init(firstLabel: nil, isConvenience: false),
        ])
    }

    @Test func argumentsOfMacrosAreRead() throws {
        var scanner = DeclarationScanner("class A: B { #Index<A>([\\.a, \\.b], name: \"x, y\", where: f(1, [2: 3]))\n#warning(\"no\")\nvar a: Int }")
        let found = try scanner.scanClass()
        #expect(found.macros.map(\.name) == ["Index", "warning"])
        #expect(found.macros[0].arguments.map(\.source) == ["[\\.a, \\.b]", "name: \"x, y\"", "where: f(1, [2: 3])"])
    }

    @Test(arguments: [
        ("class A: B { var a: Int", 11), ("class A: B { var a = (1 }", 24), ("class A: B { /* open }", 13),
        ("class A: B { var a = \"open\n }", 21), ("class A: B { ] }", 13),
    ])
    func brokenSourceIsReportedInItsPlace(source: String, position: Int) {
        var scanner = DeclarationScanner(source)
        #expect { try scanner.scanClass() } throws: { ($0 as? DeclarationScanner.Failure)?.position == position }
    }
}
