import HornbeamModel
import Testing

/// The parts of a predicate that planners use.
struct PredicateAnalysisTests {
    private func analysis(_ format: String) throws -> PredicateAnalysis { PredicateAnalysis(try FetchPredicate(format: format)) }

    private func printed(_ conjunct: PredicateAnalysis.Conjunct) -> String {
        switch conjunct {
        case .term(let term):
            let path = FetchExpression(node: .keyPath(.evaluatedObject, term.path))
            return "\(path) | \(term.comparator.word)\(term.options.letters) | \(FetchExpression(node: .constant(term.value)))"
        case .other(let node): return FetchPredicate(node: node).description
        }
    }

    @Test func conjunctsAreListedWithConstantsOnTheRight() throws {
        let found = try analysis("(a == 1 AND (5 > b AND c.d BEGINSWITH[cd] 'x')) AND (e == 1 OR f == 2) AND TRUEPREDICATE AND g IN {1, 1 + 1}")
        #expect(found.conjuncts.map(printed) == [
            "a | == | 1", "b | < | 5", "c.d | BEGINSWITH[cd] | \"x\"", "e == 1 OR f == 2", "g | IN | {1, 2}",
        ])
        #expect(found.keyPaths.count == 6)
        #expect(!found.hasBlocks && !found.isVolatile && !found.isAlwaysFalse)
    }

    @Test(arguments: [
        ("1 == 1", "TRUEPREDICATE"), ("1 == 2 AND a == 1", "FALSEPREDICATE"), ("1 == 2 OR a == 1", "a == 1"), ("NOT NOT a == 1", "a == 1"),
        ("NOT a == 1", "a != 1"), ("NOT a < 1", "NOT a < 1"), ("NOT ANY a == 1", "NOT ANY a == 1"), ("a > 2 * 3 + 1", "a > 7"),
        ("a == uppercase('x')", "a == \"X\""), ("a > now()", "a > now()"), ("TERNARY(1 < 2, a, b) == 1", "a == 1"), ("a IN {1} UNION {2}", "a IN {1, 2}"),
        ("a == $x + (1 + 1)", "a == $x + 2"), ("ALL {} == 1", "TRUEPREDICATE"), ("1 / 0 == nil", "TRUEPREDICATE"),
    ])
    func constantsAreCalculated(format: String, simplified: String) throws {
        #expect(FetchPredicate(node: try analysis(format).predicate).description == simplified)
    }

    @Test func setsOfInBecomeSortedLists() throws {
        let predicate = try FetchPredicate(format: "a IN %@", Set([3, 1, 2]))
        #expect(FetchPredicate(node: PredicateAnalysis(predicate).predicate).description == "a IN {1, 2, 3}")
        #expect(PredicateAnalysis(predicate).conjuncts.count == 1)
    }

    @Test func alternativesAreGivenAsTerms() throws {
        let node = try analysis("a == 1 OR b > 2").predicate
        #expect(PredicateAnalysis.terms(ofAnyIn: node)?.map(\.key) == ["a", "b"])
        #expect(PredicateAnalysis.terms(ofAnyIn: try analysis("a == 1 OR b > c").predicate) == nil)
    }

    @Test func blocksAndVolatileFunctionsAreReported() throws {
        #expect(PredicateAnalysis(.block { _, _ in true } && .init(value: true)).hasBlocks)
        #expect(try analysis("a < now()").isVolatile)
        #expect(try analysis("1 == 2").isAlwaysFalse)
        #expect(PredicateAnalysis(nil as FetchPredicate?).conjuncts.isEmpty)
    }
}
