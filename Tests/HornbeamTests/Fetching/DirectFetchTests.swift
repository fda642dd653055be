import Foundation
import HornbeamModel
import Testing

@testable import Hornbeam

/// Requests of a shape that a context has fetched before are executed directly, and have the results of the general path.
struct DirectFetchTests {
    private final class Part: ManagedObject {
        static let name = Attribute<String?>("name")
        static let number = Attribute<Int>("number", default: 0)
        static let weight = Attribute<Double?>("weight")

        var name: String? { get { self[Self.name] } set { self[Self.name] = newValue } }
        var number: Int { get { self[Self.number] } set { self[Self.number] = newValue } }
        var weight: Double? { get { self[Self.weight] } set { self[Self.weight] = newValue } }

        override class var entityName: String { "Part" }
    }

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Part") {
                Attribute("name", .string, optional: true, indexed: true)
                Attribute("number", .integer64, default: 0, indexed: true)
                Attribute("weight", .double, optional: true)
            }
        }
    }

    private let stack: Stack
    private let context: ManagedObjectContext
    private let other: ManagedObjectContext

    init() throws {
        stack = try Stack(.inMemory, Self.model(), [Part.self])
        context = stack.newContext()
        other = stack.newContext()
        for number in 0 ..< 60 { Self.add(to: other, "n\(number / 2)", number) }
        // Enough others for an index to be worth its search.
        for number in 1000 ..< 2000 { Self.add(to: other, "a\(number)", number) }
        try other.save()
    }

    @discardableResult
    private static func add(to context: ManagedObjectContext, _ name: String?, _ number: Int) -> Part {
        let part = Part(context: context)
        (part.name, part.number) = (name, number)
        // Sums of these numbers depend on their order.
        part.weight = number % 5 == 0 ? nil : 1 / Double(number)
        return part
    }

    private typealias Request = FetchRequest<Part>

    /// A request for each form of direct fetch: equality, with a further condition, a page, a page with a further condition.
    private static func requests(_ name: String, _ number: Int) throws -> [FetchRequest<Part>] {
        try [
            Request().where(Part.name == name), Request().where("name == %@ AND number < %d", name, number),
            Request().where("name >= %@", name).sorted(by: "name").limit(7), Request().where("name > %@ AND number > %d", name, number).sorted(by: "name").limit(5),
        ]
    }

    private typealias Dictionaries = FetchRequest<[String: PropertyValue]>

    /// Requests for dictionaries of the same objects: columns, totals of all, groups. All of them are made directly.
    private static func dictionaries(_ request: Request) throws -> [Dictionaries] {
        var objects = request
        objects.sortDescriptors = []
        objects.fetchLimit = 0
        return try [
            request.selecting("name", "number"), request.selecting(.expression("letters", "length:(name)", type: .double), "weight"),
            objects.selecting(.count(as: "count"), .sum(of: "number", as: "sum"), .average(of: "weight", as: "mean"), .maximum(of: "name", as: "last")),
            objects.selecting(.expression("first", "min:(SELF)"), .expression("last", "max:(SELF)"), .expression("sum", "sum:(SELF)"), .count(as: "count")),
            objects.selecting(.count(distinct: "name", as: "names"), .expression("median", "median:(number)"), .sum(of: "weight", as: "weight")),
            objects.selecting("name", .count(as: "count"), .sum(of: "weight", as: "weight")).grouped(by: "name"),
            objects.selecting("name", .minimum(of: "number", as: "least")).grouped(by: "name").sorted(by: "least", ascending: false).limit(2).offset(1),
            objects.selecting(.sum(of: "number", as: "sum")).offset(1), objects.selecting(.count(as: "count")).limit(1),
        ]
    }

    /// Requests for dictionaries in the general way: different ones, and in the order of a column.
    private static func generalDictionaries(_ request: Request) throws -> [Dictionaries] {
        try [
            request.selecting("name").distinct(), request.selecting(.expression("letters", "length:(name)")).sorted(by: "letters").limit(3),
        ]
    }

    /// The request in a form that has no shape, so that it is fetched without a kept plan.
    private func planned<Result>(_ request: FetchRequest<Result>) -> FetchRequest<Result> {
        var request = request
        request.untyped.predicate = !(!(request.untyped.predicate ?? FetchPredicate(value: true)))
        return request
    }

    private func expectAgreement(_ context: ManagedObjectContext, _ title: String, _ location: SourceLocation = #_sourceLocation) throws {
        for name in ["n3", "n17", "none"] {
            for request in try Self.requests(name, 20) {
                let wanted = try context.fetch(planned(request))
                let title: Comment = "\(title): \(request.untyped)"
                #expect(try context.fetch(request).map(\.objectID) == wanted.map(\.objectID), title, sourceLocation: location)
                #expect(try context.fetch(request).map(\.name) == wanted.map(\.name), title, sourceLocation: location)
                #expect(try context.count(request) == wanted.count, title, sourceLocation: location)
            }
        }
    }

    /// Makes the dictionaries in both ways. The context then remembers other shapes than those of the objects.
    private func expectAgreementOfDictionaries(_ context: ManagedObjectContext, _ title: String, _ location: SourceLocation = #_sourceLocation) throws {
        for name in ["n3", "n17", "none"] {
            for request in try Self.requests(name, 20) {
                for dictionaries in try Self.dictionaries(request) + Self.generalDictionaries(request) {
                    let wanted = try context.fetch(planned(dictionaries))
                    let title: Comment = "\(title): \(dictionaries.untyped)"
                    #expect(try context.fetch(dictionaries) == wanted, title, sourceLocation: location)
                    #expect(try context.fetch(dictionaries) == wanted, title, sourceLocation: location)
                    #expect(try context.count(dictionaries) == wanted.count, title, sourceLocation: location)
                }
            }
        }
    }

    @Test("FET-12, FET-14: the second fetch of dictionaries of a shape is direct; different dictionaries and those in the order of a column never are")
    func secondFetchOfDictionariesIsDirect() throws {
        for (number, request) in try Self.requests("n3", 20).enumerated() {
            // The objects of a page are found in its order, so groups and totals of pages are made in the general way.
            for (place, dictionaries) in try Self.dictionaries(request).enumerated() where number < 2 || place < 2 {
                #expect(try context.directDictionaries(of: dictionaries.untyped) == nil)
                let first = try context.fetch(dictionaries)
                let rows = context.fetchCounters.rowsRead
                #expect(try context.directDictionaries(of: dictionaries.untyped) == first, "\(dictionaries.untyped)")
                // Another request has equal columns in another array.
                let again = try Self.dictionaries(request)[place]
                #expect(try context.directDictionaries(of: again.untyped) == first, "\(dictionaries.untyped)")
                #expect(context.fetchCounters.rowsRead - rows <= 2 * 100)
            }
            for dictionaries in try Self.generalDictionaries(request) {
                for _ in 0 ..< 3 {
                    let isDirect = try context.directDictionaries(of: dictionaries.untyped) != nil
                    #expect(!isDirect)
                    _ = try context.fetch(dictionaries)
                }
            }
        }
    }

    @Test("FET-16: a value that the type of its column cannot hold is the same error in a direct fetch")
    func conversionsFail() throws {
        let request = try Request().where("name == %@", "n3").selecting(.expression("small", "number", type: .integer16))
        for part in try other.fetch(Request().where(Part.name == "n3")) { part.number = 100_000 }
        try other.save()
        var errors: [String] = []
        for request in [request, request, planned(request)] {
            do { _ = try context.fetch(request) } catch let error as HornbeamError { errors.append("\(error.code): \(error)") }
        }
        #expect(errors.count == 3 && Set(errors).count == 1, "\(errors)")
    }

    @Test("FET-2: the second fetch and the second count of a shape are direct, and create the same objects")
    func secondFetchIsDirect() throws {
        for (place, request) in try Self.requests("n3", 20).enumerated() {
            #expect(try context.directObjects(of: request.untyped) == nil)
            let first = try context.fetch(request)
            let count = try context.count(request)
            let again = try Self.requests("n4", 30)[place]
            #expect(try context.directObjects(of: again.untyped)?.count == context.fetch(planned(again)).count)
            #expect(try context.fetch(request) == first && count == first.count)
            let directCount = try context.directCount(of: request.untyped)
            // The entries of a range are counted without reading them, and no plan is kept for a count of many rows.
            #expect(directCount == (place < 2 ? count : nil))
        }
    }

    /// The events between two fetches.
    private static let events: [(title: String, isDirect: Bool, body: @Sendable (DirectFetchTests) throws -> Void)] = [
        ("nothing", true, { _ in }),
        ("an unsaved insertion", false, { add(to: $0.context, "n3", 1) }),
        ("an unsaved change", false, { test in for part in try test.context.fetch(Request().where(Part.number == 6)) { part.name = "n17" } }),
        ("an unsaved deletion", false, { test in for part in try test.context.fetch(Request().where(Part.number == 7)) { test.context.delete(part) } }),
        ("a save", true, { try $0.context.save() }),
        ("a rollback", true, { test in
            add(to: test.context, "n3", 5)
            test.context.rollback()
        }),
        ("a save of another context", true, { test in
            add(to: test.other, "n3", 2)
            for part in try test.other.fetch(Request().where(Part.number == 34)) { part.name = "n3" }
            for part in try test.other.fetch(Request().where(Part.number == 35)) { test.other.delete(part) }
            try test.other.save()
        }),
        ("a batch update", true, { test in
            var batch = BatchUpdateRequest(Part.self, predicate: try FetchPredicate(format: "number == 40"))
            batch.set(Part.name, to: "n17")
            try test.other.execute(batch)
        }),
        ("reset", true, { $0.context.reset() }),
        ("refresh", true, { try $0.context.refreshAllObjects() }),
        ("a frequent value", true, { test in
            for number in 100 ..< 400 { add(to: test.other, "n17", number) }
            try test.other.save()
        }),
        ("a truncated key", true, { test in
            add(to: test.other, "n3" + String(repeating: "x", count: 2000), 8)
            try test.other.save()
        }),
    ]

    @Test("FET-2, FET-10: direct fetches see what happened since the last one", arguments: events.indices)
    func eventsAreSeen(number: Int) throws {
        let event = Self.events[number]
        try expectAgreement(context, "before")
        try event.body(self)
        try expectAgreement(context, event.title)
        let isUsed = try context.directObjects(of: Request().where(Part.name == "n5").untyped) != nil
        #expect(isUsed == event.isDirect, "after \(event.title)")
        try expectAgreementOfDictionaries(context, event.title)
        try context.save()
        try expectAgreement(context, "\(event.title), saved")
    }

    @Test("FET-2: all events in any order", arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func eventsInAnyOrder(seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        for round in 0 ..< 30 {
            let event = try #require(Self.events.randomElement(using: &random))
            try event.body(self)
            try expectAgreement(context, "seed \(seed), round \(round), after \(event.title)")
            if round % 6 == 0 { try expectAgreementOfDictionaries(context, "seed \(seed), round \(round), after \(event.title)") }
            if Bool.random(using: &random) { try context.save() }
        }
    }

    @Test("QGN-1, FET-2: a pinned context fetches from its generation, and from the newest state again afterwards")
    func pinnedContexts() throws {
        let request = Request().where(Part.name == "n3")
        _ = try context.fetch(request)
        #expect(try context.fetch(request).count == 2)
        try context.setQueryGeneration(from: stack.container.persistentStoreCoordinator.currentQueryGeneration())
        Self.add(to: other, "n3", 99)
        try other.save()
        #expect(try context.fetch(request).count == 2)
        #expect(try context.count(request) == 2)
        try expectAgreement(context, "pinned")
        try expectAgreementOfDictionaries(context, "pinned")
        try context.setQueryGeneration(from: nil)
        #expect(try context.fetch(request).count == 3)
        try expectAgreement(context, "unpinned")
        try expectAgreementOfDictionaries(context, "unpinned")
    }

    @Test("FET-2, MOC-6: a child context and one that does not merge fetch what they did before")
    func otherContexts() throws {
        let child = context.newChildContext()
        let stale = stack.newStaleContext()
        for fetching in [child, stale] { try expectAgreement(fetching, "first") }
        Self.add(to: context, "n3", 77)
        try expectAgreement(child, "beside a change of the parent")
        #expect(try child.fetch(Request().where(Part.name == "n3")).count == 3)
        try context.save()
        for fetching in [child, stale] {
            try expectAgreement(fetching, "after a save")
            try expectAgreementOfDictionaries(fetching, "after a save")
        }
    }

    @Test("FET-2: a request in a variable can be changed between two fetches")
    func changedRequests() throws {
        var request = Request().where(Part.name >= "n1").sorted(by: "name").limit(4)
        func numbers() throws -> [Int] {
            let wanted = try context.fetch(planned(request)).map(\.number)
            for _ in 0 ..< 3 { #expect(try context.fetch(request).map(\.number) == wanted, "\(request.untyped)") }
            return wanted
        }
        #expect(try numbers() == [2, 3, 20, 21])
        request.fetchLimit = 3
        #expect(try numbers() == [2, 3, 20])
        request.fetchOffset = 1
        #expect(try numbers() == [3, 20, 21])
        request.untyped.predicate = Part.name >= "n2"
        #expect(try numbers() == [5, 40, 41])
        request.sortDescriptors = [FetchSort("name", ascending: false)]
        #expect(try numbers() == [19, 16, 17])
        request.sortDescriptors = []
        #expect(try numbers() == [5, 6, 7])
        request.untyped.predicate = nil
        #expect(try numbers() == [1, 2, 3])
        request.shouldRefreshRefetchedObjects = true
        #expect(try numbers() == [1, 2, 3])
    }

    @Test("FET-2, FET-9: settings that need more than faults are served by the general path")
    func otherSettings() throws {
        var request = Request().where(Part.name == "n3")
        for setting in [\FetchDescription.returnsObjectsAsFaults, \.includesPropertyValues] {
            request.untyped[keyPath: setting] = false
            for _ in 0 ..< 3 { #expect(try context.fetch(request).count == 2) }
            #expect(try context.directObjects(of: request.untyped) == nil)
            request.untyped[keyPath: setting] = true
        }
        request.untyped.resultType = .objectIDs
        for _ in 0 ..< 3 { #expect(try context.fetchIDs(request).count == 2) }
    }

    @Test("FET-2: a subscriber receives reports of repeated fetches too")
    func reports() throws {
        let request = Request().where(Part.name == "n3")
        for _ in 0 ..< 3 { _ = try context.fetch(request) }
        let reports = Reports()
        stack.container.persistentStoreCoordinator.reportFetches(slowerThan: .zero) { report in reports.add(report.resultCount) }
        _ = try context.fetch(request)
        _ = try context.count(request)
        stack.container.persistentStoreCoordinator.reportFetches(slowerThan: .zero, to: nil)
        #expect(reports.counts == [2, 2])
    }

    @Test("FET-2: repeated fetches are counted like others")
    func counters() throws {
        let request = try Request().where("name == %@ AND number < %d", "n3", 7)
        _ = try context.fetch(request)
        let before = context.fetchCounters
        _ = try context.fetch(request)
        _ = try context.count(request)
        _ = try context.count(request)
        #expect(context.fetchCounters.fetches == before.fetches + 3)
        #expect(context.fetchCounters.rowsRead == before.rowsRead + 6)
        // The general path counts the rows of groups, too, and those of plain dictionaries once.
        for dictionaries in [request.selecting("name"), request.selecting(.sum(of: "number", as: "sum"))] {
            var costs: [Int] = []
            for request in [dictionaries, dictionaries, dictionaries] {
                let before = context.fetchCounters
                _ = try context.fetch(request)
                #expect(context.fetchCounters.fetches == before.fetches + 1)
                costs.append(context.fetchCounters.rowsRead - before.rowsRead)
            }
            #expect(costs == [2, 2, 2], "\(dictionaries.untyped)")
        }
    }

    @Test("FET-17: with a second store the results are those of both")
    func secondStore() throws {
        let request = Request().where(Part.name == "n3")
        for _ in 0 ..< 3 { #expect(try context.fetch(request).count == 2) }
        try stack.container.persistentStoreCoordinator.addPersistentStore(.inMemory())
        for _ in 0 ..< 3 { #expect(try context.fetch(request).count == 2) }
        try expectAgreement(context, "two stores")
        let second = try #require(stack.container.persistentStoreCoordinator.persistentStores.last)
        for number in 0 ..< 4 { try other.assign(Self.add(to: other, "n3", 500 + number), to: second) }
        try other.save()
        try expectAgreement(context, "objects in two stores")
        try expectAgreementOfDictionaries(context, "objects in two stores")
    }
}

/// The numbers of results in reports.
private final class Reports: @unchecked Sendable {  // guarded by its lock
    private let lock = NSLock()
    private var list: [Int] = []

    func add(_ count: Int) { lock.withLock { list.append(count) } }
    var counts: [Int] { lock.withLock { list } }
}
