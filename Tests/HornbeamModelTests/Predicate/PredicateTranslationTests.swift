import Foundation
import HornbeamModel
import Testing

/// A class with computed properties, like managed objects, and a probe for their names.
private class Person: PredicateSubject {
    // The suite is serialised: one test at a time reads and writes it.
    nonisolated(unsafe) static var read: [String] = []
    required init() {}

    var name: String { Self.note("name", "") }
    var age: Int { Self.note("age", 0) }
    var nickname: String? { Self.note("nickname", nil) }
    var isMember: Bool { Self.note("isMember", false) }
    var team: Team? { Self.note("team", nil) }
    var friends: [Person] { Self.note("friends", []) }
    var scores: [Int] { Self.note("scores", []) }
    var marks: [String: Int] { Self.note("marks", [:]) }
    var full: String { name + (nickname ?? "") }
    var id: UUID { UUID() }

    static func note<T>(_ key: String, _ value: T) -> T {
        read.append(key)
        return value
    }

    static func predicateKeys(along keyPath: AnyKeyPath) throws -> [String] {
        read = []
        if keyPath == \Person.id { return [] }
        _ = Self()[keyPath: keyPath]
        guard read.count == 1 else {
            throw HornbeamError(.predicateInvalid, "The key path reads \(read.count) properties, not one.")
        }
        return read
    }
}

private struct Team {
    var name: String
    var city: String?
    var people: [Person]
}

/// `#Predicate` translated into the tree of the format language. Serialised: the probe records in one place.
@Suite(.serialized)
struct PredicateTranslationTests {
    private func format(_ predicate: Predicate<Person>) throws -> String { try FetchPredicate(predicate).description }

    @Test func comparisonsAndLogicAreTranslated() throws {
        let limit = 18
        #expect(try format(#Predicate { $0.age >= limit && $0.name != "x" || !($0.age == 3) }) == "(age >= 18 AND name != \"x\") OR (NOT age == 3)")
        #expect(try format(#Predicate { $0.isMember }) == "isMember == 1")
        #expect(try format(#Predicate { $0.nickname == nil }) == "nickname == nil")
        #expect(try format(#Predicate { $0.nickname == "x" }) == "nickname == \"x\"")
        #expect(try format(#Predicate { _ in true }) == "TRUEPREDICATE")
    }

    @Test func textsAreTranslated() throws {
        #expect(try format(#Predicate { $0.name.contains("a") && $0.name.starts(with: "b") }) == "name CONTAINS \"a\" AND name BEGINSWITH \"b\"")
        #expect(try format(#Predicate { $0.name.isEmpty || $0.name.count > 3 }) == "length:(name) == 0 OR length:(name) > 3")
        #expect(try format(#Predicate { $0.name.contains("") }) == "TRUEPREDICATE")
    }

    @Test func optionalsAreTranslated() throws {
        #expect(try format(#Predicate { $0.team?.name == "x" }) == "team.name == \"x\"")
        #expect(try format(#Predicate { ($0.nickname ?? "none") == "x" }) == "TERNARY(nickname != nil, nickname, \"none\") == \"x\"")
        #expect(try format(#Predicate { $0.nickname!.contains("x") }) == "nickname CONTAINS \"x\"")
        #expect(try format(#Predicate { if let nick = $0.nickname { nick.contains("x") } else { false } }).contains("CONTAINS \"x\""))
        #expect(try format(#Predicate { ($0.nickname?.contains("x")) == true })
            == "TERNARY(nickname != nil, TERNARY(nickname CONTAINS \"x\", 1, 0), nil) == 1")
    }

    @Test func collectionsAreTranslated() throws {
        let names = ["a", "b"]
        #expect(try format(#Predicate { names.contains($0.name) }) == "name IN {\"a\", \"b\"}")
        #expect(try format(#Predicate { $0.friends.contains { $0.age > 3 } }) == "SUBQUERY(friends, $x, $x.age > 3).@count != 0")
        #expect(try format(#Predicate { $0.friends.allSatisfy { $0.age > 3 } }) == "SUBQUERY(friends, $x, NOT $x.age > 3).@count == 0")
        #expect(try format(#Predicate { $0.friends.filter { $0.age > 3 }.count > 2 }) == "SUBQUERY(friends, $x, $x.age > 3).@count > 2")
        #expect(try format(#Predicate { $0.friends.count > 2 || $0.friends.isEmpty }) == "friends.@count > 2 OR friends.@count == 0")
        #expect(try format(#Predicate { $0.scores.max() == 3 }) == "max:(scores) == 3")
        #expect(try format(#Predicate { $0.friends.contains { friend in friend.friends.contains { $0.name == friend.name } } })
            == "SUBQUERY(friends, $x, SUBQUERY($x.friends, $x1, $x1.name == $x.name).@count != 0).@count != 0")
    }

    @Test func numbersAndRangesAreTranslated() throws {
        let range = 1..<5
        #expect(try format(#Predicate { $0.age * 2 + 1 > 7 }) == "age * 2 + 1 > 7")
        #expect(try format(#Predicate { $0.age % 2 == 0 && -$0.age < 0 }) == "modulus:by:(age, 2) == 0 AND 0 - age < 0")
        #expect(try format(#Predicate { (1...5).contains($0.age) }) == "age BETWEEN {1, 5}")
        #expect(try format(#Predicate { range.contains($0.age) }) == "age >= 1 AND age < 5")
        #expect(try format(#Predicate { ($0.age > 3 ? "a" : "b") == $0.name }) == "TERNARY(age > 3, \"a\", \"b\") == name")
    }

    @Test func expressionsAreTranslated() throws {
        let expression = try FetchExpression(#Expression<Person, Int> { $0.age * 2 + $0.friends.count })
        #expect(expression.description == "age * 2 + friends.@count")
    }

    @Test func dictionariesAreTranslated() throws {
        #expect(try format(#Predicate { $0.marks["a"] == 3 }) == "marks[\"a\"] == 3")
        #expect(try format(#Predicate { $0.marks["a", default: 0] == 3 }) == "TERNARY(marks[\"a\"] != nil, marks[\"a\"], 0) == 3")
    }

    @Test func identityIsTheObjectItself() throws {
        let id = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!
        #expect(try format(#Predicate { $0.id == id }) == "SELF == CAST(\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\", \"NSUUID\")")
    }

    @Test func untranslatablePartsAreNamed() throws {
        let error = #expect(throws: HornbeamError.self) { try format(#Predicate { ($0.team as Any) is Team }) }
        #expect(error?.message == """
            The #Predicate uses TypeCheck, which has no counterpart in the predicate language. \
            Write this part as a format, or filter the fetched objects.
            """)
        let computed = #expect(throws: HornbeamError.self) { try format(#Predicate { $0.full == "x" }) }
        #expect(computed?.message == "The key path reads 2 properties, not one.")
    }

    @Test func storedPropertiesNeedNoProbe() throws {
        let predicate = try FetchPredicate(#Predicate<Team> { $0.name == "x" && $0.city == nil && $0.name.count > 2 })
        #expect(predicate.description == "name == \"x\" AND city == nil AND length:(name) > 2")
    }
}
