import Foundation
import Hornbeam
import HornbeamModel
import Testing

/// Random predicates of matching types, fetched from a store and evaluated on the objects in memory, with equal results.
struct RandomFetchTests {
    private static let effort = max(1, Int(ProcessInfo.processInfo.environment["HORNBEAM_FUZZ"] ?? "") ?? 1)

    /// Even seeds have an index on every attribute, every second two an index that folds.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func storeAndMemoryAgree(seed: UInt64) throws {
        var random = RandomSample(seed: seed)
        let stack = try Stack(.inMemory, RandomSample.model(indexed: seed % 2 == 0, folded: seed % 4 >= 2))
        try random.fill(stack.newContext(), count: 100)
        let context = stack.newContext()
        let everything = FetchRequest<ManagedObject>(entityName: "Sample")
        let all = try context.fetch(everything)
        for round in 0..<120 * Self.effort {
            let predicate = FetchPredicate(node: random.node(2))
            let found = Set(try context.fetch(everything.where(predicate)))
            let wanted = Set(try all.filter { try predicate.evaluate(with: $0) })
            #expect(found == wanted, "seed \(seed), round \(round): \(predicate)")
            #expect(try context.count(everything.where(predicate)) == wanted.count, "seed \(seed), round \(round): \(predicate)")
        }
    }
}

/// Objects of one entity with an attribute of every comparable type, and predicates that fit them.
private struct RandomSample {
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

    /// Over the relationships: a path to one, ANY and ALL, the number of members.
    private mutating func related() -> FetchPredicate.Node {
        let key = random.pick(Self.keys).name
        let order = random.pick(RandomPredicate.orders)
        switch random.number(0..<3) {
        case 0: return simple(key, ["parent"])
        case 1:
            let modifier: FetchPredicate.Modifier = random.pick([.any, .all])
            return .comparison(.init(.keyPath("children", key), order, normalized(constant(key)), modifier: modifier))
        default:
            let count = FetchExpression.Node.keyPath(.evaluatedObject, [.name("children"), .collection(.count)])
            return .comparison(.init(count, order, .constant(.int(Int64(random.number(-1..<4))))))
        }
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
