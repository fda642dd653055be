#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamPostgres
import Testing

/// Random requests have the same results in PostgreSQL as in a store in memory.
@Suite(.enabled(if: PostgresServer.isThere)) struct PlanTests {
    private static let seeds = (ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES_SEEDS"].flatMap { Int($0) }) ?? 4

    @Test(arguments: 1 ... seeds) func answersAreThoseOfTheEngine(seed: Int) throws {
        var random = RandomRequests(seed: UInt64(seed))
        let schema = PostgresServer.freshSchema()
        let server = try PostgresServer.container(schema)
        let memory = try PostgresServer.container(.inMemory())
        let objects = random.objects(60)
        for container in [server, memory] { try insert(objects, into: container) }
        // Another container has read nothing yet.
        var exactCount = 0
        let reader = try PostgresServer.container(schema).newContext()
        let expected = memory.newContext()
        for _ in 0 ..< 150 {
            let (text, request) = try random.request()
            let results = try names(reader, request)
            let wanted = try names(expected, request)
            #expect(results == wanted, "seed \(seed): \(text)")
            #expect(try reader.count(request) == expected.count(request), "seed \(seed): count of \(text)")
            if try reader.explain(request).contains("  by the server") { exactCount += 1 }
        }
        #expect(exactCount > 80, "seed \(seed): the server decides \(exactCount) of 150 requests")
    }

    @Test(
        "a question mark of LIKE stands for one of the characters that are stored in another form",
        arguments: ["\u{0}\u{2}", "\u{1}\u{0}", "\u{0}\u{1}", "\u{0}\u{0}"])
    func likeWithStoredForms(middle: String) throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        try context.make("Author", ["name": .string("z\(middle)y")])
        try context.save()
        let reader = container.newContext()
        for (pattern, count) in [("z?y", 0), ("z??y", 1), ("z???y", 0)] {
            #expect(try reader.all("Author", by: "name", "name LIKE '\(pattern)'").count == count, "\(pattern)")
        }
        try container.close()
    }

    @Test("the server decides whether a relationship contains an object")
    func containedObjects() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        let (a, b, c) = (try context.make("Author", ["name": "a"]), try context.make("Author", ["name": "b"]), try context.make("Author", ["name": "c"]))
        let (book, song) = (try context.make("Book", ["title": "book"]), try context.make("Song", ["title": "song"]))
        let tag = try context.make("Tag", ["label": "t"])
        try book.setValue(a, forKey: "author")
        try song.setValue(b, forKey: "author")
        try a.changeObjects(forKey: "friends") { $0.append(b) }
        try tag.changeObjects(forKey: "works") { $0.append(song) }
        try context.save()
        for (entity, format, object, wanted) in [
            ("Author", "works CONTAINS %@", book, [a]), ("Author", "NOT works CONTAINS %@", book, [b, c]), ("Author", "%@ IN works", song, [b]),
            ("Author", "friends CONTAINS %@", a, [b]), ("Author", "friends CONTAINS %@ OR works CONTAINS %@", b, [a]), ("Work", "tags CONTAINS %@", tag, [song]),
            ("Work", "author.works CONTAINS %@", song, [song]), ("Work", "author.friends CONTAINS %@", a, [song]),
            ("Author", "SUBQUERY(works, $w, $w.tags CONTAINS %@).@count > 0", tag, [b]),
        ] as [(String, String, ManagedObject, [ManagedObject])] {
            let arguments = Array(repeating: object as any PredicateArgument, count: format.components(separatedBy: "%@").count - 1)
            let request = FetchRequest<ManagedObject>(entityName: entity, predicate: try FetchPredicate(format: format, arguments: arguments))
            let reader = container.newContext()
            #expect(try Set(reader.fetch(request).map(\.objectID)) == Set(wanted.map(\.objectID)), "\(format)")
            #expect(try reader.explain(request).contains("  by the server"), "\(format)")
        }
        try container.close()
    }

    /// A statement has 65,535 parameters at most.
    @Test("IN can have more members than a statement has parameters")
    func longLists() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        let author = try context.make("Author", ["name": "á, \"1\" \\", "born": 69_999])
        try context.make("Author", ["name": "b", "born": 70_000])
        try context.save()
        let (numbers, texts) = (Array(0 ..< 70_000), (0 ..< 70_000).map { "A, \"\($0)\" \\" })
        let far = (0 ..< 70_000).map { Double($0) + 0.5 } + [69_999]
        let ids = (0 ..< 70_000).map { _ in author.objectID }
        for (format, argument) in [
            ("born IN %@", numbers), ("name IN[cd] %@", texts), ("SELF IN %@", ids), ("born IN %@", far),
        ] as [(String, any PredicateArgument)] {
            let request = FetchRequest<ManagedObject>(entityName: "Author", predicate: try FetchPredicate(format: format, argument))
            #expect(try PostgresServer.container(schema).newContext().fetch(request).map(\.objectID) == [author.objectID], "\(format)")
        }
        try container.close()
    }

    /// libpq refused the statement, and the connection counted as lost.
    @Test("a condition with more constants than a statement has parameters is decided here")
    func longConditions() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        let author = try context.make("Author", ["name": "a", "born": 69_999])
        try context.make("Author", ["name": "b", "born": 70_000])
        try context.save()
        let tests = (0 ..< 70_000).map { number in
            FetchPredicate.Node.comparison(.init(.keyPath(.evaluatedObject, [.name("born")]), .equal, .constant(.int(number)), options: []))
        }
        let request = FetchRequest<ManagedObject>(entityName: "Author", predicate: FetchPredicate(node: .or(tests)))
        let reader = try PostgresServer.container(schema).newContext()
        #expect(try reader.fetch(request).map(\.objectID) == [author.objectID])
        #expect(try reader.count(request) == 1)
        #expect(try reader.explain(request).contains("more rows by the server"))
        try container.close()
    }

    private func names(_ context: ManagedObjectContext, _ request: FetchRequest<ManagedObject>) throws -> [PropertyValue] {
        try context.fetch(request).map { try $0.value(forKey: $0.entity.name == "Author" ? "name" : "title") }
    }

    private func insert(_ objects: RandomObjects, into container: PersistentContainer) throws {
        let context = container.newContext()
        var authors: [ManagedObject] = []
        for values in objects.authors {
            let author = try context.insert(entityNamed: "Author")
            for (key, value) in values { try author.setValue(value, forKey: key) }
            authors.append(author)
        }
        for (entity, author, values) in objects.works {
            let work = try context.insert(entityNamed: entity)
            for (key, value) in values { try work.setValue(value, forKey: key) }
            if let author { try work.setValue(authors[author], forKey: "author") }
        }
        try context.save()
    }
}

