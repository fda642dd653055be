import Foundation
import Hornbeam
import HornbeamModel

/// Objects of one entity with an attribute of every comparable type, and predicates that fit them.
struct RandomSample {
    private var random: RandomPredicate

    init(seed: UInt64) { random = RandomPredicate(seed: seed) }

    private static let keys: [(name: String, type: AttributeType)] = [
        ("count", .integer64), ("small", .integer16), ("ratio", .double), ("single", .float), ("flag", .boolean),
        ("name", .string), ("born", .date), ("price", .decimal),
    ]

    static func model(indexed: Bool, folded: Bool) throws -> ManagedObjectModel {
        var indexes = indexed ? keys.map { FetchIndexDescription("by_\($0.name)", [FetchIndexElement($0.name)]) } : []
        if folded { indexes.append(FetchIndexDescription("folded", [.folded("name")])) }
        return try ManagedObjectModel(entities: [
            Entity(
                "Sample", attributes: keys.map { AttributeDescription($0.name, $0.type, optional: true) },
                relationships: [
                    RelationshipDescription("parent", to: "Sample", inverse: "children"),
                    RelationshipDescription("children", to: "Sample", inverse: "parent", toMany: true),
                ], fetchIndexes: indexes)
        ])
    }

    mutating func fill(_ context: ManagedObjectContext, count: Int) throws {
        var objects: [ManagedObject] = []
        for _ in 0..<count {
            let object = try context.insert(entityNamed: "Sample")
            for key in Self.keys { try object.setValue(value(key.name), forKey: key.name) }
            if !objects.isEmpty, random.number(0..<3) > 0 { try object.setValue(random.pick(objects), forKey: "parent") }
            objects.append(object)
        }
        try context.save()
    }

    private mutating func value(_ key: String) -> PropertyValue {
        switch key {
        case "flag": random.pick([.null, .bool(true), .bool(false)])
        case "small": random.pick([.null, 0, 1, 2, -1, 32767])
        case "count": random.pick([.null, 0, 1, 2, -1, .int(.max), .int(.min), 9_007_199_254_740_993])
        case "ratio":
            random.pick([.null, 0.0, 1.0, 0.5, 1.1, .double(.nan), .double(.infinity), -1.5, 9_007_199_254_740_992.0])
        case "single": random.pick([.null, 0.0, 1.0, 0.5, .double(Double(Float(1.1))), .double(.nan), -1.5])
        case "price": random.pick([.null, .decimal(0), .decimal(1), .decimal(0.5), .decimal(Decimal(string: "1.1")!), .decimal(-2)])
        default: constant(key)
        }
    }

    /// A constant of a type that is comparable with the key's.
    private mutating func constant(_ key: String) -> PropertyValue {
        if random.number(0..<12) == 0 { return .null }
        switch key {
        case "name": return .string(random.text())
        case "born": return .date(Date(timeIntervalSinceReferenceDate: Double(random.number(-2..<3))))
        case "flag": return .int(Int64(random.number(-1..<3)))
        default:
            return random.pick([
                0, 1, 2, -1, 3, 0.5, 1.0, -1.5, .double(.nan), .double(.infinity), .int(.max), .int(.min), 9_007_199_254_740_993,
                9_007_199_254_740_992.0, .decimal(0.5), .decimal(Decimal(string: "1.1")!), 1.1, .double(Double(Float(1.1))),
                32767, 40000, 1e300, -0.0,
            ])
        }
    }

    mutating func node(_ depth: Int) -> FetchPredicate.Node {
        switch depth > 0 ? random.number(0..<8) : 9 {
        case 0, 1, 2: .and([node(depth - 1), node(depth - 1)])
        case 3, 4: .or([node(depth - 1), node(depth - 1)])
        case 5: .not(node(depth - 1))
        default: random.number(0..<4) == 0 ? related() : simple(random.pick(Self.keys).name, [])
        }
    }

    /// Over the relationships: a path to one, ANY and ALL, members and their values; comparisons of two values of the object.
    private mutating func related() -> FetchPredicate.Node {
        let key = random.pick(Self.keys).name
        let order = random.pick(RandomPredicate.orders)
        switch random.number(0..<8) {
        case 0: return simple(key, ["parent"])
        case 1:
            let modifier: FetchPredicate.Modifier = random.pick([.any, .all])
            return .comparison(.init(.keyPath("children", key), order, normalized(constant(key)), modifier: modifier))
        case 2:
            let modifier: FetchPredicate.Modifier = random.pick([.any, .all])
            let path = random.pick([["children", "children"], ["parent", "children"], ["children", "children", "parent"]]) + [key]
            return .comparison(.init(.keyPath(.evaluatedObject, path.map { .name($0) }), order, normalized(constant(key)), modifier: modifier))
        case 3: return twoPaths(.evaluatedObject, order)
        case 4: return aggregate(order)
        case 5: return subquery(order)
        case 6:
            let (left, right) = (operand(.evaluatedObject), operand(.evaluatedObject))
            let function: PredicateFunction = random.pick([.add, .subtract, .multiply, .divide])
            return .comparison(.init(.function(function, [left, right]), order, normalized(constant("count"))))
        default:
            let count = FetchExpression.Node.keyPath(.evaluatedObject, [.name("children"), .collection(.count)])
            return .comparison(.init(count, order, .constant(.int(Int64(random.number(-1..<4))))))
        }
    }

