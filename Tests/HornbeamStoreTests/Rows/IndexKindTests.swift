import Foundation
import HornbeamModel
import Testing
@testable import HornbeamStore

/// Indexes of every kind: partial ones, elements of composites, calculated keys.
private func indexedModel(_ indexes: [FetchIndexDescription]) throws -> ManagedObjectModel {
    try ManagedObjectModel {
        CompositeDescription("Point") {
            Attribute<Double?>("lat")
            Attribute<String?>("label")
        }
        Entity(
            "Place",
            attributes: [
                AttributeDescription("name", .string, optional: true), AttributeDescription("extent", .integer32, optional: true),
                AttributeDescription("price", .decimal, optional: true),
                AttributeDescription("at", .composite, optional: true, composite: "Point"),
            ],
            relationships: [RelationshipDescription("owner", to: "Owner", inverse: "places", toMany: false)],
            uniquenessConstraints: [["at.label"]], fetchIndexes: indexes)
        Entity("Owner") { ToMany("places", to: "Place", inverse: "owner") }
    }
}

private let indexes = [
    FetchIndexDescription("large", ["extent"], where: "extent > 10"),
    FetchIndexDescription("owned", ["name"], where: "owner != nil AND name != nil"),
    FetchIndexDescription("lat", [.descending("at.lat")]),
    FetchIndexDescription("upper", [FetchIndexElement("uppercase:(name)", isExpression: true), "extent"]),
    FetchIndexDescription("double", [FetchIndexElement("extent * 2 + 1", isExpression: true)]),
]

@Suite("Kinds of index") struct IndexKindTests {
    let library: Library

    init() throws { library = try Library(model: indexedModel(indexes)) }

    private func point(_ lat: Double?, _ label: String) -> PropertyValue {
        .dictionary(["lat": lat.map { .double($0) } ?? .null, "label": .string(label)])
    }

    private func fill(_ count: Int = 100) throws {
        var changes = ChangeSet()
        let owner = try library.add("Owner", to: &changes)
        for number in 0 ..< count {
            _ = try library.add(
                "Place",
                [
                    "name": number % 7 == 0 ? .null : .string("n\(number % 9)"), "extent": .int(Int64(number % 20)),
                    "at": point(number % 5 == 0 ? nil : Double(number), "\(number)"),
                    "owner": number % 3 == 0 ? library.id(owner) : .null,
                ], to: &changes)
        }
        _ = try library.store.save(changes)
    }

    private func request(_ format: String, _ arguments: [PropertyValue] = [], sort: [FetchSort] = []) throws -> FetchDescription {
        var request = FetchDescription(entityName: "Place")
        request.predicate = try FetchPredicate(format: format, arguments: arguments)
        request.sortDescriptors = sort
        return request
    }

    private func plan(_ format: String, sort: [FetchSort] = []) throws -> [String] {
        try library.store.snapshot().explain(request(format, sort: sort)).split(separator: "\n").map(String.init)
    }

    @Test(
        "MOD-9: a partial index answers what implies its predicate, and nothing else",
        arguments: [
            ("extent > 12", true), ("extent > 10", true), ("extent >= 10", false), ("extent == 15", true), ("extent == 5", false),
            ("extent IN {11, 12}", true), ("extent IN {1, 12}", false), ("extent < 15", false), ("extent > 10.5", false),
        ])
    func partial(format: String, isUsed: Bool) throws {
        try fill(2000)
        let plans = try FetchPlan.all(request(format), in: library.store.snapshot(), counting: false).map(\.description.description)
        #expect(plans.contains { $0.contains("Place(extent) where extent > 10") } == isUsed, "\(plans)")
    }

    @Test("MOD-9: equality without case or marks does not imply the exact predicate of a partial index", arguments: ["name ==[c] 'A'", "name ==[cd] 'A'"])
    func partialWithTextOptions(format: String) throws {
        let library = try Library(model: indexedModel([FetchIndexDescription("capital", ["extent"], where: "name == 'A'")]))
        var changes = ChangeSet()
        for number in 0 ..< 400 {
            _ = try library.add("Place", ["name": .string(number % 2 == 0 ? "A" : "a"), "extent": .int(Int64(number))], to: &changes)
        }
        _ = try library.store.save(changes)
        #expect(try library.store.snapshot().fetch(request("\(format) AND extent < 4")).references.count == 4)
        #expect(try library.store.snapshot().fetch(request("name == 'A' AND extent < 4")).references.count == 2)
    }

    @Test("MOD-9: a decimal above that of a partial index does not imply its predicate for doubles if both have the same nearest double")
    func partialWithDecimals() throws {
        let library = try Library(
            model: ManagedObjectModel {
                Entity(
                    "Place",
                    attributes: [AttributeDescription("name", .string), AttributeDescription("area", .double), AttributeDescription("price", .decimal)],
                    fetchIndexes: [
                        FetchIndexDescription("area", ["name"], where: "area > 10000000000000000000000"),
                        FetchIndexDescription("price", ["name"], where: "price > 10000000000000000000000"),
                    ])
            })
        var changes = ChangeSet()
        for number in 0 ..< 400 {
            let price = try #require(Decimal(string: "10000000000000000000001"))
            _ = try library.add(
                "Place", ["name": .string("n\(number)"), "area": .double(number < 200 ? 1e22 : 1e23), "price": .decimal(price)], to: &changes)
        }
        _ = try library.store.save(changes)
        for comparator in ["==", ">="] {
            for property in ["area", "price"] {
                let format = "\(property) \(comparator) 10000000000000000000001 AND name == 'n7'"
                #expect(try library.store.snapshot().fetch(request(format)).references.count == 1, "\(format)")
            }
        }
    }

