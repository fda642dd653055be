#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamPostgres
import Testing

/// Random requests for dictionaries and groups have the same results in PostgreSQL as in a store in memory.
@Suite(.enabled(if: PostgresServer.isThere)) struct DictionaryPlanTests {
    @Test(arguments: 1 ... 3) func dictionariesAreThoseOfTheEngine(seed: Int) throws {
        var random = RandomDictionaries(seed: UInt64(seed))
        let schema = PostgresServer.freshSchema()
        let memory = try PostgresServer.container(.inMemory())
        let objects = random.objects(80)
        for container in [try PostgresServer.container(schema), memory] {
            let context = container.newContext()
            for values in objects {
                let object = try context.insert(entityNamed: "Values")
                for (key, value) in values { try object.setValue(value, forKey: key) }
            }
            try context.save()
        }
        let (context, expected) = (try PostgresServer.container(schema).newContext(), memory.newContext())
        var exactCount = 0
        for _ in 0 ..< 150 {
            let request = try random.request()
            #expect(try context.fetch(request) == expected.fetch(request), "seed \(seed): \(request)")
            if try context.explain(request).contains("  by the server") { exactCount += 1 }
        }
        #expect(exactCount > 60, "seed \(seed): the server decides \(exactCount) of 150 requests")
    }

    /// Authors with a desk each, and works by two of them.
    private func library(_ container: PersistentContainer) throws -> [ManagedObject] {
        let context = container.newContext()
        var authors: [ManagedObject] = []
        for number in 0 ..< 3 {
            let author = try context.insert(entityNamed: "Author")
            try author.setValue(.string("a\(number)"), forKey: "name")
            try author.setValue(.int(Int64(1900 + number)), forKey: "born")
            let desk = try context.insert(entityNamed: "Desk")
            try desk.setValue(.string(number == 0 ? "attic" : "hall"), forKey: "place")
            try author.setValue(desk, forKey: "desk")
            authors.append(author)
        }
        for number in 0 ..< 9 {
            let work = try context.insert(entityNamed: number < 4 ? "Book" : "Song")
            try work.setValue(.string("w\(number % 4)"), forKey: "title")
            if number % 3 < 2 { try work.setValue(authors[number % 3], forKey: "author") }
        }
        try context.save()
        return authors
    }

    @Test func columnsOverRelationshipsAreReadByTheServer() throws {
        let schema = PostgresServer.freshSchema()
        let memory = try PostgresServer.container(.inMemory())
        _ = try library(PostgresServer.container(schema))
        _ = try library(memory)
        let context = try PostgresServer.container(schema).newContext()
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Work", sortedBy: [FetchSort("title"), FetchSort("author.name")])
        request.propertiesToFetch = ["title", "author.name", "author.desk.place"]
        for (isDistinct, limit, offset) in [(false, 0, 0), (true, 0, 0), (true, 3, 1), (false, 4, 2)] {
            request.returnsDistinctResults = isDistinct
            request.fetchLimit = limit
            request.fetchOffset = offset
            #expect(try context.fetch(request) == memory.newContext().fetch(request))
            #expect(try context.explain(request).contains("  by the server"))
        }
    }

    @Test("distinct dictionaries are groups of the server, in an order by their columns; in another order they are found here")
    func distinctDictionaries() throws {
        let schema = PostgresServer.freshSchema()
        let memory = try PostgresServer.container(.inMemory())
        _ = try library(PostgresServer.container(schema))
        _ = try library(memory)
        let context = try PostgresServer.container(schema).newContext()
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Work")
        request.propertiesToFetch = ["author.name", "title"]
        request.returnsDistinctResults = true
        for (keys, isGrouped) in [([], true), (["title"], true), (["author.name", "title"], true), (["author.born", "title"], false)] {
            request.sortDescriptors = keys.map { FetchSort($0, ascending: false) }
            for (limit, offset) in [(0, 0), (2, 1)] {
                (request.fetchLimit, request.fetchOffset) = (limit, offset)
                #expect(try context.fetch(request) == memory.newContext().fetch(request), "\(keys) \(limit)")
            }
            #expect(try context.explain(request).contains("GROUP BY") == isGrouped, "\(keys)")
        }
    }

    @Test func referencesAreObjectIDsOfTheContext() throws {
        let schema = PostgresServer.freshSchema()
        _ = try library(PostgresServer.container(schema))
        let context = try PostgresServer.container(schema).newContext()
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Work", sortedBy: [FetchSort("title")])
        request.predicate = try FetchPredicate(format: "author != nil")
        request.propertiesToFetch = ["title", "author"]
        for row in try context.fetch(request) {
            guard case .objectID(let id) = row["author"] else { return #expect(Bool(false), "The author is an object ID.") }
            #expect(try context.existingObject(with: id).value(forKey: "name").stringValue?.hasPrefix("a") == true)
        }
        request.sortDescriptors = []
        request.propertiesToGroupBy = ["author"]
        request.propertiesToFetch = ["author", .count(as: "n")]
        request.havingPredicate = try FetchPredicate(format: "n > 2")
        let groups = try context.fetch(request)
        #expect(try context.explain(request).contains("  by the server"))
        #expect(groups.map { $0["n"] } == [3, 3])
        let names = try groups.map { group -> PropertyValue in
            guard case .objectID(let id) = group["author"] else { return .null }
            return try context.existingObject(with: id).value(forKey: "name")
        }
        #expect(names == ["a0", "a1"])
    }

    @Test func sumsThatExceedSixtyFourBitsAreMadeHere() throws {
        let container = try PostgresServer.container()
        let memory = try PostgresServer.container(.inMemory())
        for container in [container, memory] {
            let context = container.newContext()
            for number in [Int64.max, Int64.max, -5] {
                try context.insert(entityNamed: "Values").setValue(.int(number), forKey: "int64")
            }
            try context.save()
        }
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Values")
        request.propertiesToFetch = [.sum(of: "int64", as: "sum"), .average(of: "int64", as: "average")]
        #expect(try container.newContext().fetch(request) == memory.newContext().fetch(request))
        var calculated = FetchRequest<ManagedObject>(entityName: "Values")
        calculated.predicate = try FetchPredicate(format: "int64 * 2 > 1")
        #expect(try container.newContext().count(calculated) == memory.newContext().count(calculated))
        #expect(try container.newContext().fetch(calculated).count == 2)
    }
}

/// Makes objects with random values of all types, and requests for their dictionaries and groups.
private struct RandomDictionaries {
    private var random: SeededNumbers

    init(seed: UInt64) { random = SeededNumbers(seed) }

    private static let keys = ["int16", "int32", "int64", "double", "float", "bool", "date", "decimal", "string", "uri", "data", "uuid"]
    private static let uuids = (0 ..< 3).map { _ in UUID() }

    mutating func objects(_ count: Int) -> [[String: PropertyValue]] {
        (0 ..< count).map { _ in
            var values: [String: PropertyValue] = [:]
            for key in Self.keys where random.below(4) > 0 { values[key] = value(key) }
            return values
        }
    }

    private mutating func value(_ key: String) -> PropertyValue {
        switch key {
        case "double", "float": random.pick([0.0, -0.0, 1.5, -2.0, .double(.nan), .double(.infinity)])
        case "bool": .bool(random.below(2) == 0)
        case "date": .date(Date(timeIntervalSinceReferenceDate: Double(random.below(3))))
        case "decimal": .decimal(random.pick([0, 1, 1.5, -2, Decimal(string: "0.1") ?? 0]))
        case "string": .string(random.pick(["", "a", "A", "é", "e\u{301}", "z\u{0}"]))
        case "uri": .uri(URL(string: "https://example.org/\(random.below(3))") ?? URL(filePath: "/"))
        case "data": .data(Data([UInt8(random.below(3))]))
        case "uuid": .uuid(random.pick(Self.uuids))
        default: .int(Int64(random.below(4) - 1))
        }
    }

    mutating func request() throws -> FetchRequest<[String: PropertyValue]> {
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Values")
        if random.below(2) == 0 {
            request.predicate = try FetchPredicate(format: random.pick(["int16 > 0", "string ==[c] 'a'", "bool == YES", "double < 1", "int32 == int16"]))
        }
        if random.below(3) == 0 {
            let keys = (0 ..< 1 + random.below(3)).map { _ in random.pick(Self.keys) }
            request.propertiesToFetch = Set(keys).sorted().map { .property($0) }
            request.returnsDistinctResults = random.below(2) == 0
            request.sortDescriptors = (0 ..< random.below(3)).map { _ in FetchSort(random.pick(keys), ascending: random.below(2) == 0) }
        } else {
            let keys = Set((0 ..< random.below(3)).map { _ in random.pick(Self.keys) }).sorted()
            request.propertiesToGroupBy = keys
            request.propertiesToFetch = keys.map { .property($0) } + [.count(as: "n")] + (0 ..< 1 + random.below(2)).map { total($0) }
            if !keys.isEmpty, random.below(3) == 0 { request.havingPredicate = try FetchPredicate(format: "n > 1") }
            if !keys.isEmpty, random.below(2) == 0 { request.sortDescriptors = [FetchSort(random.pick(keys), ascending: random.below(2) == 0)] }
        }
        if random.below(4) == 0 { request.fetchLimit = 1 + random.below(6) }
        if random.below(4) == 0 { request.fetchOffset = random.below(4) }
        return request
    }

    private mutating func total(_ number: Int) -> FetchColumn {
        let name = "total\(number)"
        let numeric = random.pick(["int16", "int32", "int64", "decimal", "double"])
        switch random.below(6) {
        case 0: return .sum(of: numeric, as: name)
        case 1: return .average(of: numeric, as: name)
        case 2: return .minimum(of: random.pick(Self.keys), as: name)
        case 3: return .maximum(of: random.pick(Self.keys), as: name)
        case 4: return .count(distinct: random.pick(Self.keys), as: name)
        default: return .count(of: random.pick(Self.keys), as: name)
        }
    }
}

/// Random numbers from a seed.
struct SeededNumbers {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func below(_ count: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(count))
    }

    mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }
}
#endif
