import Foundation
import HornbeamModel
import Testing

/// The semantics of predicates: nil, numbers, texts, collections, functions.
struct PredicateMeaningTests {
    private func holds(_ format: String, _ object: [String: PropertyValue] = [:]) throws -> Bool {
        try FetchPredicate(format: format).evaluate(with: object)
    }

    private func value(_ format: String, _ object: [String: PropertyValue] = [:]) throws -> PropertyValue? {
        try FetchExpression(format: format).value(with: object).propertyValue
    }

    @Test(arguments: [
        ("x == nil", true), ("x != nil", false), ("x == 5", false), ("x != 5", true), ("x < 5", false), ("x > 5", false),
        ("x <= nil", false), ("x BETWEEN {1, 2}", false), ("x BEGINSWITH 'a'", false), ("x CONTAINS 'a'", false),
        ("x LIKE '*'", false), ("x MATCHES '.*'", false), ("NOT (x == 5)", true), ("NOT x < 5", true), ("x IN {1, 2}", false),
        ("x IN {1, nil}", true), ("x.y.z == nil", true), ("x.@count == 0", true), ("x.@sum.y == 0", true), ("x.@avg.y == nil", true),
        ("x.@min.y == nil", true), ("ANY x == 1", false), ("ALL x == 1", true), ("NONE x == 1", true), ("x + 1 == nil", true),
        ("x IN nil", false), ("nil == nil", true),
    ])
    func nilIsAValueThatHasNoOrder(format: String, expected: Bool) throws {
        #expect(try holds(format, ["x": .null]) == expected)
    }

    @Test(arguments: [
        "1 == 1.0", "1 == TRUE", "9007199254740993 > 9007199254740992.0", "9007199254740993 != 9007199254740992.0",
        "CAST('0.1', 'NSDecimalNumber') == 0.1", "CAST('1', 'NSDecimalNumber') == 1", "2 IN {1.0, 2.0}", "0 == -0.0",
        "NOT CAST('nan', 'NSNumber') == CAST('nan', 'NSNumber')", "NOT CAST('nan', 'NSNumber') > 1", "CAST('nan', 'NSNumber') != 1",
        "9223372036854775807 < 9223372036854775808", "1e300 > 9223372036854775807", "-1e300 < -9223372036854775808",
    ])
    func numbersCompareByValueAcrossTypes(format: String) throws {
        #expect(try holds(format))
    }

    @Test(arguments: [
        ("'a' < 'b'", true), ("'Z' < 'a'", true), ("'a' == 'A'", false), ("'a' ==[c] 'A'", true), ("'é' == 'e'", false),
        ("'é' ==[d] 'e'", true), ("'É' ==[cd] 'e'", true), ("'É' ==[cdn] 'e'", false), ("'straße' ==[c] 'STRASSE'", true),
        ("'é' == 'e\\u0301'", false), ("'é' ==[d] 'e\\u0301'", true), ("'ﬁn' ==[c] 'FIN'", true), ("'ΑΣ' ==[c] 'ας'", true),
        ("'abc' CONTAINS ''", false), ("'abc' BEGINSWITH ''", false), ("'' LIKE ''", true), ("'abc' LIKE 'a?c'", true),
        ("'日本' LIKE '??'", true), ("'a*c' LIKE 'a\\\\*c'", true), ("'abc' LIKE 'a\\\\*c'", false), ("'aXbXc' LIKE '*X?'", true),
        ("'abc' MATCHES 'b'", false), ("'abc' MATCHES 'a.c'", true), ("'ABC' MATCHES[c] 'a.c'", true), ("'b' IN 'abc'", true),
        ("'B' IN[c] {'a', 'b'}", true), ("'x' UTI-EQUALS 'x'", true), ("'item 9' <[l] 'item 10'", true), ("'item 9' < 'item 10'", false),
    ])
    func textsCompareByBytesUnlessFolded(format: String, expected: Bool) throws {
        #expect(try holds(format) == expected)
    }

    @Test(arguments: [
        "'a' < 1", "1 < 'a'", "'1' == 1", "d < 1", "d == 0", "'a' BETWEEN {1, 2}",
    ])
    func valuesOfDifferentKindsAreNeitherEqualNorOrdered(format: String) throws {
        #expect(try !holds(format, ["d": .date(Date(timeIntervalSinceReferenceDate: 0))]))
    }

