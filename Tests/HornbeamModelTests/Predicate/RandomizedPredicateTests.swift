import Foundation
import HornbeamModel
import Testing

/// Random trees and texts, with properties that all of them must have.
struct RandomizedPredicateTests {
    private static let seeds: [UInt64] = [1, 2, 3, UInt64.random(in: 0...999_999)]

    /// A factor for the duration: `HORNBEAM_FUZZ=100 swift test --filter RandomizedPredicateTests`.
    private static let effort = max(1, Int(ProcessInfo.processInfo.environment["HORNBEAM_FUZZ"] ?? "") ?? 1)

    @Test(arguments: seeds)
    func printedTreesParseToThemselves(seed: UInt64) throws {
        var random = RandomPredicate(seed: seed)
        for round in 0..<300 * Self.effort {
            // A CAST of a constant is calculated by the parser.
            let text = try FetchPredicate(format: FetchPredicate(node: random.node(3)).description).description
            let parsed = try FetchPredicate(format: text)
            #expect(parsed.description == text, "seed \(seed), round \(round)")
            // NaN equals nothing, itself included.
            #expect(try FetchPredicate(format: parsed.description) == parsed || text.contains("nan"), "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: seeds)
    func archivedTreesComeBackEqualInMeaning(seed: UInt64) throws {
        var random = RandomPredicate(seed: seed)
        for round in 0..<100 * Self.effort {
            let predicate = FetchPredicate(node: random.node(3))
            let data = try JSONEncoder().encode([predicate])
            let copy = try #require(try JSONDecoder().decode([FetchPredicate].self, from: data).first)
            for _ in 0..<5 {
                let sample = Sample(&random)
                #expect(try copy.evaluate(with: sample) == predicate.evaluate(with: sample), "seed \(seed), round \(round)")
            }
        }
    }

    @Test(arguments: seeds)
    func simplifiedTreesHoldForTheSameObjects(seed: UInt64) throws {
        var random = RandomPredicate(seed: seed)
        for round in 0..<300 * Self.effort {
            let predicate = FetchPredicate(node: random.node(3))
            let simplified = FetchPredicate(node: PredicateAnalysis(predicate).predicate)
            for _ in 0..<4 {
                let sample = Sample(&random)
                #expect(
                    try simplified.evaluate(with: sample) == predicate.evaluate(with: sample),
                    "seed \(seed), round \(round): \(predicate) against \(simplified)")
            }
        }
    }

    @Test(arguments: seeds)
    func compiledPredicatesAnswerAsTheInterpreterDoes(seed: UInt64) throws {
        var random = RandomPredicate(seed: seed)
        for round in 0..<400 * Self.effort {
            let predicate = FetchPredicate(node: random.node(2))
            let compiled = try CompiledPredicate<Sample>(predicate)
            for _ in 0..<6 {
                let sample = Sample(&random)
                #expect(
                    try compiled.holds(sample) == predicate.evaluate(with: sample),
                    "seed \(seed), round \(round): \(predicate) on \(sample)")
            }
        }
    }

    @Test(arguments: seeds)
    func randomTextsNeverTrap(seed: UInt64) {
        var random = RandomPredicate(seed: seed)
        let words = [
            "a", "AND", "OR", "NOT", "(", ")", "{", "}", "[", "]", "==", "<", ">=", "IN", "BETWEEN", "'x'", "\"", "'", "%@", "%K",
            "%d", "$x", "@count", "#in", ".", ",", "-", "+", "**", "*", ":=", "SUBQUERY", "TERNARY", "CAST", "FUNCTION", "1", "1.5e3",
            "0x", "LIKE[cd]", "MATCHES", "nil", "SELF", "ANY", "[FIRST]", "\\", "\u{0}", "é", "🚀", "sum:", "\n", "UTI-", "UNION",
        ]
        for _ in 0..<3_000 * Self.effort {
            let text = (0..<random.number(0..<12)).map { _ in random.pick(words) }
                .joined(separator: random.number(0..<2) == 0 ? " " : "")
            attempt(text)
        }
        for _ in 0..<2_000 * Self.effort {
            let bytes = (0..<random.number(0..<40)).map { _ in UInt8(random.number(0..<256)) }
            attempt(String(decoding: bytes, as: UTF8.self))
        }
    }

    @Test(arguments: seeds)
    func mutatedFormatsNeverTrap(seed: UInt64) {
        var random = RandomPredicate(seed: seed)
        let formats = [
            "SUBQUERY(a.b, $x, $x.c == 'y' AND ANY $x.d IN {1, 2}).@count > 0 AND TERNARY(a == 1, b, c) BETWEEN {1, 2 ** 3}",
            "name MATCHES '(a+)+b' OR CAST(a, 'NSDate') < now() AND NOT x.@max.y[FIRST].z LIKE[cd] '\\u00e9*'",
        ]
        for _ in 0..<2_000 * Self.effort {
            var bytes = Array(random.pick(formats).utf8)
            for _ in 0..<random.number(1..<6) {
                let place = random.number(0..<bytes.count)
                switch random.number(0..<3) {
                case 0: bytes[place] = UInt8(random.number(0..<256))
                case 1: bytes.remove(at: place)
                default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + random.number(1..<20))], at: random.number(0..<bytes.count))
                }
            }
            attempt(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Parses, and evaluates parsed predicates on a few values; errors are allowed.
    private func attempt(_ text: String) {
        guard let predicate = try? FetchPredicate(format: text, arguments: []) else {
            _ = try? FetchPredicate(format: text, arguments: ["k", 1, nil])
            return
        }
        #expect((try? FetchPredicate(format: predicate.description))?.description == predicate.description, "\(text)")
        for value in [PropertyValue.null, .int(3), .string("aab"), .dictionary(["a": .array([.int(1), .null])])] {
            _ = try? predicate.evaluate(with: value, variables: ["x": .int(1)])
        }
    }
}
