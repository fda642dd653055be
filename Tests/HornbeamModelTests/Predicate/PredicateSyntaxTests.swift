import Foundation
import HornbeamModel
import Testing

/// The parser's errors for texts that are not predicates.
struct PredicateSyntaxTests {
    private func message(_ format: String, _ arguments: (any PredicateArgument)?...) -> String {
        do {
            let predicate = try FetchPredicate(format: format, arguments: arguments)
            return "parsed as \(predicate)"
        } catch let error as HornbeamError {
            #expect(error.code == .predicateSyntax)
            return error.message
        } catch {
            return "\(error)"
        }
    }

    @Test func misspeltOperatorIsShown() {
        #expect(message("age CONATINS 0") == """
            The predicate format does not parse at position 5: expected an operator such as ==, <, IN or CONTAINS, but found “CONATINS”.
            age CONATINS 0
                ^
            """)
    }

    @Test func endOfFormatIsShownBehindTheText() {
        #expect(message("name ==") == """
            The predicate format does not parse at position 8: expected a value, a key or “(”, but the format ends here.
            name ==
                   ^
            """)
    }

    @Test func unclosedParenthesisIsNamed() {
        #expect(message("(a == 1 AND b == 2") == """
            The predicate format does not parse at position 19: expected AND, OR or “)”, but the format ends here.
            (a == 1 AND b == 2
                              ^
            """)
    }

    @Test func unclosedStringIsShownWhereItBegins() {
        #expect(message("name == 'Bob") == """
            The predicate format does not parse at position 9: the string that begins here has no closing quote.
            name == 'Bob
                    ^
            """)
    }

    @Test func reservedWordSaysHowToEscapeIt() {
        #expect(message("in == 1") == """
            The predicate format does not parse at position 1: expected a value or a key (a key named in is written #in), but found “in”.
            in == 1
            ^
            """)
    }

    @Test func unknownFunctionIsSuggested() {
        #expect(message("uppercse:(name) == 'A'") == """
            The predicate format does not parse at position 1: there is no function uppercse: (did you mean “uppercase:”?).
            uppercse:(name) == 'A'
            ^
            """)
    }

    @Test func unknownCollectionOperatorIsSuggested() {
        #expect(message("books.@cuont > 1") == """
            The predicate format does not parse at position 7: there is no operator @cuont (did you mean “count”?).
            books.@cuont > 1
                  ^
            """)
    }

    @Test func missingArgumentIsCounted() {
        #expect(message("a == %@ AND b == %@", 1) == """
            The predicate format does not parse at position 18: there is no argument for this placeholder, number 2; 1 were given.
            a == %@ AND b == %@
                             ^
            """)
    }

    @Test func surplusArgumentIsCounted() {
        #expect(message("a == %@", 1, 2) == """
            The predicate format does not parse at position 8: it has 1 placeholders but 2 arguments were given.
            a == %@
                   ^
            """)
    }

    @Test("a placeholder in quotes is text, and its argument is not used") func quotedPlaceholderIsText() throws {
        let predicate = try FetchPredicate(format: "a == '%@' AND b == %@", 1, 2)
        #expect(predicate.description == "a == \"%@\" AND b == 1")
        #expect(try FetchPredicate(format: "a == '%@'").description == "a == \"%@\"")
        #expect(message("a == '%@'", 1, 2).contains("it has 0 placeholders but 2 arguments were given"))
    }

    @Test func numberPlaceholderRefusesText() {
        #expect(message("a == %d", "x") == """
            The predicate format does not parse at position 6: the argument of this placeholder must be a number; use %@ for other values.
            a == %d
                 ^
            """)
    }

    @Test func positionCountsCharactersNotBytes() {
        #expect(message("naïve == 'é' && ?") == """
            The predicate format does not parse at position 17: expected a value, a key or “(”, but found “?”.
            naïve == 'é' && ?
                            ^
            """)
    }

    @Test func longTextIsCutAroundThePlace() {
        let text = String(repeating: "a == 1 AND ", count: 30) + "b ! 2"
        let lines = message(text).split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[1].count <= 82)
        let column = lines[2].count - 1
        #expect(Array(lines[1])[column] == "!")
    }

    @Test func comparisonOfComparisonsIsRefused() {
        #expect(message("(a == 1) == 2").contains("expected AND, OR or the end of the format"))
        #expect(message("1 == (a == 2)").contains("expected a value, but a whole comparison begins here"))
    }

    @Test func betweenNeedsTwoBounds() {
        #expect(message("a BETWEEN {1, 2, 3}").contains("BETWEEN needs two bounds, {low, high}, but there are 3"))
    }

    @Test(arguments: ["", "()", ",", "a", "a ==", "== 1", "a === 1", "a = = 1", "NOT", "a AND b", "{1, 2", "a[0 == 1",
        "a == 1 b == 2", "$", "@", "#", "%", "%q == 1", "a ==[x] 'b'", "a BETWEEN[c] {1, 2}", "SUBQUERY(a, b, c == 1).@count > 0",
        "FUNCTION(a, 'exit:') == 1", "CAST(a, 'NSTask') == 1", "12abc == 1", "0xZZ == 1", "a == '\\u12'", "ANY (a == 1)",
        "a NOT 5", "1e999 == a", "a.b. == 1", "a. == 1", "TERNARY(a, 1, 2) == 1", "sum() == 1", "add:to:(1) == 1"])
    func nonsenseIsRefused(format: String) {
        #expect(!message(format).hasPrefix("parsed"), "\(message(format))")
    }

    @Test func nestingIsBounded() {
        let deep = String(repeating: "(", count: 10_000) + "a == 1" + String(repeating: ")", count: 10_000)
        #expect(message(deep).contains("nested more than 120 levels deep"))
        #expect(message(String(repeating: "NOT ", count: 10_000) + "a == 1").contains("nested more than"))
        #expect(message(String(repeating: "-", count: 10_000) + "a == 1").contains("nested more than"))
        let sum = Array(repeating: "a", count: 10_000).joined(separator: " + ")
        #expect(message(sum + " == 1").contains("nested more than"))
        #expect(message("a" + String(repeating: "[0]", count: 10_000) + " == 1").contains("nested more than"))
        #expect(message("a" + String(repeating: ".b", count: 10_000) + " == 1").contains("more than 120 parts"))
        #expect(message(String(repeating: "{", count: 10_000)).contains("nested more than"))
    }

    @Test func wideFormatsAreFine() throws {
        let wide = (0..<5_000).map { "a == \($0)" }.joined(separator: " OR ")
        #expect(try FetchPredicate(format: wide).evaluate(with: ["a": 4_999]))
    }
}