    @Test(arguments: [
        ("7 / 2", PropertyValue.int(3)), ("-7 / 2", .int(-3)), ("7 / 2.0", .double(3.5)), ("1 / 0", .null), ("modulus:by:(7, 3)", .int(1)),
        ("modulus:by:(7, 0)", .null), ("2 ** 62 * 4", .double(0x1p64)), ("9223372036854775807 + 1", .double(0x1p63)), ("2 ** -1", .double(0.5)),
        ("CAST('0.1', 'NSDecimalNumber') + CAST('0.2', 'NSDecimalNumber') == CAST('0.3', 'NSDecimalNumber')", .null),
        ("sum({1, 2, 3.5})", .double(6.5)), ("sum({})", .int(0)), ("average({1, 2})", .double(1.5)), ("average({})", .null), ("count({1, nil})", .int(2)),
        ("median({3, 1, 2})", .int(2)), ("median({4, 1, 2, 3})", .double(2.5)), ("mode({1, 2, 2, 3, 3})", .array([.int(2), .int(3)])),
        ("min({3, 1, 2})", .int(1)), ("max(3, 1, 2)", .int(3)), ("stddev({2, 4, 4, 4, 5, 5, 7, 9})", .double(2)), ("sqrt(9)", .double(3)),
        ("floor(-1.5)", .double(-2)), ("ceiling(1.2)", .double(2)), ("trunc(-1.7)", .double(-1)), ("abs(-3)", .int(3)),
        ("uppercase('straße')", .string("STRASSE")), ("lowercase('ÀB')", .string("àb")), ("canonical('Crème Brûlée')", .string("creme brulee")),
        ("trim:(' \\t a b\u{a0}\\n')", .string("a b")), ("trim('')", .string("")), ("trim(' \u{2003} ')", .string("")), ("trim(nil)", .null),
        ("substring:from:length:('hornbeam', 4, 2)", .string("be")), ("substring('ab', 1, 9)", .string("b")), ("substring('ab', -1, 2)", .string("a")),
        ("substring('ab', 0, -1)", .string("")), ("substring('a🚀b', 1, 2)", .string("🚀")), ("substring('a🚀b', 2, 2)", .string("b")),
        ("substring('ab', 9223372036854775807, 9223372036854775807)", .string("")), ("substring('ab', nil, 1)", .null),
        ("replace:occurrencesOf:with:('aXbXX', 'X', '--')", .string("a--b----")), ("replace('aaa', 'aa', 'b')", .string("ba")),
        ("replace('abc', '', 'x')", .string("abc")), ("replace('abc', 'B', 'x')", .string("abc")), ("replace('é', 'e', 'x')", .string("é")),
        ("replace('abc', 'b', '')", .string("ac")), ("replace('abc', nil, '')", .null),
        ("length('日🚀')", .int(3)), ("bitwiseAnd:with:(12, 10)", .int(8)), ("12 | 3", .int(15)), ("12 ^ 10", .int(6)), ("1 << 4", .int(16)),
        ("~0", .int(-1)), ("noindex:(5)", .int(5)), ("randomn:(1)", .int(0)), ("TERNARY(1 < 2, 'a', 'b')", .string("a")), ("{1, 2}[SIZE]", .int(2)),
        ("{1, 2}[LAST]", .int(2)), ("{1, 2}[5]", .null), ("{1, 2} UNION {2, 3}", .set([.int(1), .int(2), .int(3)])), ("{1, 2} MINUS {2}", .set([.int(1)])),
        ("CAST('5', 'NSNumber') + 1", .int(6)), ("CAST(5, 'NSString')", .string("5")), ("$x := 3", .int(3)),
        ("CAST(10, 'NSDate') - CAST(4, 'NSDate')", .double(6)),
    ])
    func expressionsCalculate(format: String, expected: PropertyValue) throws {
        if let result = try? value(format) { #expect(result == expected) } else { #expect(try holds(format)) }
    }

    @Test("a product that is too small for a decimal is no number, and does not end the process", arguments: [
        "CAST('1e-100', 'NSDecimalNumber') * CAST('1e-29', 'NSDecimalNumber')", "CAST('1e-100', 'NSDecimalNumber') ** 2",
        "CAST('0.0001', 'NSDecimalNumber') ** 40",
    ])
    func smallProducts(format: String) throws {
        #expect(try !holds("\(format) == 0"))
        #expect(try !holds("\(format) < 1"))
    }

    @Test("equality is the same for values in any kind of collection", arguments: [
        "{60} == {60.0}", "c == {a: 60}", "c == d", "{{1}} == l", "{{1}} == {{1.0}}", "l == {{CAST('1', 'NSDecimalNumber')}}",
        "({l} MINUS {{{1.0}}}).@count == 0", "({c} MINUS {d}).@count == 0", "({c} INTERSECT {d}).@count == 1", "({c, d} UNION {d}).@count == 1",
        "({{1}} MINUS l).@count == 0", "({{n}} MINUS {{1}}).@count == 0", "c IN {d}", "{c, 1} == {d, 1.0}", "s == {2.0, 1}", "c.a == 60",
        "e == f", "NOT {c} == {e}", "{c}.@distinctUnionOfObjects.a == {60}", "{c, d}.@distinctUnionOfObjects.a == {60.0}",
        "{CAST('0.1', 'NSDecimalNumber')} == {0.1}",
    ])
    func equalityIsOne(format: String) throws {
        let object: [String: PropertyValue] = [
            "n": 1, "l": .array([.array([1])]), "s": .set([1, 2]), "c": .dictionary(["a": 60]), "d": .dictionary(["a": 60.0]),
            "e": .dictionary(["a": 61, "b": .null]), "f": .dictionary(["a": 61]),
        ]
        let format = format.replacing("{a: 60}", with: "CAST({'a', 60.0}, 'NSDictionary')")
        #expect(try holds(format, object))
        #expect(PropertyValue.dictionary(["a": [1, 2.0]]).isEqual(to: .dictionary(["a": [1.0, 2], "b": .null])))
        #expect(!PropertyValue.dictionary(["a": 1]).isEqual(to: .dictionary(["b": 1])))
    }

    @Test("decimals stay decimals through every operator", arguments: [
        ("D(7.5) % 2", "1.5"), ("D(-7.5) % 2", "-1.5"), ("D(1e60) % 7", "1"), ("D(0.3) % D(0.1)", "0"), ("D(1.1) ** 2", "1.21"),
        ("D(2) ** -1", "0.5"), ("D(10) ** 100", "1e100"), ("D(4) ** 0.5", "2"), ("D(7) % 0", nil), ("D(0) ** -1", nil), ("D(10) ** 1000", nil),
        ("D(0.1) + D(0.2)", "0.3"), ("max:({D(1.5), D(2.5)})", "2.5"), ("mode:({D(0.1), D(0.1), D(0.2)})[0]", "0.1"),
    ])
    func decimalsStayDecimals(format: String, expected: String?) throws {
        let written = format.replacing(/D\(([^)]*)\)/) { "CAST(\"\($0.output.1)\", \"NSDecimalNumber\")" }.replacing("%", with: "%%")
        #expect(try value(written) == expected.map { .decimal(Decimal(string: $0)!) } ?? .null)
    }