    private static let numbers = ["count", "small", "ratio", "single", "flag", "price"]

    private mutating func path(_ key: String, _ root: FetchExpression.Node) -> FetchExpression.Node {
        let prefix = random.number(0..<3) == 0 ? ["parent"] : []
        return .keyPath(root, (prefix + [key]).map { .name($0) })
    }

    private mutating func operand(_ root: FetchExpression.Node) -> FetchExpression.Node {
        random.number(0..<3) == 0 ? normalized(constant("count")) : path(random.pick(["count", "small", "small", "ratio", "single", "flag"]), root)
    }

    /// A comparison of values of two key paths, one of which starts at `root`.
    private mutating func twoPaths(_ root: FetchExpression.Node, _ order: FetchPredicate.Comparator) -> FetchPredicate.Node {
        switch random.number(0..<4) {
        case 0:
            let options = FetchPredicate.Options(rawValue: random.number(0..<16))
            return .comparison(.init(path("name", root), order, path("name", .evaluatedObject), options: options))
        case 1: return .comparison(.init(path("born", root), order, path("born", .evaluatedObject)))
        default: return .comparison(.init(path(random.pick(Self.numbers), root), order, path(random.pick(Self.numbers), .evaluatedObject)))
        }
    }

    private mutating func aggregate(_ order: FetchPredicate.Comparator) -> FetchPredicate.Node {
        let function: FetchExpression.CollectionOperator = random.pick([.count, .sum, .avg, .min, .max])
        let key = random.pick(function == .min || function == .max ? Self.keys.map(\.name) : Self.numbers)
        let members: [FetchExpression.Step] = random.pick([[.name("children")], [.name("parent"), .name("children")], [.name("children"), .name("children")]])
        let value = FetchExpression.Node.keyPath(.evaluatedObject, members + [.collection(function), .name(key)])
        return .comparison(.init(value, order, normalized(constant(function == .count ? "count" : key))))
    }

    private mutating func subquery(_ order: FetchPredicate.Comparator) -> FetchPredicate.Node {
        let member = FetchExpression.Node.variable("c")
        let key = random.pick(Self.keys).name
        let first = FetchPredicate.Node.comparison(.init(path(key, member), random.pick(RandomPredicate.orders), normalized(constant(key))))
        let second = twoPaths(member, random.pick(RandomPredicate.orders))
        let condition: FetchPredicate.Node = random.pick([.and([first, second]), .or([first, .not(second)]), first, second])
        let count = FetchExpression.Node.keyPath(.subquery(.keyPath("children"), "c", condition), [.collection(.count)])
        return .comparison(.init(count, order, .constant(.int(Int64(random.number(0..<3))))))
    }

    private mutating func simple(_ key: String, _ prefix: [String]) -> FetchPredicate.Node {
        let path = FetchExpression.Node.keyPath(.evaluatedObject, (prefix + [key]).map { .name($0) })
        let isFolded = key == "name" && random.number(0..<2) == 0
        let options = FetchPredicate.Options(rawValue: isFolded ? random.number(0..<16) : 0)
        switch random.number(0..<6) {
        case 0: return .comparison(.init(path, .between, normalized(.array([constant(key), constant(key)]))))
        case 1:
            let list = (0..<random.number(0..<4)).map { _ in constant(key) }
            return .comparison(.init(path, .in, normalized(.array(list)), options: options))
        case 2 where key == "name":
            let comparator: FetchPredicate.Comparator = random.pick([.beginsWith, .endsWith, .contains, .like])
            return .comparison(.init(path, comparator, .constant(.string(random.text())), options: options))
        case 3: return .comparison(.init(normalized(constant(key)), random.pick(RandomPredicate.orders), path))
        default: return .comparison(.init(path, random.pick(RandomPredicate.orders), normalized(constant(key)), options: options))
        }
    }

    private func normalized(_ value: PropertyValue) -> FetchExpression.Node { .constant(FetchExpression.normalized(value)) }
}
