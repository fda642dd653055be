import Foundation
import HornbeamModel

/// Makes random predicates over the keys of `Sample`, and random texts, from a printed seed.
struct RandomPredicate {
    var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(state: seed) }

    mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
    mutating func pick<T>(_ choices: [T]) -> T { choices[number(0..<choices.count)] }

    mutating func node(_ depth: Int) -> FetchPredicate.Node {
        switch depth > 0 ? number(0..<10) : 9 {
        case 0, 1: return .and((0..<number(2..<4)).map { _ in node(depth - 1) })
        case 2, 3: return .or((0..<number(2..<4)).map { _ in node(depth - 1) })
        case 4: return .not(node(depth - 1))
        case 5: return .constant(number(0..<2) == 0)
        case 6: return .comparison(.init(expression(2), pick(Self.orders), expression(2)))
        default: return simple()
        }
    }

    static let orders: [FetchPredicate.Comparator] = [
        .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
    ]

    /// A key and a constant, usually of a matching type.
    private mutating func simple() -> FetchPredicate.Node {
        let key = FetchExpression.Node.keyPath(pick(["count", "ratio", "flag", "name", "born", "any", "missing"]))
        switch number(0..<6) {
        case 0: return .comparison(.init(key, .between, .constant(.array([constant(), constant()]))))
        case 1:
            let list = (0..<number(0..<4)).map { _ in constant() }
            return .comparison(.init(key, .in, .constant(.array(list)), options: options()))
        case 2:
            let comparator = pick([FetchPredicate.Comparator.beginsWith, .endsWith, .contains, .like])
            return .comparison(.init(key, comparator, .constant(.string(text())), options: options()))
        case 3: return .comparison(.init(.constant(constant()), pick(Self.orders), key))
        default: return .comparison(.init(key, pick(Self.orders), .constant(constant()), options: options()))
        }
    }

    private mutating func options() -> FetchPredicate.Options {
        number(0..<2) == 0 ? [] : FetchPredicate.Options(rawValue: number(0..<16))
    }

    mutating func constant() -> PropertyValue {
        switch number(0..<9) {
        case 0: .null
        case 1: .double(pick([0, 0.5, 1, 1.5, -1, 2.0000000000000004, 1e300, -1e300, 9007199254740992, .nan, .infinity]))
        case 2: .int(pick([.max, .min, 9007199254740993, 1 << 62]))
        case 3: .decimal(pick([0, 1, 1.5, Decimal(string: "9007199254740993")!, Decimal(string: "0.1")!]))
        case 4, 5: .string(text())
        case 6: .date(Date(timeIntervalSinceReferenceDate: Double(number(-2..<3))))
        default: .int(Int64(number(-2..<4)))
        }
    }

    mutating func text() -> String {
        let parts = ["a", "b", "A", "é", "e\u{301}", "ß", "SS", "İ", "*", "?", "1", "10", " ", "ﬁ", "日", "\u{300}", "\\", "\"", "\n"]
        return (0..<number(0..<4)).map { _ in pick(parts) }.joined()
    }

    mutating func expression(_ depth: Int) -> FetchExpression.Node {
        switch depth > 0 ? number(0..<9) : number(0..<3) {
        case 0: .keyPath(pick(["count", "ratio", "name", "flag", "born", "any"]))
        case 1, 2: .constant(FetchExpression.normalized(constant()))
        case 3: .function(pick([.add, .subtract, .multiply, .divide, .modulus, .power]), [expression(depth - 1), expression(depth - 1)])
        case 4: .function(pick([.uppercase, .lowercase, .canonical, .length, .trim, .absolute, .floor]), [expression(depth - 1)])
        case 5: .conditional(node(0), expression(depth - 1), expression(depth - 1))
        case 6: .function(pick([.sum, .max, .min, .count]), [.constant(.array([constant(), constant()].map(FetchExpression.normalized)))])
        case 7: .cast(expression(depth - 1), pick([.number, .string, .date]))
        default: .index(.constant(.array([FetchExpression.normalized(constant())])), pick([.first, .size, .value(.constant(.int(0)))]))
        }
    }
}

/// A generator of numbers derived from its seed.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// A Swift value with a key of every form that predicates read without boxing.
struct Sample: TypedKeyedValues {
    var count: Int64?
    var ratio: Double?
    var flag: Bool?
    var name: String?
    var born: Date?
    var any: PropertyValue

    init(_ random: inout RandomPredicate) {
        let isNull = random.number(0..<5) == 0
        count = isNull ? nil : random.pick([0, 1, 2, -1, .max, .min, 9_007_199_254_740_993, 1 << 62])
        ratio = random.number(0..<5) == 0 ? nil : random.pick([0, 1, 0.5, 1.5, -1, 1e300, .nan, .infinity, 9_007_199_254_740_992])
        flag = random.pick([true, false, nil])
        name = random.number(0..<5) == 0 ? nil : random.text()
        born = random.pick([nil, Date(timeIntervalSinceReferenceDate: Double(random.number(-2..<3)))])
        any = random.constant()
    }

    static func accessor(forKey key: String) -> KeyedAccessor<Sample>? {
        switch key {
        case "count": .int { $0.count }
        case "ratio": .double { $0.ratio }
        case "flag": .bool { $0.flag }
        case "name": .string { $0.name }
        case "born": .date { $0.born }
        case "any": .value { $0.any }
        case "missing": .value { _ in .null }
        default: nil
        }
    }
}
