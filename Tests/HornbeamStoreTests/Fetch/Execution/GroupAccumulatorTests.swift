import HornbeamModel
import Testing
@testable import HornbeamStore

/// Groups and pages that are computed from cells agree with those of values.
struct GroupAccumulatorTests {
    private static let keys: [(entity: String, expressions: [String])] = [
        ("Publication", ["year", "author", "author.name", "author.born", "author.desk", "title", "length:(title)", "tags.@count", "price", "successor.author"]),
        ("Values", ["int16", "int32", "int64", "bool", "string", "double", "float", "date", "uuid", "decimal", "length:(string)", "int32 * 2"]),
        ("Book", ["pages", "author", "isbn", "shelf"]),
    ]
    private static let totals: [String: [String]] = [
        "Publication": ["count:(distinct:(title))", "count:(distinct:(year))", "count:(distinct:(author.name))", "count:(distinct:(tags.@count))", "max:(year)", "sum:(year)", "sum:(price)"],
        "Values": ["count:(distinct:(string))", "count:(distinct:(int64))", "count:(distinct:(bool))", "sum:(int16)", "max:(double)", "min:(date)", "sum:(distinct:(int32))"],
        "Book": ["count:(distinct:(author))", "sum:(pages)", "average:(pages)", "count:(distinct:(length:(title)))"],
    ]
    private static let conditions: [String: [String]] = [
        // The rows of an author's publications are read by their keys, several at a time.
        "Publication": ["TRUEPREDICATE", "year > 1954", "author.born > 1902"], "Values": ["TRUEPREDICATE", "int32 > 0", "int16 == 1 OR int16 == 2"],
        "Book": ["TRUEPREDICATE", "pages == 100", "author.born > 1902"],
    ]

    private func request(_ entity: String, by expressions: [String], where condition: String) throws -> FetchDescription {
        var request = FetchDescription(entityName: entity, predicate: try FetchPredicate(format: condition))
        request.resultType = .dictionaries
        for (place, expression) in expressions.enumerated() {
            request.propertiesToFetch.append(try .expression("k\(place)", expression))
        }
        for (place, total) in Self.totals[entity, default: []].enumerated() {
            request.propertiesToFetch.append(try .expression("t\(place)", total))
        }
        request.propertiesToGroupBy = expressions.indices.map { "k\($0)" }
        return request
    }

    @Test("FET-14: groups by one or two expressions, with totals and different values, agree with groups of values", arguments: 1 ... UInt64(4))
    func groupsAgree(seed: UInt64) throws {
        let filled = try FilledLibrary(seed: seed, size: 150)
        let snapshot = try filled.library.store.snapshot()
        var random = SeededGenerator(seed: seed)
        for (entity, expressions) in Self.keys {
            let pairs = (0 ..< 12).map { _ in [expressions.randomElement(using: &random)!, expressions.randomElement(using: &random)!] }
            for keys in [[]] + expressions.map({ [$0] }) + pairs where Set(keys).count == keys.count {
                for condition in Self.conditions[entity, default: []] {
                    let fetch = try ValidatedFetch(try request(entity, by: keys, where: condition), in: filled.library.store.model)
                    try expectAgreement(fetch, snapshot, "seed \(seed): \(entity) by \(keys) where \(condition)")
                }
            }
        }
    }

    private func expectAgreement(_ fetch: ValidatedFetch, _ snapshot: StoreSnapshot, _ title: String) throws {
        let program = try DictionaryProgram(fetch.request, for: fetch.entity)
        var objects = FetchDescription(entityName: fetch.request.entityName, predicate: fetch.request.predicate)
        objects.includesSubentities = fetch.request.includesSubentities
        let found = try snapshot.fetch(ValidatedFetch(objects, in: snapshot.schema.model)).references
        let columns = try snapshot.columns(program.inputs, of: found)
        let inputs = found.indices.map { place in columns.map { $0[place] } }
        var wanted = GroupTable(program)
        for (place, reference) in found.enumerated() { wanted.add(inputs[place], object: reference.key) }
        let rows = try wanted.rows()
        #expect(try snapshot.groups(fetch, program, excluding: [], adding: []).rows == rows, "\(title)")
        // Some objects come from a context, so that different values are kept.
        let places = found.indices.filter { $0 % 3 == 0 }
        let added = places.map { GroupedObject(key: found[$0].key, inputs: inputs[$0]) }
        let mixed = try snapshot.groups(fetch, program, excluding: Set(places.map { found[$0].key }), adding: added)
        #expect(mixed.rows == rows, "\(title), with objects of a context")
    }

    @Test("FET-16: the first objects in the order of a computed number are the first of all", arguments: 1 ... UInt64(4))
    func pagesAgree(seed: UInt64) throws {
        let filled = try FilledLibrary(seed: seed, size: 120)
        let snapshot = try filled.library.store.snapshot()
        for (entity, expression) in [
            ("Publication", "length:(title)"), ("Publication", "tags.@count"), ("Publication", "SUBQUERY(tags, $t, $t.label == 't1').@count"),
            ("Values", "length:(string)"), ("Values", "int64"), ("Author", "born"),
        ] {
            let node = try FetchExpression(format: expression).node
            let fetch = try ValidatedFetch(FetchDescription(entityName: entity), in: filled.library.store.model)
            let all = try snapshot.fetch(fetch).references
            let values = try snapshot.columns([node], of: all)[0]
            for isAscending in [true, false] {
                let sort = FetchSort("k", ascending: isAscending)
                let sorted = all.indices.sorted { a, b in
                    let order = sort.order(values[a], values[b])
                    return order == .same ? all[a].key < all[b].key : order == .less
                }
                for count in [0, 1, 7, 1000] {
                    let found = try #require(try snapshot.first(count, of: fetch, by: node, isAscending: isAscending)).references
                    #expect(found == sorted.prefix(count).map { all[$0] }, "seed \(seed): \(count) of \(entity) by \(expression), \(isAscending)")
                }
            }
        }
        let fetch = try ValidatedFetch(FetchDescription(entityName: "Values"), in: filled.library.store.model)
        for expression in ["string", "double", "int32 * 2", "bool"] {
            let node = try FetchExpression(format: expression).node
            #expect(try snapshot.first(5, of: fetch, by: node, isAscending: true) == nil, "\(expression)")
        }
    }

    @Test("values have the numbers of their first occurrence, however many there are", arguments: 1 ... UInt64(3))
    func numberedValues(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (texts, pairs) = (NumberedTexts(), NumberedPairs())
        var (knownTexts, knownPairs): ([[UInt8]: Int], [[UInt64]: Int]) = ([:], [:])
        for _ in 0 ..< 6000 {
            let text = (0 ..< Int.random(in: 0 ... 12, using: &random)).map { _ in UInt8.random(in: 0 ... 2, using: &random) }
            let textNumber = unsafe text.withUnsafeBytes { unsafe texts.number($0) }
            #expect(textNumber == (knownTexts[text] ?? knownTexts.count, knownTexts[text] == nil), "seed \(seed)")
            knownTexts[text] = textNumber.number
            let pair = [UInt64.random(in: 0 ... 50, using: &random), [0, UInt64.max, UInt64.random(in: 0 ... 50, using: &random)].randomElement(using: &random)!]
            let tag = UInt8.random(in: 0 ... 1, using: &random)
            let pairNumber = pairs.number(pair[0], pair[1], tag: tag)
            let key = pair + [UInt64(tag)]
            #expect(pairNumber == (knownPairs[key] ?? knownPairs.count, knownPairs[key] == nil), "seed \(seed)")
            knownPairs[key] = pairNumber.number
        }
    }
}
