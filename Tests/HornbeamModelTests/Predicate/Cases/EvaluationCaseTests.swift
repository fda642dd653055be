import Foundation
import HornbeamModel
import Testing

/// The shared cases that evaluate: predicates on objects and values, expressions, refusals.
@Suite(.enabled(if: CaseFile.areAvailable))
struct EvaluationCaseTests {
    @Test func predicatesHoldWhereTheCasesSayTheyDo() throws {
        let failures = try CaseFile("evaluate.jsonl").run(Self.outcome)
        #expect(failures == [])
    }

    @Test func predicatesThatMustBeRefusedAreRefused() throws {
        let failures = try CaseFile("errors.jsonl").run { entry in
            do {
                return "not refused: \(try Self.outcome(entry) ?? "")"
            } catch is HornbeamError {
                return nil
            }
        }
        #expect(failures == [])
    }

    @Test func expressionsHaveTheStatedValues() throws {
        let failures = try CaseFile("expressions.jsonl").run { entry in
            let expression = try FetchExpression(
                format: entry["expression"]?.text ?? "", arguments: (entry["args"]?.list ?? []).map { $0.propertyValue() })
            let value = try expression.value(with: entry["object"]?.propertyValue() ?? .null)
            let wanted = entry["value"]?.propertyValue() ?? .null
            if let tolerance = entry["tolerance"]?.number, let number = value.propertyValue?.doubleValue {
                return abs(number - (wanted.doubleValue ?? .nan)) <= tolerance ? nil : "\(number)"
            }
            return value.propertyValue?.isEqual(to: wanted) == true ? nil : "gives \(value)"
        }
        #expect(failures == [])
    }

    /// nil when the case has the stated result, else the actual result.
    static func outcome(_ entry: CaseValue) throws -> String? {
        if let name = entry["objects"]?["fixture"]?.text { return try fixtureOutcome(entry, name) }
        let predicate = try entry.predicate()
        let variables = (entry["variables"]?.object ?? [:]).mapValues { $0.propertyValue() }
        if let objects = entry["objects"]?.list {
            var matching: [Int64] = []
            for (place, object) in objects.enumerated()
            where try predicate.evaluate(with: object.propertyValue(), variables: variables) {
                matching.append(Int64(place))
            }
            let wanted = entry["expect"]?.propertyValue()
            return wanted == .array(matching.map { .int($0) }) ? nil : "matches \(matching)"
        }
        let result = try predicate.evaluate(with: entry["object"]?.propertyValue() ?? .null, variables: variables)
        return result == entry["expect"]?.flag ? nil : "is \(result)"
    }

    private static func fixtureOutcome(_ entry: CaseValue, _ name: String) throws -> String? {
        let fixture = try Fixture(name)
        let entity = try fixture.model.entity(named: entry["objects"]?["entity"]?.text ?? "")
        let predicate = try entry.predicate(fixture.identity)
        let matching = try fixture.objects.filter { try $0.entity == entity && predicate.evaluate(with: $0) }.map(\.id)
        if let count = entry["expectCount"]?.number, Double(matching.count) != count { return "matches \(matching)" }
        guard let wanted = entry["expect"]?.list?.compactMap(\.text) else { return nil }
        return Set(wanted) == Set(matching) ? nil : "matches \(matching), not \(wanted)"
    }
}

/// The cases in which other implementations differ. `Docs/Deviations.md` states our results.
@Suite(.enabled(if: CaseFile.areAvailable))
struct DisputedCaseTests {
    /// Cases in which our result differs from the source of the case on purpose.
    private static let ours: Set<String> = [
        // A float is compared with 1.7 as a double, as in Foundation.
        "realm.FloatQuery.010",
        // nil has no order, so that nil <= nil is false.
        "realm.NullableOps.nils.018", "realm.NullableOps.nils.024", "realm.NullableOps.nils.036",
        "realm.NullableOps.nils.042", "realm.NullableOps.nils.054", "realm.NullableOps.nils.060",
        "realm.NullableOps.nils.084", "realm.NullableOps.nils.090", "realm.NullableOps.nils.102",
        "realm.NullableOps.nils.108", "cappuccino.nil.008",
        // nil is not a text, so that nil LIKE nil is false.
        "realm.NullableString.011", "realm.NullableString.012", "realm.NullableString.025", "realm.NullableString.026",
        // Text and number are not comparable: false in memory, refused when there is a model.
        "gnustep.errors.001",
        // FUNCTION calls the built-in functions only.
        "cappuccino.functions.003", "cappuccino.functions.004", "cappuccino.functions.005",
        // A variable is replaced by a value, not by a key.
        "cappuccino.var.001",
    ]

    @Test func disputedCasesDifferExactlyWhereWeMeantTo() throws {
        let failures = try CaseFile("disputed.jsonl").run(otherwise: "answered otherwise on purpose") { entry in
            guard entry["expect"]?.text == "error" else { return try EvaluationCaseTests.outcome(entry) }
            do { return "not refused: \(try EvaluationCaseTests.outcome(entry) ?? "")" } catch { return nil }
        }
        #expect(Set(failures.map { String($0.prefix { $0 != ":" }) }) == Self.ours, "\(failures)")
    }
}
