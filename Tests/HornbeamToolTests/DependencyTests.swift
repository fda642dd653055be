import Testing

@testable import HornbeamTool

@Suite struct DependencyTests {
    private func parse(_ text: String) throws -> [DependencyClause] {
        try Array(text.utf8).withUnsafeBytes { try DependencyParser.clauses($0) }
    }

    @Test func alternativesConstraintsAndRestrictionsAreRead() throws {
        let clauses = try parse("python3:any (>= 3.11~) | pypy3,\n libc6 [amd64 !i386] <!nocheck> <stage1 cross>, a(=1:2.0-3)")
        var python = DependencyAlternative(name: "python3", architectureQualifier: "any")
        python.constraint = VersionConstraint(relation: .laterOrEqual, version: "3.11~")
        var libc = DependencyAlternative(name: "libc6", architectures: ["amd64", "!i386"])
        libc.profiles = [["!nocheck"], ["stage1", "cross"]]
        let a = DependencyAlternative(name: "a", constraint: VersionConstraint(relation: .equal, version: "1:2.0-3"))
        #expect(clauses == [
            DependencyClause(alternatives: [python, DependencyAlternative(name: "pypy3")]),
            DependencyClause(alternatives: [libc]), DependencyClause(alternatives: [a]),
        ])
    }

    @Test(arguments: [
        ("<<", VersionConstraint.Relation.earlier), ("<=", .earlierOrEqual), ("<", .earlierOrEqual), ("=", .equal),
        (">=", .laterOrEqual), (">", .laterOrEqual), (">>", .later),
    ])
    func everyRelationIsRead(spelling: String, relation: VersionConstraint.Relation) throws {
        #expect(try parse("a (\(spelling) 1)").first?.alternatives.first?.constraint?.relation == relation)
    }

    @Test func emptyClausesAreIgnored() throws {
        #expect(try parse("") == [])
        #expect(try parse(" a , , b, ").map { $0.alternatives[0].name } == ["a", "b"])
    }

    @Test(arguments: [
        ("a b", 2, "a comma was expected and 'b' found"),
        ("a |", 3, "a package name was expected and the end of the field found"),
        ("| a", 0, "a package name was expected and '|' found"),
        ("a (1.0)", 3, "one of << <= = >= >> was expected"),
        ("a (=> 1.0)", 3, "one of << <= = >= >> was expected"),
        ("a (>= )", 6, "a version was expected and ')' found"),
        ("a (>= 1", 7, "the version constraint is not closed with ')'"),
        ("a [amd64", 8, "the list is not closed with ']'"),
        ("a <x, y>", 4, "a name or '>' was expected and ',' found"),
        ("a: (>= 1)", 2, "an architecture was expected and byte 32 found"),
        ("${misc:Depends}", 0, "a package name was expected and '$' found"),
    ])
    func errorsHaveAnOffsetAndAReason(text: String, offset: Int, reason: String) {
        #expect(throws: DependencyParser.Failure(offset: offset, reason: reason)) { try parse(text) }
    }

    /// Each version is earlier than the next.
    @Test func versionsAreOrderedAsDebianOrdersThem() {
        let ascending = [
            "~~", "~~a", "~", "", "0.9", "1.0~beta1~svn1245", "1.0~beta1", "1.0", "1.0-1~bpo1", "1.0-1", "1.0-1+deb12u1", "1.0-2",
            "1.0-10", "1.0a", "1.0+dfsg", "1.0.1", "1.2.3", "1.10", "9.99", "1:0.1", "2:0.0.1-1",
        ]
        for (i, a) in ascending.enumerated() {
            for (j, b) in ascending.enumerated() {
                #expect(DebianVersion.compare(a, b).signum() == (i - j).signum(), "\(a) ? \(b)")
            }
        }
        #expect(DebianVersion.compare("1.00", "1.0") == 0)
        #expect(DebianVersion.compare("0:1.0-0", "1.0") == 0)
    }

    @Test(arguments: VersionConstraint.Relation.allCases)
    func constraintsAdmitWhatTheyName(relation: VersionConstraint.Relation) {
        let admitted = ["1.0", "1.5", "2.0"].filter { VersionConstraint(relation: relation, version: "1.5").admits($0) }
        let expected: [VersionConstraint.Relation: [String]] = [
            .earlier: ["1.0"], .earlierOrEqual: ["1.0", "1.5"], .equal: ["1.5"], .laterOrEqual: ["1.5", "2.0"], .later: ["2.0"],
        ]
        #expect(admitted == expected[relation])
    }
}
