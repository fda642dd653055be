#if Postgres
import Foundation
import Hornbeam
import HornbeamModel

/// An object of a random model, with its number as the attribute `id`.
struct RandomObject {
    var entity: EntityDescription
    var values: [String: PropertyValue] = [:]
    /// The numbers of the related objects.
    var links: [(name: String, targets: [Int])] = []
}

/// A condition with arguments in place of `%@`.
struct RandomCondition {
    enum Argument {
        case value(PropertyValue)
        case list([PropertyValue])
        /// The object with a number.
        case object(Int)
    }

    var format: String
    var arguments: [Argument] = []

    static func joined(_ parts: [RandomCondition], _ word: String) -> RandomCondition {
        RandomCondition(format: "(" + parts.map(\.format).joined(separator: " \(word) ") + ")", arguments: parts.flatMap(\.arguments))
    }
}

/// Makes random models, objects and requests.
struct RandomModel {
    private var random: SeededNumbers
    let model: ManagedObjectModel
    private let concrete: [EntityDescription]
    /// The entities of the objects, by number.
    private var entities: [EntityDescription] = []

    init(seed: UInt64) throws {
        var random = SeededNumbers(seed)
        model = try Self.model(&random)
        concrete = model.entities.filter { !$0.isAbstract }
        self.random = random
    }

    // MARK: Models

    private static let types: [AttributeType] = [
        .string, .string, .integer16, .integer32, .integer64, .double, .decimal, .date, .uuid, .boolean, .binary,
    ]

    /// Two to four entities, some of which inherit from others, with attributes of all types and relationships of all kinds.
    private static func model(_ random: inout SeededNumbers) throws -> ManagedObjectModel {
        let count = 2 + random.below(3)
        var parents: [Int?] = []
        for number in 0 ..< count { parents.append(number > 0 && random.below(2) == 0 ? random.below(number) : nil) }
        var attributes: [[AttributeDescription]] = []
        for number in 0 ..< count {
            var own = parents[number] == nil ? [AttributeDescription("id", .integer64)] : []
            for place in 0 ..< 1 + random.below(3) { own.append(AttributeDescription("e\(number)a\(place)", random.pick(types), optional: true)) }
            // Siblings have attributes with the same name.
            if parents[number] == 0, !parents.contains(number) { own.append(AttributeDescription("own", random.pick(types), optional: true)) }
            attributes.append(own)
        }
        var relationships = [[RelationshipDescription]](repeating: [], count: count)
        for number in 0 ..< 2 + random.below(3) { addRelationship(number, to: &relationships, &random) }
        let isAbstract = parents.contains(0) && random.below(2) == 0
        return try ManagedObjectModel(
            entities: (0 ..< count).map { number in
                Entity(
                    "E\(number)", parent: parents[number].map { "E\($0)" }, abstract: number == 0 && isAbstract, attributes: attributes[number],
                    relationships: relationships[number])
            })
    }

    private static func addRelationship(_ number: Int, to all: inout [[RelationshipDescription]], _ random: inout SeededNumbers) {
        let (source, target) = (random.below(all.count), random.below(all.count))
        let (name, inverse) = ("r\(number)", "i\(number)")
        let (isOrdered, isInverseOrdered) = (random.below(3) == 0, random.below(3) == 0)
        switch random.below(6) {
        case 0: all[source].append(RelationshipDescription(name, to: "E\(target)"))
        case 1: all[source].append(RelationshipDescription(name, to: "E\(target)", toMany: true, ordered: isOrdered))
        case 2:
            let rule: DeleteRule = random.pick([.nullify, .noAction, .cascade])
            all[source].append(RelationshipDescription(name, to: "E\(target)", inverse: inverse))
            all[target].append(RelationshipDescription(inverse, to: "E\(source)", inverse: name, toMany: true, ordered: isInverseOrdered, deleteRule: rule))
        case 3:
            all[source].append(RelationshipDescription(name, to: "E\(target)", inverse: inverse, toMany: true, ordered: isOrdered))
            all[target].append(RelationshipDescription(inverse, to: "E\(source)", inverse: name, toMany: true, ordered: isInverseOrdered))
        case 4:
            all[source].append(RelationshipDescription(name, to: "E\(target)", inverse: inverse))
            all[target].append(RelationshipDescription(inverse, to: "E\(source)", inverse: name))
        default: all[source].append(RelationshipDescription(name, to: "E\(source)", inverse: name, toMany: true))
        }
    }

    // MARK: Objects

