import Foundation
import HornbeamEngine
import HornbeamModel
import Testing
@testable import HornbeamStore

@Suite("Fetching like the reference")
struct FetchPropertyTests {
    /// `HORNBEAM_FUZZ=100` runs a hundred times as many models.
    private static let effort = max(1, Int(ProcessInfo.processInfo.environment["HORNBEAM_FUZZ"] ?? "") ?? 1)

    @Test("every plan returns the result of evaluating each object in memory", arguments: 1 ... 6)
    func plansAgreeWithMemory(_ seed: UInt64) throws {
        let filled = try FilledLibrary(seed: seed)
        var requests = RandomRequest(filled, seed: seed &+ 1_000)
        let snapshot = try filled.library.store.snapshot()
        for _ in 0 ..< 400 {
            let request = try requests.next()
            let expected = try filled.expected(request)
            let answer = try snapshot.fetch(request)
            #expect(answer.references == expected, "seed \(seed): \(text(request))\n\(answer.work.text)")
            #expect(try snapshot.count(request) == expected.count, "seed \(seed), count: \(text(request))")
        }
    }

    @Test("a store that is larger than its pool, whose scans unpack only some columns, returns the same results", arguments: 1 ... 2)
    func storesLargerThanThePoolAgreeWithMemory(_ seed: UInt64) throws {
        var options = Store.Options()
        options.fileSystem = MemoryFileSystem()
        options.engine.pageSize = 2048
        let filled = try FilledLibrary(seed: seed, size: 800, in: Store.open(.directory("library.hornbeam"), model: libraryModel, options: options))
        var requests = RandomRequest(filled, seed: seed &+ 3_000)
        var generator = SeededGenerator(seed: seed)
        let all = try (0 ..< 60).map { _ in try requests.next() }
        let grouped = try all.enumerated().compactMap { try groups($1, filled.library, isGrouped: $0 % 2 == 0, &generator) }
        func rows(in snapshot: StoreSnapshot) throws -> [[[PropertyValue]]] {
            try grouped.map { try snapshot.groups($0.request, $0.program, in: FilterContext(snapshot)).rows }
        }
        let expectedRows = try rows(in: filled.library.store.snapshot())
        try filled.library.store.close()

        options.poolBytes = 16 * 2048
        let store = try Store.open(.directory("library.hornbeam"), model: libraryModel, options: options)
        let snapshot = try store.snapshot()
        for request in all {
            let expected = try filled.expected(request)
            for plan in try FetchPlan.all(request, in: snapshot, counting: false) {
                for context in [FilterContext(snapshot), .shared(snapshot)] {
                    let references = try snapshot.fetch(plan, excluding: [], in: context).references
                    #expect(references == expected, "seed \(seed): \(text(request))\n\(plan.description)")
                }
            }
            for plan in try FetchPlan.all(request, in: snapshot, counting: true) {
                let count = try snapshot.count(plan, excluding: [], in: FilterContext(snapshot)).count
                #expect(count == expected.count, "seed \(seed), count: \(text(request))\n\(plan.description)")
            }
        }
        for (number, found) in try rows(in: snapshot).enumerated() {
            let request = grouped[number].request
            #expect(found == expectedRows[number], "seed \(seed): \(text(request)), groups of \(request.propertiesToGroupBy)")
        }
    }

