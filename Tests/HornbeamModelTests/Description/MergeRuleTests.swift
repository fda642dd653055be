import Foundation
import HornbeamModel
import Testing

@Suite struct MergeRuleTests {
    static let cases: [(MergeRule, AttributeType, PropertyValue, PropertyValue, PropertyValue, PropertyValue?)] = [
        // rule, type, base, mine, theirs, result
        (.mine, .string, "a", "b", "c", "b"),
        (.theirs, .string, "a", "b", "c", "c"),
        (.maximum, .integer32, 1, 5, 3, 5),
        (.maximum, .integer32, 1, .null, 3, 3),
        (.maximum, .string, "a", "b", "c", "c"),
        (.maximum, .boolean, false, true, false, true),
        (.minimum, .double, 1.0, 5.0, 3.0, 3.0),
        (.minimum, .double, 1.0, .null, 3.0, 3.0),
        (.sum, .integer64, 10, 11, 12, 13),
        (.sum, .integer64, 10, 7, 12, 9),
        (.sum, .integer64, .null, 1, 2, 3),
        (.sum, .double, 1.0, 1.5, 2.0, 2.5),
        (.sum, .integer16, 32_000, 32_700, 32_700, nil),
        (.sum, .integer64, 0, .int(.max), .int(.max), nil),
        (.custom, .string, "a", "b", "c", nil),
    ]

    @Test("MRG-6: a rule merges two changes into one value, or leaves the conflict to the policy", arguments: cases.indices)
    func ruleMakesOneValue(index: Int) {
        let (rule, type, base, mine, theirs, result) = Self.cases[index]
        #expect(rule.merged(base: base, mine: mine, theirs: theirs, type: type) == result)
    }

    @Test("MRG-6: a union has the additions of both sides without the removals of either")
    func unionOfLists() throws {
        func merged<T: Codable & Sendable>(_ base: [T], _ mine: [T], _ theirs: [T]) -> [T]? {
            MergeRule.union.merged(
                base: Coded(base).propertyValue, mine: Coded(mine).propertyValue, theirs: Coded(theirs).propertyValue,
                type: .transformable
            ).flatMap { Coded<[T]>(propertyValue: $0)?.value }
        }
        #expect(merged(["a", "b"], ["a", "b", "c"], ["b", "d"]) == ["b", "d", "c"])
        #expect(merged([1, 2], [2], [1, 2, 3]) == [2, 3])
        #expect(merged([["x": 1.5]], [["x": 1.5], ["y": 2]], []) == [["y": 2]])
        let text = Coded("no list").propertyValue
        #expect(MergeRule.union.merged(base: text, mine: text, theirs: text, type: .transformable) == nil)
    }

    @Test("MRG-6: a union keeps all digits of decimals and large integers, and the whole range of doubles")
    func unionOfExactNumbers() throws {
        func merged<T: Codable & Sendable>(_ mine: T, _ theirs: T) -> [T]? {
            MergeRule.union.merged(
                base: Coded<[T]>([]).propertyValue, mine: Coded([mine]).propertyValue, theirs: Coded([theirs]).propertyValue, type: .transformable
            ).flatMap { Coded<[T]>(propertyValue: $0)?.value }
        }
        let decimals = ["12345678901234567890.12", "12345678901234567890.13"].compactMap { Decimal(string: $0) }
        #expect(merged(decimals[0], decimals[1]) == [decimals[1], decimals[0]])
        let largest = UInt64.max
        #expect(merged(largest, largest - 1) == [largest - 1, largest])
        #expect(merged(1.2345678901234567e-120, .greatestFiniteMagnitude) == [.greatestFiniteMagnitude, 1.2345678901234567e-120])
    }

    @Test("MRG-6: a union has the bytes of the same list when a program stores it")
    func unionInStoredForm() {
        let (base, mine) = ([["b": "x/y", "a": "z"]], [["b": "x/y", "a": "z"], ["d": "1", "c": "2", "e": "/"]])
        let merged = MergeRule.union.merged(
            base: Coded(base).propertyValue, mine: Coded(mine).propertyValue, theirs: Coded(base).propertyValue, type: .transformable)
        #expect(merged == Coded(mine).propertyValue)
    }

    @Test("MRG-6: rules are written to and read from JSON, and do not change the version hash")
    func rulesInJSON() throws {
        func model(_ likes: MergeRule?, _ place: MergeRule?) throws -> ManagedObjectModel {
            try ManagedObjectModel {
                Entity("Post") {
                    Attribute<Int>("likes", default: 0, merge: likes)
                    ToOne("place", to: "Post", merge: place)
                }
            }
        }
        let with = try model(.sum, .theirs)
        let json = String(decoding: try with.definition.json(), as: UTF8.self)
        #expect(json.contains("\"merge\" : \"sum\"") || json.contains("\"merge\": \"sum\""), "\(json)")
        let read = try ManagedObjectModel(ModelDefinition(json: Data(json.utf8)))
        #expect(read.definition == with.definition)
        #expect(read.entitiesByName["Post"]?.attributesByName["likes"]?.mergeRule == .sum)
        let without = try model(nil, nil)
        #expect(with.entitiesByName["Post"]?.versionHash == without.entitiesByName["Post"]?.versionHash)
    }

    @Test("MRG-6: a rule that means nothing for its property is a problem of the model")
    func rulesMustFit() {
        let error = #expect(throws: HornbeamError.self) {
            _ = try ManagedObjectModel {
                Entity("Post") {
                    Attribute<String>("title", merge: .sum)
                    Attribute<Data>("bytes", merge: .maximum)
                    ToOne("place", to: "Post", merge: .sum)
                }
            }
        }
        let text = error?.description ?? ""
        #expect(text.contains("“Post.title” has the merge rule sum, which does not apply to the type string."))
        #expect(text.contains("“Post.bytes” has the merge rule maximum, which does not apply to the type binary."))
        #expect(text.contains("“Post.place” has the merge rule sum: a relationship to one has mine, theirs, custom."))
    }
}
