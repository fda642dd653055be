import Foundation
import Testing

@testable import HornbeamModel

/// An object that refers to itself a hundred times, and so without end.
private final class Knot: KeyedValues {
    func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        switch key {
        case "name": .value("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
        case "long": .value(.string(Self.long))
        default: .collection(Array(repeating: .object(self), count: 100), isOrdered: true)
        }
    }

    private static let long = String(repeating: "a", count: 300_000)
}

/// Formats from untrusted sources: the evaluation ends soon, with a result or an error.
@Suite struct HostilePredicateTests {
    /// A part of the usual limit of work, so that most of these tests need not reach the full limit.
    private static let units = 500_000

    private func complaint(_ format: String, units: Int = units) -> String {
        do {
            var evaluation = Evaluation(.object(Knot()), work: EvaluationBudget(units: units))
            return "\(try evaluation.holds(FetchPredicate(format: format).node))"
        } catch {
            return (error as? HornbeamError)?.message ?? "\(error)"
        }
    }

    private static let tooMuch = """
        The predicate reads more than 10000000 values for one object, so its evaluation was stopped. Use fewer to-many relationships in one \
        key path, and fewer SUBQUERYs inside one another.
        """

    @Test("walks without end are given up", .timeLimit(.minutes(20)), arguments: [
        "SUBQUERY(a, $x, SUBQUERY(a, $y, SUBQUERY(a, $z, SUBQUERY(a, $w, $w.b == 1).@count == 1).@count == 1).@count == 1).@count == 1",
        "a.a.a.a.a.@count == 0",
        "($x := a.a.a) != nil AND $x == $x AND ALL $x IN $x",
        "(a.a.a UNION a.a.a) INTERSECT a.a.a.a == 1",
        "($a := a.a.a) == 1 OR ($b := {$a, $a, $a, $a, $a, $a, $a, $a, $a, $a, $a}) == 1 OR {$b, $b, $b, $b, $b}.name == 1",
    ])
    func endlessWalks(format: String) { #expect(complaint(format) == Self.tooMuch) }

    @Test("an evaluation may examine ten million values", .timeLimit(.minutes(20)))
    func theBudgetOfPrograms() throws {
        let predicate = try FetchPredicate(format: "a.a.a.a.a.@count == 0")
        let error = #expect(throws: HornbeamError.self) { try predicate.evaluate(with: Knot()) }
        #expect(error?.message == Self.tooMuch)
        #expect(complaint("a.a.a.@count == 0", units: EvaluationBudget.unitsMax) == "false")
    }

    @Test("MATCHES over many members stops when the budget of the whole evaluation is used up", .timeLimit(.minutes(20)))
    func patternsOfManyMembers() {
        #expect(complaint("ANY a.name MATCHES '(a+)+b'", units: EvaluationBudget.unitsMax).contains("stopped evaluating"))
        #expect(complaint("name MATCHES '(a|aa)*b' OR ALL a.name MATCHES 'a*'", units: EvaluationBudget.unitsMax) != "")
    }

    @Test("LIKE and MATCHES are paid for by their steps, over all members together", .timeLimit(.minutes(20)), arguments: [
        "SUBQUERY(a, $x, $x.long LIKE '*aaaaaaaaaaaaaaaaaaaab*').@count == 0",
        "ANY a.a.name MATCHES '(a|b)+c'", "ANY a.a.name MATCHES 'a*a*a*a*b'",
    ])
    func stepsOfPatterns(format: String) {
        let time = processorTime { #expect(complaint(format) == Self.tooMuch) }
        #expect(time < .seconds(30))
    }

    @Test("plain patterns over many members cost little", arguments: ["ANY a.a.name MATCHES '.*b.*'", "ANY a.a.name LIKE '*b*'"])
    func plainPatterns(format: String) { #expect(complaint(format, units: EvaluationBudget.unitsMax) == "false") }

    @Test("one LIKE on one long text is bounded too, compiled or not", .timeLimit(.minutes(20)))
    func oneLongLike() throws {
        let text = String(repeating: "a", count: 1_000_000)
        let predicate = try FetchPredicate(format: "SELF LIKE %@", "*" + String(repeating: "a", count: 4000) + "b*")
        let error = #expect(throws: HornbeamError.self) { try predicate.evaluate(with: .string(text)) }
        #expect(error?.message == Self.tooMuch)
    }

    @Test("collections inside collections end somewhere")
    func depthOfCollections() {
        let format = "($a := {1, $b}) == 1" + String(repeating: " OR ($a := {$a, 2}) == 1", count: 1000)
        #expect(complaint(format).contains("$b has no value"))
        #expect(complaint(format.replacing("$b", with: "SELF.name")) == "The predicate makes collections inside collections, more than 64 deep.")
    }

    @Test("a text that replacements make longer and longer is limited")
    func replacementsAreLimited() {
        let long = String(repeating: "a", count: 1000)
        var format = "'\(long)'"
        for _ in 0 ..< 8 { format = "replace:occurrencesOf:with:(\(format), 'a', '\(long)')" }
        #expect(complaint("length:(\(format)) > 1").contains("so its evaluation was stopped"))
    }

    @Test("dates beyond the calendar have a description", arguments: ["nan", "inf", "-inf", "1e300", "-1e19"])
    func descriptionsOfExtremeDates(seconds: String) {
        #expect(complaint("CAST(CAST('\(seconds)', 'NSNumber'), 'NSDate').description BEGINSWITH '<'") == "true")
    }

    @Test("patterns have a maximum length, and the time of a search depends on the text alone", .timeLimit(.minutes(20)))
    func longPatterns() throws {
        let long = String(repeating: "a", count: 200_000)
        #expect(complaint("name LIKE '\(long)'") == "The right side of LIKE has 200000 bytes, and may have 4096.")
        #expect(complaint("name MATCHES '\(long)'") == "The right side of MATCHES has 200000 bytes, and may have 16384. Pass long lists to IN.")
        let text: PropertyValue = .string(String(repeating: "a", count: 1_000_000))
        #expect(try !FetchPredicate(format: "SELF CONTAINS %@", long + "b").evaluate(with: text))
        #expect(try FetchPredicate(format: "SELF CONTAINS %@", long).evaluate(with: text))
    }

    @Test("each level of nesting is visited once in each direction", .timeLimit(.minutes(20)))
    func nestedSubqueries() throws {
        let depth = 30
        let format = String(repeating: "SUBQUERY(a, $x, ", count: depth) + "TRUEPREDICATE" + String(repeating: ").@count == 1", count: depth)
        let predicate = try FetchPredicate(format: format)
        #expect(!PredicateAnalysis(predicate).hasBlocks)
        #expect(try FetchPredicate(format: predicate.description).description == predicate.description)
        #expect(complaint(format) == Self.tooMuch)
    }

    @Test("a long needle is found where a plain search finds it")
    func searchesAgree() throws {
        var random = SystemRandomNumberGenerator()
        for length in [1, 2, 31, 32, 33, 40, 64] {
            for _ in 0..<200 {
                let text = String((0..<200).map { _ in Bool.random(using: &random) ? "a" : "b" }.map(Character.init))
                let start = Int.random(in: 0...(200 - length), using: &random)
                var needle = Array(text.utf8)[start..<start + length]
                if Bool.random(using: &random) { needle[start + length / 2] ^= 3 }
                let part = String(decoding: needle, as: UTF8.self)
                let found = try FetchPredicate(format: "SELF CONTAINS %@", part).evaluate(with: .string(text))
                #expect(found == text.contains(part), "\(part) in \(text)")
            }
        }
    }
}