    @Test("all possible plans, not only the chosen one, return this result in any model", arguments: 1 ... UInt64(12 * effort))
    func everyPlanAgreesWithMemory(_ seed: UInt64) throws {
        let filled = try seed % 4 == 0 ? FilledLibrary(seed: seed) : FilledLibrary(randomModel: seed)
        var requests = RandomRequest(filled, seed: seed &+ 2_000)
        let snapshot = try filled.library.store.snapshot()
        for _ in 0 ..< 120 {
            let request = try requests.next()
            let expected = try filled.expected(request)
            for plan in try FetchPlan.all(request, in: snapshot, counting: false) {
                let references = try snapshot.fetch(plan, excluding: []).references
                #expect(references == expected, "seed \(seed): \(text(request))\n\(plan.description)")
                // The same path as with many leaves: the other ends of relationships are read completely.
                let others = try snapshot.fetch(plan, excluding: [], in: FilterContext(snapshot, lookupLeavesMax: 0)).references
                #expect(others == expected, "seed \(seed), other ends first: \(text(request))\n\(plan.description)")
                let shared = try snapshot.fetch(plan, excluding: [], in: .shared(snapshot)).references
                #expect(shared == expected, "seed \(seed), by three threads: \(text(request))\n\(plan.description)")
            }
            for plan in try FetchPlan.all(request, in: snapshot, counting: true) {
                for context in [FilterContext(snapshot), .shared(snapshot)] {
                    let count = try snapshot.count(plan, excluding: [], in: context).count
                    #expect(count == expected.count, "seed \(seed), count: \(text(request))\n\(plan.description)")
                }
            }
        }
    }

    @Test("groups put together by several threads are those of one", arguments: 1 ... 4)
    func sharedGroupsAreTheSame(_ seed: UInt64) throws {
        let filled = try FilledLibrary(seed: seed, size: 300)
        var requests = RandomRequest(filled, seed: seed)
        var generator = SeededGenerator(seed: seed)
        let snapshot = try filled.library.store.snapshot()
        for _ in 0 ..< 60 {
            guard let (request, program) = try groups(requests.next(), filled.library, isGrouped: seed % 2 == 0, &generator) else { continue }
            let alone = try snapshot.groups(request, program, in: FilterContext(snapshot, threads: ScanThreads(most: 1))).rows
            let shared = try snapshot.groups(request, program, in: .shared(snapshot)).rows
            #expect(alone == shared, "seed \(seed): \(text(request)), groups of \(request.propertiesToGroupBy), \(request.propertiesToFetch)")
        }
    }

    /// Totals of a random number of the rows of a request, by a random attribute if `isGrouped`. Nil if the entity has no number.
    private func groups(
        _ request: FetchDescription, _ library: Library, isGrouped: Bool, _ generator: inout SeededGenerator
    ) throws -> (request: FetchDescription, program: DictionaryProgram)? {
        let entity = library.entity(request.entityName)
        let numbers = entity.attributes.filter { [.integer16, .integer32, .integer64, .double].contains($0.attributeType) }
        guard let group = entity.attributes.filter({ !$0.isTransient }).randomElement(using: &generator),
            let number = numbers.randomElement(using: &generator)
        else { return nil }
        var request = request
        request.sortDescriptors = []
        request.resultType = .dictionaries
        request.propertiesToGroupBy = isGrouped ? [group.name] : []
        request.propertiesToFetch = [
            .count(as: "n"), .minimum(of: number.name, as: "least"), .maximum(of: number.name, as: "most"),
            .sum(of: number.name, as: "sum"), .count(distinct: number.name, as: "different"),
        ]
        return (request, try DictionaryProgram(request, for: entity))
    }

    @Test("excluded objects are removed before offset and limit apply", arguments: 1 ... 3)
    func excludedObjectsAreLeftOut(_ seed: UInt64) throws {
        let filled = try FilledLibrary(seed: seed)
        var requests = RandomRequest(filled, seed: seed)
        let snapshot = try filled.library.store.snapshot()
        for _ in 0 ..< 150 {
            var request = try requests.next()
            let offset = request.fetchOffset
            let limit = request.fetchLimit
            request.fetchOffset = 0
            request.fetchLimit = 0
            let all = try filled.expected(request)
            let excluded = Set(all.filter { $0.key % 3 == 0 }.map(\.key))
            request.fetchOffset = offset
            request.fetchLimit = limit
            let rest = all.filter { !excluded.contains($0.key) }.dropFirst(offset)
            let expected = Array(limit > 0 ? rest.prefix(limit) : rest)
            #expect(try snapshot.fetch(request, excluding: excluded).references == expected, "seed \(seed): \(text(request))")
            #expect(try snapshot.count(request, excluding: excluded) == expected.count, "seed \(seed): \(text(request))")
        }
    }