struct RandomObjects {
    var authors: [[String: PropertyValue]] = []
    var works: [(entity: String, author: Int?, values: [String: PropertyValue])] = []
}

/// Makes random objects and requests of the conformance model.
struct RandomRequests {
    private var random: SeededNumbers

    init(seed: UInt64) { random = SeededNumbers(seed) }

    private mutating func below(_ count: Int) -> Int { random.below(count) }

    private mutating func pick<T>(_ values: [T]) -> T { random.pick(values) }

    private static let texts = ["", "a", "A", "ab", "é", "É", "e\u{301}", "ß", "SS", "b%", "b_", "z\u{0}y", "z\u{1}", "z", "\u{2}", "𝄞"]

    mutating func objects(_ count: Int) -> RandomObjects {
        var objects = RandomObjects()
        for number in 0 ..< count {
            let name = pick(Self.texts) + String(number)
            objects.authors.append(["name": .string(name), "born": below(4) == 0 ? .null : .int(Int64(below(6)))])
            let entity = pick(["Book", "Song"])
            var values: [String: PropertyValue] = ["title": .string(pick(Self.texts) + String(number))]
            if entity == "Book", below(3) > 0 { values["pages"] = .int(Int64(below(5) - 2)) }
            if entity == "Song", below(3) > 0 { values["seconds"] = .double(pick([-.infinity, -0.5, 0, 0.5, 1, 2, .infinity, .nan])) }
            objects.works.append((entity, below(3) == 0 ? nil : below(objects.authors.count), values))
        }
        return objects
    }