    @Test func distanceIsTheWayOverTheEarth() throws {
        let result = try value("distanceToLocation:fromLocation:({59.91, 10.75}, {48.86, 2.35})")?.doubleValue ?? 0
        #expect(abs(result - 1_343_000) < 3_000)
    }

    @Test func assignmentBindsItsVariableForWhatFollows() throws {
        #expect(try holds("($x := a + 1) > 2 AND $x == 3", ["a": 2]))
    }

    @Test func subqueryVariableIsLocalAndHidesAnOuterOne() throws {
        let object: [String: PropertyValue] = ["items": [.dictionary(["n": 1]), .dictionary(["n": 5])], "limit": 3]
        let predicate = try FetchPredicate(format: "SUBQUERY(items, $x, $x.n > limit).@count == 1 AND $x == 7")
        #expect(try predicate.evaluate(with: object, variables: ["x": 7]))
        #expect(predicate.variableNames == ["x"])
    }

    @Test func keyPathsOverCollectionsMapAndFlatten() throws {
        let object: [String: PropertyValue] = [
            "teams": [
                .dictionary(["members": [.dictionary(["age": 1]), .dictionary(["age": 2])]]),
                .dictionary(["members": [.dictionary(["age": 3])]]),
            ]
        ]
        #expect(try value("teams.members.age", object) == [1, 2, 3])
        #expect(try value("teams.members.@sum.age", object) == 6)
        #expect(try value("teams.members.age.@max", object) == 3)
        #expect(try holds("ANY teams.members.age == 3 AND ALL teams.members.age > 0", object))
        #expect(try value("teams.members.@distinctUnionOfObjects.age", object) == [1, 2, 3])
    }

    @Test func anyKeyLooksAtEveryValue() throws {
        #expect(try holds("ANYKEY == 2", ["a": 1, "b": 2]))
        #expect(try !holds("ANYKEY CONTAINS 'x'", ["a": 1, "b": "y"]))
    }

    @Test func anyOverASingleValueIsAnError() {
        let error = #expect(throws: HornbeamError.self) { try holds("ALL age > 5", ["age": 3]) }
        #expect(error?.message == "ALL needs a collection, but age is a single value. Leave out ALL.")
    }

    @Test func unboundVariableIsNamed() {
        let error = #expect(throws: HornbeamError.self) { try holds("a == $limit", ["a": 3]) }
        #expect(error?.message == "The variable $limit has no value. Pass one when evaluating, or use substituting(_:) first.")
        #expect(error?.code == .predicateEvaluation)
    }