    private func text(_ request: FetchDescription) -> String {
        "\(request.entityName) where \(request.predicate.map { "\($0)" } ?? "all") by "
            + "\(request.sortDescriptors.map { "\($0.keyPath) \($0.isAscending) \($0.comparison)" }) "
            + "from \(request.fetchOffset) limit \(request.fetchLimit) sub \(request.includesSubentities)"
    }
}

extension FilterContext {
    /// Scans with three threads for any number of rows.
    static func shared(_ snapshot: StoreSnapshot) -> FilterContext {
        FilterContext(snapshot, threads: ScanThreads(most: 3, cellsPerThreadMin: 1))
    }
}

/// Random requests to a filled library.
struct RandomRequest {
    private let filled: FilledLibrary
    private var generator: SeededGenerator

    init(_ filled: FilledLibrary, seed: UInt64) {
        self.filled = filled
        generator = SeededGenerator(seed: seed)
    }

    mutating func next() throws -> FetchDescription {
        let name = pick(filled.fetchable)
        let entity = filled.library.entity(name)
        var request = FetchDescription(entityName: name)
        if roll(10) > 0 { request.predicate = try FetchPredicate(node: node(entity, depth: 2)) }
        for _ in 0 ..< roll(3) {
            let (path, _) = path(entity, depth: 1, ordered: true)
            request.sortDescriptors.append(
                FetchSort(path, ascending: roll(2) == 0, comparison: pick([.standard, .standard, .caseInsensitive, .localizedStandard])))
        }
        if roll(6) == 0 { request.sortDescriptors = [FetchSort("year", ascending: roll(2) == 0)].filter { _ in entity.propertiesByName["year"] != nil } }
        if roll(2) == 0 { request.fetchLimit = 1 + roll(12) }
        if roll(3) == 0 { request.fetchOffset = roll(8) }
        request.includesSubentities = roll(6) > 0
        return request
    }

    private mutating func node(_ entity: EntityDescription, depth: Int) throws -> FetchPredicate.Node {
        switch roll(depth > 0 ? 10 : 6) {
        case 6, 7: return .and(try (0 ..< 2 + roll(2)).map { _ in try node(entity, depth: depth - 1) })
        case 8: return .or(try (0 ..< 2 + roll(2)).map { _ in try node(entity, depth: depth - 1) })
        case 9: return .not(try node(entity, depth: depth - 1))
        case 5: return try relationship(entity)
        default: return try comparison(entity)
        }
    }

    // MARK: Comparisons