    private static let texts = ["", "a", "A", "ab", "é", "É", "e\u{301}", "ß", "SS", "b%", "b_", "z\u{0}y", "z\u{1}", "z", "𝄞"]
    private static let doubles: [Double] = [-.infinity, -0.5, -0.0, 0, 0.5, 1, 2, 1e300, .infinity]
    private static let integers: [Int64] = [-2, -1, 0, 1, 2, 3]
    private static let largeIntegers: [Int64] = [.max, .min, 9_007_199_254_740_993]
    private static let decimals = ["0", "0.1", "-0.5", "1", "1.00", "2", "12345678901234567890.123", "-1e20"].compactMap { Decimal(string: $0, locale: nil) }
    private static let times: [TimeInterval] = [0, 0.5, -1, 0.1 + 0.2, 0.3, 1e9, -63_114_076_800]
    private static let uuids = [0, 1, 2, 255].map { (byte: UInt8) in UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, byte)) }
    private static let datas = [Data(), Data([0]), Data([0, 1]), Data([255])]

    /// A value that conditions compare with.
    private mutating func constant(_ type: AttributeType) -> PropertyValue {
        let isLarge = random.below(4) == 0
        switch type {
        case .string: return .string(random.pick(Self.texts))
        case .integer64: return .int(random.pick(isLarge ? Self.largeIntegers : Self.integers))
        case .double: return .double(random.pick(Self.doubles))
        case .decimal: return .decimal(random.pick(Self.decimals))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: random.pick(Self.times)))
        case .uuid: return .uuid(random.pick(Self.uuids))
        case .boolean: return .bool(isLarge)
        case .binary: return .data(random.pick(Self.datas))
        default: return .int(random.pick(Self.integers))
        }
    }

    private mutating func value(_ type: AttributeType) -> PropertyValue {
        if random.below(4) == 0 { return .null }
        if type == .double, random.below(8) == 0 { return .double(.nan) }
        return constant(type)
    }

    private mutating func values(of entity: EntityDescription) -> [String: PropertyValue] {
        var values: [String: PropertyValue] = [:]
        for attribute in entity.attributes where attribute.name != "id" { values[attribute.name] = value(attribute.attributeType) }
        return values
    }

    private mutating func links(of entity: EntityDescription, except gone: Set<Int> = []) -> [(name: String, targets: [Int])] {
        var links: [(name: String, targets: [Int])] = []
        for relationship in entity.relationships where random.below(2) == 0 {
            let others = objects(of: relationship).filter { !gone.contains($0) }
            if others.isEmpty { continue }
            let count = relationship.isToMany ? 1 + random.below(3) : 1
            links.append((relationship.name, (0 ..< count).map { _ in random.pick(others) }))
        }
        return links
    }

    /// The numbers of the objects to which a relationship can refer.
    private func objects(of relationship: PropertyDescription) -> [Int] {
        guard let destination = relationship.destinationEntity else { return [] }
        return entities.indices.filter { entities[$0].isKind(of: destination) }
    }

    mutating func objects(_ count: Int) -> [RandomObject] {
        entities = (0 ..< count).map { _ in random.pick(concrete) }
        return entities.enumerated().map { number, entity in
            var object = RandomObject(entity: entity, values: values(of: entity))
            object.values["id"] = .int(Int64(number))
            object.links = links(of: entity)
            return object
        }
    }

    /// Changes of some objects, and the numbers of others to delete.
    mutating func edits(_ count: Int) -> (changed: [(number: Int, object: RandomObject)], deleted: [Int]) {
        let deleted = Set((0 ..< count).map { _ in random.below(entities.count) })
        let changed = (0 ..< count).map { _ in random.below(entities.count) }.filter { !deleted.contains($0) }
        let objects = changed.map { number in
            let entity = entities[number]
            return (number: number, object: RandomObject(entity: entity, values: values(of: entity), links: links(of: entity, except: deleted)))
        }
        return (objects, deleted.sorted())
    }

    // MARK: Requests

    mutating func request() -> (condition: RandomCondition, request: FetchRequest<ManagedObject>) {
        let entity = random.pick(model.entities)
        var request = FetchRequest<ManagedObject>(entityName: entity.name)
        let sorted = entity.attributes.filter { ![.binary, .uuid].contains($0.attributeType) }
        for _ in 0 ..< random.below(3) { request.sortDescriptors.append(FetchSort(random.pick(sorted).name, ascending: random.below(2) == 0)) }
        request.sortDescriptors.append(FetchSort("id"))
        if random.below(3) == 0 { request.fetchLimit = random.below(6) }
        if random.below(3) == 0 { request.fetchOffset = random.below(6) }
        return (condition(entity, depth: 2), request)
    }

    private mutating func condition(_ entity: EntityDescription, depth: Int) -> RandomCondition {
        if depth > 0 {
            switch random.below(6) {
            case 0: return .joined([condition(entity, depth: depth - 1), condition(entity, depth: depth - 1)], "AND")
            case 1: return .joined([condition(entity, depth: depth - 1), condition(entity, depth: depth - 1)], "OR")
            case 2:
                let part = condition(entity, depth: depth - 1)
                return RandomCondition(format: "(NOT \(part.format))", arguments: part.arguments)
            default: break
            }
        }
        if entity.relationships.isEmpty || random.below(2) == 0 { return attributeTest(entity, "") }
        let relationship = random.pick(entity.relationships)
        return relationship.isToMany ? membersTest(relationship, "") : toOneTest(relationship, "")
    }

    private mutating func toOneTest(_ relationship: PropertyDescription, _ start: String) -> RandomCondition {
        let path = start + relationship.name
        let others = objects(of: relationship)
        switch random.below(5) {
        case 0: return RandomCondition(format: "\(path) == nil")
        case 1: return RandomCondition(format: "\(path) != nil")
        case 2 where !others.isEmpty: return RandomCondition(format: "\(path) \(random.pick(["==", "!="])) %@", arguments: [.object(random.pick(others))])
        default:
            guard let destination = relationship.destinationEntity else { return RandomCondition(format: "TRUEPREDICATE") }
            return attributeTest(destination, path + ".")
        }
    }

    private mutating func membersTest(_ relationship: PropertyDescription, _ start: String) -> RandomCondition {
        let path = start + relationship.name
        let others = objects(of: relationship)
        guard let destination = relationship.destinationEntity else { return RandomCondition(format: "TRUEPREDICATE") }
        switch random.below(6) {
        case 0: return RandomCondition(format: "\(path).@count \(random.pick(["==", ">", "<="])) %@", arguments: [.value(.int(Int64(random.below(3))))])
        case 1 where !others.isEmpty: return RandomCondition(format: "\(path) CONTAINS %@", arguments: [.object(random.pick(others))])
        case 2 where !others.isEmpty: return RandomCondition(format: "ANY \(path) == %@", arguments: [.object(random.pick(others))])
        case 3:
            let inner = random.below(2) == 0 || destination.relationships.allSatisfy(\.isToMany)
                ? attributeTest(destination, "$x.") : toOneTest(random.pick(destination.relationships.filter { !$0.isToMany }), "$x.")
            return RandomCondition(format: "SUBQUERY(\(path), $x, \(inner.format)).@count > %@", arguments: inner.arguments + [.value(.int(Int64(random.below(2))))])
        default:
            let attribute = random.pick(destination.attributes)
            return comparison("\(random.pick(["ANY", "ALL"])) \(path).\(attribute.name)", attribute.attributeType, isQuantified: true)
        }
    }

    private mutating func attributeTest(_ entity: EntityDescription, _ start: String) -> RandomCondition {
        let attribute = random.pick(entity.attributes)
        let same = entity.attributes.filter { $0.attributeType == attribute.attributeType && $0 !== attribute }
        if !same.isEmpty, random.below(4) == 0 {
            return RandomCondition(format: "\(start)\(attribute.name) \(random.pick(Self.operators(attribute.attributeType))) \(start)\(random.pick(same).name)")
        }
        return comparison(start + attribute.name, attribute.attributeType)
    }

    private static func operators(_ type: AttributeType) -> [String] {
        [.boolean, .uuid, .binary].contains(type) ? ["==", "!="] : ["==", "!=", "<", "<=", ">", ">="]
    }

    private mutating func comparison(_ path: String, _ type: AttributeType, isQuantified: Bool = false) -> RandomCondition {
        switch random.below(isQuantified ? 3 : 8) {
        case 3: return RandomCondition(format: "\(path) \(random.pick(["==", "!="])) nil")
        case 4: return RandomCondition(format: "\(path) IN %@", arguments: [.list([constant(type), .null, constant(type)])])
        case 5 where Self.operators(type).count > 2:
            return RandomCondition(format: "\(path) BETWEEN %@", arguments: [.list([constant(type), constant(type)])])
        case 6 where type == .string:
            let word = random.pick(["CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE"]) + random.pick(["", "[c]", "[d]", "[cd]"])
            return RandomCondition(format: "\(path) \(word) %@", arguments: [.value(constant(type))])
        case 7 where type.isNumeric && type != .boolean:
            return RandomCondition(format: "\(path) \(random.pick(Self.operators(type))) %@", arguments: [.value(constant(.integer32))])
        default: return RandomCondition(format: "\(path) \(random.pick(Self.operators(type))) %@", arguments: [.value(constant(type))])
        }
    }
}
#endif