    @Test func catastrophicRegularExpressionEnds() throws {
        let text = String(repeating: "a", count: 40) + "c"
        let error = #expect(throws: HornbeamError.self) {
            try FetchPredicate(format: "SELF MATCHES '(a+)+b'").evaluate(with: .string(text))
        }
        #expect(error?.message.hasPrefix("MATCHES stopped evaluating the regular expression \"(a+)+b\"") == true)
    }

    @Test func brokenRegularExpressionIsShown() {
        let error = #expect(throws: HornbeamError.self) { try holds("'a' MATCHES '('") }
        #expect(error?.message == #"""
            The right side of MATCHES is not a regular expression: "(". \#
            Check its brackets and escapes; a backslash in a format is written twice.
            """#)
    }

    @Test("a variable of a SUBQUERY hides one with the same name that is bound to an object", arguments: [
        "SUBQUERY(tags, $s, $s.label == 'a').@count == 1 AND name == $s.name",
        "SUBQUERY(tags, $s, SUBQUERY($s.parts, $s, $s.label == 'b').@count == 1).@count == 1 AND $s.label == 'outer'",
        "SUBQUERY($s.tags, $s, $s.label == 'own').@count == 1",
    ])
    func subqueryHidesBoundVariable(format: String) throws {
        let tags: PropertyValue = .array([.dictionary(["label": .string("a"), "parts": .array([.dictionary(["label": .string("b")])])])])
        let source: [String: PropertyValue] = [
            "name": .string("n"), "label": .string("outer"), "tags": .array([.dictionary(["label": .string("own")])]),
        ]
        let bound = try FetchPredicate(format: format).binding("s", to: .value(.dictionary(source)))
        #expect(try bound.evaluate(with: ["name": PropertyValue.string("n"), "tags": tags]), "\(bound)")
    }

    @Test("MDL-1: every variable of a template must be supplied")
    func missingVariableIsNamed() throws {
        let template = try FetchPredicate(format: "a == $A AND b IN {$B, 2} AND SUBQUERY(c, $x, $x.d == $D).@count > 0")
        #expect(template.variableNames == ["A", "B", "D"])
        let error = #expect(throws: HornbeamError.self) { try template.substitutingAll(["A": 1, "D": 3]) }
        #expect(error?.message == "The variable $B has no value. A fetch needs a value for every variable of its predicate.")
        let bound = try template.substitutingAll(["A": 1, "B": "x", "D": .null, "x": 9])
        #expect(bound.description == "a == 1 AND b IN {\"x\", 2} AND SUBQUERY(c, $x, $x.d == nil).@count > 0")
    }

    @Test("FET-26: collections in memory are filtered and sorted")
    func collectionsAreFilteredAndSorted() throws {
        let rows: [[String: PropertyValue]] = [["n": "b", "a": 1], ["n": "A", "a": 2], ["n": .null, "a": 3], ["n": "a10", "a": 4], ["n": "a9", "a": 5]]
        #expect(try rows.filtered(by: FetchPredicate(format: "a > 3")).map { $0["a"] } == [4, 5])
        #expect(try rows.sorted(by: [.ascending("n")]).map { $0["a"] } == [3, 2, 4, 5, 1])
        #expect(try rows.sorted(by: [.descending("n", comparison: .caseInsensitive)]).map { $0["a"] } == [1, 5, 4, 2, 3])
        #expect(try rows.sorted(by: [.ascending("n", comparison: .localizedStandard)]).map { $0["a"] } == [3, 2, 5, 4, 1])
    }

    @Test func blocksSeeTheObjectAndTheVariables() throws {
        let predicate = FetchPredicate.block { object, variables in
            guard case .object(let keyed) = object else { return false }
            return try keyed.evaluatedValue(forKey: "a").propertyValue == variables["limit"]
        }
        #expect(try predicate.evaluate(with: ["a": 3], variables: ["limit": 3]))
        #expect(predicate != FetchPredicate.block { _, _ in true })
        #expect(throws: HornbeamError.self) { try JSONEncoder().encode([predicate]) }
    }

    @Test("plain values have the keys self and description, as Foundation's classes do", arguments: [
        ("SELF.self == 'x'", "x"), ("description == 'x'", "x"), ("description == '5'", 5), ("description == '1'", true),
        ("description == '2.5'", 2.5), ("description == '2'", 2.0), ("self.description.length == 1", 7),
        ("description BEGINSWITH '2001-01-01 00:00:00'", .date(Date(timeIntervalSinceReferenceDate: 0))),
        ("ANY SELF.description == '3'", .array([2, 3])), ("SELF.self.@count == 2", .array([2, 3])),
    ] as [(String, PropertyValue)])
    func plainValuesHaveFoundationsKeys(_ format: String, _ value: PropertyValue) throws {
        #expect(try FetchPredicate(format: format).evaluate(with: value))
    }
}