    private mutating func comparison(_ entity: EntityDescription) throws -> FetchPredicate.Node {
        let (path, property) = path(entity, depth: 1, ordered: false)
        let constant = value(property)
        if property.isToOne {
            return try parse("\(path) \(pick(["==", "!="])) %@", [pick([constant, constant, .null])])
        }
        let isText = property.attributeType == .string
        switch roll(isText ? 8 : 6) {
        case 0: return try parse("\(path) \(pick(["==", "!="])) nil", [])
        case 1: return try parse("\(path) IN %@", [.array([constant, value(property), pick([.null, value(property)])])])
        case 2 where property.attributeType != .boolean && property.attributeType != .uuid:
            return try parse("\(path) BETWEEN %@", [.array([constant, value(property)])])
        case 6, 7:
            let word = pick(["BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "=="])
            return try parse("\(path) \(word)\(pick(["", "[c]", "[d]", "[cd]"])) %@", [constant.isNull ? "a" : constant])
        default:
            let isOrdered = property.attributeType != .boolean && property.attributeType != .uuid
            let word = pick(isOrdered ? ["==", "!=", "<", "<=", ">", ">="] : ["==", "!="])
            if isText { return try parse("\(path) \(word)\(pick(["", "", "[c]", "[cd]"])) %@", [constant]) }
            return try parse("\(path) \(word) %@", [constant])
        }
    }

    private mutating func relationship(_ entity: EntityDescription) throws -> FetchPredicate.Node {
        if roll(8) == 0, let toOne = entity.relationships.first(where: { $0.name == "author" && $0.isToOne }),
            let back = toOne.destinationEntity!.relationships.first(where: { $0.isToMany && $0.name != "friends" })
        {
            let (path, attribute) = path(over: roll(2), from: back.destinationEntity!)
            return try parse("ANY \(toOne.name).\(back.name).\(path) \(pick(["==", "!="])) %@", [value(attribute)])
        }
        let toManys = entity.relationships.filter { $0.isToMany && $0.inverse != nil && $0.name != "friends" }
        guard !toManys.isEmpty else {
            let objects = filled.objects(of: entity)
            return try parse("SELF IN %@", [.array((0 ..< 5).map { _ in objects.randomElement(using: &generator)!.id })])
        }
        let relationship = pick(toManys)
        let name = relationship.name
        let destination = relationship.destinationEntity!
        let attribute = pick(destination.attributes.filter { $0.attributeType != .decimal })
        let constant = value(attribute)
        switch roll(8) {
        case 6, 7:
            let (path, attribute) = path(over: 1 + roll(2), from: destination)
            return try parse("ANY \(name).\(path) \(pick(["==", "!="])) %@", [value(attribute)])
        case 0: return try parse("\(name).@count \(pick(["==", ">", "<=", "!="])) \(roll(4))", [])
        case 1: return try parse("SUBQUERY(\(name), $x, $x.\(attribute.name) == %@).@count \(pick([">", "==", "<"])) \(roll(3))", [constant])
        case 2: return try parse("\(name) CONTAINS %@", [pick(filled.objects(of: destination)).id])
        case 3: return try parse("NONE \(name).\(attribute.name) == %@", [constant])
        default: return try parse("\(pick(["ANY", "ALL"])) \(name).\(attribute.name) \(pick(["==", "!="])) %@", [constant])
        }
    }

    /// A path over relationships to an attribute.
    private mutating func path(over hops: Int, from entity: EntityDescription) -> (String, PropertyDescription) {
        let relationships = entity.relationships.filter { $0.inverse != nil && !filled.objects(of: $0.destinationEntity!).isEmpty }
        guard hops > 0, let next = relationships.randomElement(using: &generator) else {
            let attribute = pick(entity.attributes.filter { ![.decimal, .objectID, .binary].contains($0.attributeType) && !$0.isTransient })
            return (attribute.name, attribute)
        }
        let (rest, attribute) = path(over: hops - 1, from: next.destinationEntity!)
        return ("\(next.name).\(rest)", attribute)
    }

    private func parse(_ format: String, _ arguments: [PropertyValue]) throws -> FetchPredicate.Node {
        try FetchPredicate(format: format, arguments: arguments).node
    }

    /// A path to an attribute; without an order also to a to-one.
    private mutating func path(
        _ entity: EntityDescription, depth: Int, ordered: Bool
    ) -> (String, PropertyDescription) {
        let toOnes = entity.relationships.filter { $0.isToOne && $0.name == "author" }
        if depth > 0, roll(4) == 0, let toOne = toOnes.randomElement(using: &generator) {
            if !ordered, roll(3) == 0 { return (toOne.name, toOne) }
            let (rest, property) = path(toOne.destinationEntity!, depth: depth - 1, ordered: ordered)
            return (toOne.name + "." + rest, property)
        }
        let property = pick(entity.attributes.filter { !$0.isTransient && $0.attributeType != .objectID && $0.attributeType != .binary })
        return (property.name, property)
    }

    /// The value of some object, or one close to it.
    private mutating func value(_ property: PropertyDescription) -> PropertyValue {
        if property.isToOne { return pick(filled.objects(of: property.destinationEntity!)).id }
        let owners = filled.objects(of: property.entity)
        let found = try? pick(owners).evaluatedValue(forKey: property.name).propertyValue
        switch found ?? .null {
        case .null: return property.cellType.map { RandomValue.of($0, using: &generator) } ?? .null
        case .int(let number) where roll(4) == 0: return .double(Double(number) + 0.5)
        case let value: return value
        }
    }

    private mutating func roll(_ sides: Int) -> Int { .random(in: 0 ..< sides, using: &generator) }
    private mutating func pick<T>(_ choices: [T]) -> T { choices.randomElement(using: &generator)! }
}