    mutating func request() throws -> (text: String, request: FetchRequest<ManagedObject>) {
        let entity = pick(["Author", "Work", "Book", "Song"])
        let format = condition(of: entity, depth: 2)
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.predicate = try FetchPredicate(format: format)
        let keys = ["Author": ["name", "born"], "Work": ["title", "author.name", "author.born"], "Book": ["pages", "title"], "Song": ["seconds", "author.name"]]
        for _ in 0 ..< below(3) {
            let comparison: FetchSort.Comparison = pick([.standard, .standard, .standard, .caseInsensitive, .localizedStandard])
            request.sortDescriptors.append(FetchSort(pick(keys[entity] ?? []), ascending: below(2) == 0, comparison: comparison))
        }
        if below(3) == 0 { request.fetchLimit = below(8) }
        if below(3) == 0 { request.fetchOffset = below(8) }
        return ("\(entity) \(format) \(request.sortDescriptors) \(request.fetchOffset) \(request.fetchLimit)", request)
    }

    private mutating func condition(of entity: String, depth: Int) -> String {
        if depth > 0 {
            switch below(6) {
            case 0: return "(\(condition(of: entity, depth: depth - 1)) AND \(condition(of: entity, depth: depth - 1)))"
            case 1: return "(\(condition(of: entity, depth: depth - 1)) OR \(condition(of: entity, depth: depth - 1)))"
            case 2: return "(NOT \(condition(of: entity, depth: depth - 1)))"
            default: break
            }
        }
        switch entity {
        case "Author":
            let works = [
                "ANY works.title == \(quoted())", "ALL works.title >[cd] \(quoted())", "works.@count > \(below(3))", "ANY works.author.born < born",
                "SUBQUERY(works, $w, $w.title \(pick(["BEGINSWITH", "LIKE", "==", "!="]))[c] \(quoted()) AND $w.author.born > \(below(6))).@count > 0",
                "works.@max.title > name",
            ]
            return pick([text("name"), number("born"), number("born")] + works)
        case "Work": return pick([text("title"), text("author.name"), number("author.born"), "author == nil", "author != nil"])
        case "Book": return pick([text("title"), number("pages"), number("author.born"), "author.name == nil"])
        default: return pick([number("seconds"), number("seconds"), text("author.name"), "author == nil"])
        }
    }

    private mutating func quoted() -> String {
        let text = pick(Self.texts.filter { $0.utf8.allSatisfy { $0 > 2 } })
        return "'\(text)\(below(3) == 0 ? String(below(60)) : "")'"
    }

    private mutating func pattern() -> String {
        let parts = (0 ..< 1 + below(3)).map { _ in pick(["*", "?", "\\\\*", "%"] + Self.texts.filter { $0.utf8.allSatisfy { $0 > 2 } }) }
        return "'\(parts.joined())\(pick(["*", "?", ""]))'"
    }

    private mutating func text(_ path: String) -> String {
        switch below(8) {
        case 0: return "\(path) \(pick(["==", "!=", "<", "<=", ">", ">="])) nil"
        case 1: return "\(path) IN {\(quoted()), nil, \(quoted())}"
        case 2: return "\(path) BETWEEN {\(quoted()), \(quoted())}"
        case 3: return "\(path) \(pick(["CONTAINS", "BEGINSWITH", "ENDSWITH"]))\(pick(["", "[c]", "[d]", "[cd]", "[n]"])) \(quoted())"
        case 4: return "\(path) LIKE\(pick(["", "[c]", "[d]", "[cd]", "[n]"])) \(pattern())"
        default: return "\(path) \(pick(["==", "!=", "<", "<=", ">", ">="]))\(pick(["", "", "[c]", "[n]"])) \(quoted())"
        }
    }

    private mutating func number(_ path: String) -> String {
        let constants = ["0", "1", "2", "-1", "0.5", "1.5", "2.0", "1e30", "-1e30", "9007199254740993"]
        switch below(6) {
        case 0: return "\(path) \(pick(["==", "!=", "<", "<=", ">", ">="])) nil"
        case 1: return "\(path) IN {\(pick(constants)), \(pick(constants)), nil}"
        case 2: return "\(path) BETWEEN {\(pick(constants)), \(pick(constants))}"
        default: return "\(path) \(pick(["==", "!=", "<", "<=", ">", ">="])) \(pick(constants))"
        }
    }
}
#endif
