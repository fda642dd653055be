#if Postgres
import Foundation
import Hornbeam
import HornbeamModel
import HornbeamPostgres
import Testing

/// Each operator has the same results on the server as in memory, for extreme values of each type, also compared with values of other types.
@Suite(.enabled(if: PostgresServer.isThere)) struct ValueTests {
    private static let types: [(name: String, type: AttributeType)] = [
        ("small", .integer16), ("long", .integer64), ("double", .double), ("float", .float), ("decimal", .decimal), ("flag", .boolean), ("date", .date),
        ("text", .string), ("uri", .uri), ("bytes", .binary), ("mark", .uuid),
    ]

    private static let numbers = ["small", "long", "double", "float", "decimal", "flag"]

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            Entity(
                "Row",
                attributes: [AttributeDescription("id", .integer64)]
                    + types.flatMap { name, type in ["", "2"].map { AttributeDescription(name + $0, type, optional: true) } },
                relationships: [])
        ])
    }

    // MARK: Values

    private static let doubles: [Double] = [
        -.infinity, -.greatestFiniteMagnitude, -0x1p63, -9_007_199_254_740_992, -0.5, -.leastNonzeroMagnitude, -0.0, 0, .leastNonzeroMagnitude, 0.1,
        0.30000000000000004, 1, 9_007_199_254_740_992, 0x1p63, .infinity, .nan,
    ]
    private static let decimals = [
        "-99999999999999999999999999999999999999", "-0.5", "0", "0.1", "0.10", "0.30000000000000004", "1", "9007199254740993", "9223372036854775807",
        "12345678901234567890123456789012345678", "0.00000000000000000000000000000000000001", "NaN",
    ]

    private static func values(_ type: AttributeType) -> [PropertyValue] {
        switch type {
        case .integer16: [.int(-32_768), .int(-1), .int(0), .int(1), .int(32_767)]
        case .integer64: [.int(.min), .int(-9_007_199_254_740_993), .int(0), .int(1), .int(9_007_199_254_740_993), .int(.max)]
        case .double: doubles.map { .double($0) }
        case .float: doubles.map { .double(Double(Float($0))) } + [.double(Double(Float.greatestFiniteMagnitude))]
        case .decimal: decimals.map { .decimal($0 == "NaN" ? .nan : Decimal(string: $0, locale: nil) ?? 0) }
        case .boolean: [true, false]
        case .date: [-1e15, -63_114_076_800, -0.0, 0, 0.1 + 0.2, 9e15].map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        case .string:
            ["", "\u{0}", "\u{0}a", "\u{1}", "\u{1}\u{0}", "\u{2}", "%", "\\", "_", "a", "A", "a\u{0}", "a\nb", "ä", "a\u{308}", "ß", "İ", "𝄞", "\u{FFFF}"]
                .map { .string($0) }
        case .uri: ["https://a.example/", "https://A.example/", "file:///a%20b"].compactMap { URL(string: $0).map { .uri($0) } }
        case .binary: [Data(), Data([0]), Data([0, 255]), Data([92, 39]), Data([255])].map { .data($0) }
        case .uuid: [0, 1, 255].map { (byte: UInt8) in .uuid(UUID(uuid: (byte, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, byte))) }
        default: []
        }
    }

    /// Constants of predicates: truth values are numbers.
    private static func constants(_ type: AttributeType) -> [PropertyValue] { type == .boolean ? [.int(0), .int(1)] : values(type) }

    /// Contexts of the server and of a store in memory, with the same rows.
    private struct Stores {
        let server: ManagedObjectContext
        let memory: ManagedObjectContext
        let containers: [PersistentContainer]
    }

    private func stores() throws -> Stores {
        let schema = PostgresServer.freshSchema()
        let model = try Self.model()
        let memory = try PostgresServer.container(.inMemory(), model)
        let writer = try PostgresServer.container(schema, model)
        for container in [writer, memory] {
            let context = container.newContext()
            for id in 0 ..< 80 {
                var row: [String: PropertyValue] = ["id": .int(Int64(id))]
                for (place, (name, type)) in Self.types.enumerated() {
                    // Each pair of values occurs in some row, and missing ones too.
                    let all = [.null] + Self.values(type)
                    row[name] = all[id % all.count]
                    row[name + "2"] = all[(id / (place % 5 + 1) + place) % all.count]
                }
                try context.make("Row", row)
            }
            try context.save()
        }
        try writer.close()
        let reader = try PostgresServer.container(schema, model)
        return Stores(server: reader.newContext(), memory: memory.newContext(), containers: [reader, memory])
    }

    // MARK: Comparisons

    private static let orders: [FetchPredicate.Comparator] = [.equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan]

    private func ids(_ context: ManagedObjectContext, _ node: FetchPredicate.Node, _ sorts: [FetchSort] = [FetchSort("id")]) throws -> [PropertyValue] {
        let request = FetchRequest<ManagedObject>(entityName: "Row", predicate: FetchPredicate(node: node), sortedBy: sorts)
        return try context.fetch(request).map { try $0.value(forKey: "id") }
    }

    /// Requests that the model refuses are refused by both.
    private func expectSame(_ stores: Stores, _ node: FetchPredicate.Node) {
        let results = [stores.server, stores.memory].map { context in
            Result { try ids(context, node) }.mapError { ($0 as? HornbeamError) ?? HornbeamError(.general, "\($0)") }
        }
        switch (results[0], results[1]) {
        case (.success(let found), .success(let wanted)): #expect(found == wanted, "\(FetchPredicate(node: node))")
        case (.failure(let found), .failure(let wanted)): #expect(found.code == wanted.code, "\(FetchPredicate(node: node))")
        default: Issue.record("\(FetchPredicate(node: node)): \(results)")
        }
    }

    private func test(
        _ name: String, _ comparator: FetchPredicate.Comparator, _ constant: PropertyValue, _ options: FetchPredicate.Options = []
    ) -> FetchPredicate.Node {
        .comparison(.init(.keyPath(.evaluatedObject, [.name(name)]), comparator, .constant(constant), options: options))
    }

    @Test("comparisons with constants of the same type and of other numbers, for each type", arguments: types.map(\.name))
    func constants(name: String) throws {
        let stores = try stores()
        let isNumber = Self.numbers.contains(name)
        for (other, type) in Self.types where other == name || isNumber && Self.numbers.contains(other) {
            for constant in Self.constants(type) {
                for comparator in Self.orders { expectSame(stores, test(name, comparator, constant)) }
                expectSame(stores, .not(test(name, .lessThan, constant)))
            }
            for list in [[.null] + Self.constants(type).prefix(4), Array(Self.constants(type).suffix(3))] {
                expectSame(stores, test(name, .in, .array(list)))
                expectSame(stores, .not(test(name, .in, .array(list))))
            }
            for bound in Self.constants(type).prefix(3) {
                for end in Self.constants(type).suffix(3) { expectSame(stores, test(name, .between, .array([bound, end]))) }
            }
        }
        for list in [PropertyValue.array([]), .array([.null])] {
            expectSame(stores, test(name, .in, list))
            expectSame(stores, .not(test(name, .in, list)))
        }
        for container in stores.containers { try container.close() }
    }

    @Test("comparisons of two attributes, of the same type and of different numbers", arguments: types.map(\.name))
    func attributes(name: String) throws {
        let stores = try stores()
        let isNumber = Self.numbers.contains(name)
        for (other, _) in Self.types where other == name || isNumber && Self.numbers.contains(other) {
            for comparator in Self.orders {
                let node = FetchPredicate.Node.comparison(
                    .init(.keyPath(.evaluatedObject, [.name(name)]), comparator, .keyPath(.evaluatedObject, [.name(other + "2")]), options: []))
                expectSame(stores, node)
                expectSame(stores, .not(node))
            }
        }
        for container in stores.containers { try container.close() }
    }

    @Test("operators of texts with each option")
    func texts() throws {
        let stores = try stores()
        let comparators: [FetchPredicate.Comparator] = [.equal, .notEqual, .lessThan, .greaterThanOrEqual, .beginsWith, .endsWith, .contains, .like]
        for options in [[], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized] as [FetchPredicate.Options] {
            for constant in Self.values(.string) + ["*", "?", "a*", "\\*", "*\\", "?\n?"] {
                for comparator in comparators { expectSame(stores, test("text", comparator, constant, options)) }
            }
        }
        for container in stores.containers { try container.close() }
    }

    @Test("orders by each type, in both directions", arguments: types.map(\.name))
    func orders(name: String) throws {
        let stores = try stores()
        for isAscending in [true, false] {
            let sorts = [FetchSort(name, ascending: isAscending), FetchSort("id")]
            #expect(try ids(stores.server, .constant(true), sorts) == ids(stores.memory, .constant(true), sorts), "\(isAscending)")
        }
        for container in stores.containers { try container.close() }
    }

    // MARK: Groups

    /// Groups as texts: NaN equals no value, and −0 is 0.
    private func texts(_ groups: [[String: PropertyValue]]) -> [String] {
        groups.map { group in
            group.sorted { $0.key < $1.key }.map { name, value in
                if case .double(let number) = value, number == 0 { "\(name)=0" } else { "\(name)=\(value)" }
            }.joined(separator: " ")
        }.sorted()
    }

    @Test("groups by each type, with the number and the least and greatest values of each type", arguments: types.map(\.name))
    func groups(name: String) throws {
        let stores = try stores()
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Row")
        for keys in [[], [name]] {
            request.propertiesToGroupBy = keys
            for other in Self.types.map(\.name) {
                request.propertiesToFetch = keys.map { .init(stringLiteral: $0) } + [.count(as: "n"), .count(of: other + "2", as: "some")]
                if !["flag", "bytes", "mark"].contains(other) {
                    request.propertiesToFetch += [.minimum(of: other + "2", as: "least"), .maximum(of: other + "2", as: "greatest")]
                }
                // Other sums depend on the order of the rows.
                if other == "small" { request.propertiesToFetch += [.sum(of: "small2", as: "sum"), .average(of: "small2", as: "average")] }
                let (found, wanted) = (try stores.server.fetch(request), try stores.memory.fetch(request))
                #expect(texts(found) == texts(wanted), "\(keys) \(other)")
            }
        }
        for container in stores.containers { try container.close() }
    }
}
#endif