    @Test("MOD-9: several conditions of a partial index must all be implied")
    func partialWithSeveralConditions() throws {
        try fill(2000)
        #expect(try plan("name == 'n3' AND owner != nil")[1].contains("Place(name) where owner != nil AND name != nil"))
        #expect(try !plan("name == 'n3'")[1].contains("index"))
    }

    @Test("ATT-13, MOD-9: an index over an element of a composite serves comparisons and sorts")
    func compositeElement() throws {
        try fill(2000)
        #expect(try plan("at.lat > 1990")[1] == "  index Place(at.lat desc): 8 entries")
        let sorted = try plan("TRUEPREDICATE", sort: [.descending("at.lat")])
        #expect(sorted.contains { $0.contains("order from the index") } || sorted.contains { $0.contains("index Place(at.lat desc)") })
    }

    @Test("MOD-8, ATT-13: an element of a composite can be unique, and nil never collides")
    func uniqueCompositeElement() throws {
        try library.insert("Place", ["at": point(1, "a")])
        try library.insert("Place", ["at": .dictionary([:])])
        try library.insert("Place", ["at": .dictionary([:])])
        #expect(throws: SaveConflicts.self) { try library.insert("Place", ["at": point(2, "a")]) }
        #expect(try library.store.snapshot().fetch(request("at.label == 'a'")).references.count == 1)
    }

    @Test("MOD-9: an index over an expression serves comparisons with the expression")
    func expression() throws {
        try fill(2000)
        #expect(try plan("uppercase(name) == 'N3' AND extent == 4")[1].contains("Place(uppercase:(name), extent)"))
        #expect(try plan("extent * 2 + 1 == 9")[1].contains("index Place(extent * 2 + 1)"))
        #expect(try !plan("lowercase(name) == 'n3'")[1].contains("index"))
    }

    @Test("MOD-9: an index whose entries depend on other data than the row is ignored, like an R-tree")
    func ignored() throws {
        let model = try indexedModel([
            FetchIndexDescription("far", ["extent"], where: "ANY owner.places.extent > 3"),
            FetchIndexDescription("pattern", ["extent"], where: "name MATCHES 'a+'"),
            FetchIndexDescription("now", [FetchIndexElement("extent + random()", isExpression: true)]),
            FetchIndexDescription("area", [FetchIndexElement("extent", kind: .rTree)]),
        ])
        let library = try Library(model: model)
        #expect(library.store.schema.indexes.filter { !$0.isUnique }.isEmpty)
    }

    @Test("MOD-9: inserts, updates, deletes and batches update the entries, and results never depend on the index", arguments: 1...6)
    func upkeep(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let plain = try Library(model: indexedModel([]))
        var objects: [(ObjectReference, ObjectReference)] = []
        let owners = (try library.insert("Owner"), try plain.insert("Owner"))
        func values(_ library: Library, _ owner: ObjectReference, _ salt: UInt64) -> Library.Values {
            var own = SeededGenerator(seed: salt)
            var values: Library.Values = [:]
            if Bool.random(using: &own) { values["name"] = .string(["a", "A", "b", "ß"].randomElement(using: &own)!) }
            if Int.random(in: 0 ..< 4, using: &own) > 0 { values["extent"] = .int(.random(in: 5 ... 15, using: &own)) }
            if Bool.random(using: &own) { values["owner"] = library.id(owner) }
            if Bool.random(using: &own) { values["at"] = point(Double.random(in: 0 ... 3, using: &own).rounded(), "\(salt)") }
            return values
        }
        for _ in 0 ..< 150 {
            let salt = generator.next()
            switch Int.random(in: 0 ..< 6, using: &generator) {
            case 0 ... 2:
                objects.append((
                    try library.insert("Place", values(library, owners.0, salt)), try plain.insert("Place", values(plain, owners.1, salt))
                ))
            case 3 where !objects.isEmpty:
                let (a, b) = objects.remove(at: Int.random(in: 0 ..< objects.count, using: &generator))
                try library.delete(a)
                try plain.delete(b)
            case 4 where !objects.isEmpty:
                let (a, b) = objects[Int.random(in: 0 ..< objects.count, using: &generator)]
                try library.update(a, values(library, owners.0, salt))
                try plain.update(b, values(plain, owners.1, salt))
            default:
                for (store, owner) in [(library, owners.0), (plain, owners.1)] {
                    let writer = try store.store.batchWriter(for: store.entity("Place"))
                    for (name, value) in values(store, owner, salt) { try writer.set(store.property(name, of: "Place"), value) }
                    let key = try writer.append()
                    try writer.finish()
                    let object = ObjectReference(store.entity("Place"), key)
                    if store.name == library.name { objects.append((object, object)) } else { objects[objects.count - 1].1 = object }
                }
            }
        }
        #expect(try library.store.check().problems == [], "seed \(seed)")
        let formats = [
            "extent > 10", "extent == 12", "extent IN {11, 14}", "name == 'a' AND owner != nil", "at.lat == 2", "at.lat == nil",
            "uppercase(name) == 'A'", "uppercase(name) == nil", "extent * 2 + 1 > 20", "extent * 2 + 1 == 21", "at.label != nil",
        ]
        for format in formats {
            let found = try library.store.snapshot().fetch(request(format)).references
            let wanted = try plain.store.snapshot().fetch(request(format)).references
            let pairs = Dictionary(uniqueKeysWithValues: objects.map { ($0.1, $0.0) })
            #expect(Set(found) == Set(wanted.compactMap { pairs[$0] }), "\(format), seed \(seed)")
        }
    }
}
