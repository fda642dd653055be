import Testing
@testable import HornbeamModel

/// Shapes of requests that were validated before.
@Suite struct RequestShapeTests {
    private let shapes = RequestShapes()
    private let model: ManagedObjectModel

    init() throws {
        let attributes = [AttributeDescription("title", .string, optional: true), AttributeDescription("pages", .integer64)]
        model = try ManagedObjectModel(entities: [Entity("Book", attributes: attributes)])
    }

    private func shape(limit: Int, title: String = "a") throws -> RequestShape {
        var request = FetchDescription(entityName: "Book", predicate: try FetchPredicate(format: "title == %@", title))
        request.fetchLimit = limit
        return try #require(try ValidatedFetch(request, in: model, shapes).shape)
    }

    @Test func shapesOfAllRequestsAreFound() throws {
        let made = try (0..<RequestShapes.countMax).map { try shape(limit: $0) }
        for (limit, shape) in made.enumerated() {
            let again = try self.shape(limit: limit, title: "b")
            #expect(again === shape)
        }
    }

    private func shape(_ columns: [FetchColumn], grouped: [String] = [], _ change: (inout FetchDescription) -> Void = { _ in }) throws -> RequestShape? {
        var request = FetchDescription(entityName: "Book", predicate: try FetchPredicate(format: "title == 'a'"))
        request.resultType = .dictionaries
        (request.propertiesToFetch, request.propertiesToGroupBy) = (columns, grouped)
        change(&request)
        return try ValidatedFetch(request, in: model, shapes).shape
    }

    @Test func shapesOfDictionariesHaveTheirColumns() throws {
        let all: [() throws -> RequestShape?] = [
            { try shape(["title"]) }, { try shape([.count(as: "a")]) }, { try shape([.count(of: "title", as: "a")]) }, { try shape([.count(as: "b")]) },
            { try shape(["title"]) { $0.returnsDistinctResults = true } }, { try shape(["title"], grouped: ["title"]) },
            { try shape(["title", .count(as: "a")], grouped: ["title"]) }, { try shape([]) }, { try shape([]) { $0.resultType = .objectIDs } },
        ]
        let made = try all.map { try $0() }
        for (place, first) in made.enumerated() {
            let again = try all[place]()
            #expect(first != nil && again === first)
            #expect(made[..<place].allSatisfy { $0 !== first })
        }
        #expect(try shape(["title"], grouped: ["title"]) { $0.havingPredicate = try? FetchPredicate(format: "title != nil") } == nil)
        #expect(try shape(["title"]) { $0.affectedStores = [] } == nil)
    }

    @Test func columnsWithConstantsOrClosuresHaveNoShape() throws {
        for format in ["pages * 2", "TERNARY(title == 'a', 1, 2)", "max:(pages + 1)", "-0.0"] {
            let made = try shape([.expression(name: "a", FetchExpression(format: format), type: nil)])
            #expect(made == nil, "\(format)")
        }
        #expect(try shape([.expression(name: "a", .block { _, _ in .int(1) }, type: nil)]) == nil)
    }

    @Test func invalidColumnsAreRefusedBesideAKnownShape() throws {
        _ = try shape([.count(of: "title", as: "a")])
        #expect(throws: HornbeamError.self) { _ = try shape([.count(of: "nothing", as: "a")]) }
        #expect(throws: HornbeamError.self) { _ = try shape(["title"], grouped: ["nothing"]) }
    }

    @Test func changesOfAShapeAreShapes() throws {
        var request = FetchDescription(entityName: "Book", predicate: try FetchPredicate(format: "title == 'a'"))
        request.resultType = .dictionaries
        (request.propertiesToFetch, request.fetchLimit) = ([.count(as: "a")], 5)
        let fetch = try ValidatedFetch(request, in: model, shapes)
        request.predicate = try FetchPredicate(format: "title == 'b'")
        let other = try ValidatedFetch(request, in: model, shapes)
        let (shape, changed) = try (#require(fetch.shape), #require(fetch.withoutOrder.shape))
        #expect(other.shape === shape && other.withoutOrder.shape === changed && changed !== shape)
        #expect(other.withoutOrder.request.fetchLimit == 0 && other.withoutOrder.request.predicate == request.predicate)
        #expect(other.withoutOrder.withoutOrder.shape === changed)
        let objects = try #require(fetch.objects(for: fetch.dictionaryProgram()).shape)
        #expect(try other.objects(for: other.dictionaryProgram()).shape === objects && objects !== changed && objects !== shape)
    }

    @Test func theOldestShapeIsRemovedFirst() throws {
        let made = try (0...RequestShapes.countMax).map { try shape(limit: $0) }
        let second = try shape(limit: 1)
        #expect(second === made[1])
        let first = try shape(limit: 0)
        #expect(first !== made[0])
        let last = try shape(limit: RequestShapes.countMax)
        #expect(last === made[RequestShapes.countMax])
    }
}

@Suite struct BoundedDictionaryTests {
    @Test func aChangedValueKeepsTheAgeOfItsKey() {
        var values = BoundedDictionary<Int, String>(countMax: 2)
        for (key, value) in [(1, "a"), (2, "b"), (1, "c"), (3, "d")] { values.set(value, for: key) }
        #expect(values.value(for: 1) == nil && values.value(for: 2) == "b" && values.value(for: 3) == "d" && values.count == 2)
    }

    @Test(arguments: [1, 2, 7]) func theLastKeysHaveValues(countMax: Int) {
        var values = BoundedDictionary<Int, Int>(countMax: countMax)
        for key in 0..<30 {
            values.set(-key, for: key)
            for known in 0...key { #expect(values.value(for: known) == (known > key - countMax ? -known : nil)) }
            #expect(values.count == min(key + 1, countMax))
        }
    }
}
