import Foundation
import HornbeamModel
import Testing
@testable import HornbeamStore

/// Fetches with several conditions behind relationships, over sections with packages, packages with dependencies, and labels of sections.
@Suite("Plans over relationships")
struct RelatedPlanTests {
    private let catalogue: SectionCatalogue

    init() throws { catalogue = try SectionCatalogue() }

    // MARK: Plans

    private func plan(_ entity: String, _ format: String) throws -> String {
        let request = FetchDescription(entityName: entity, predicate: try FetchPredicate(format: format))
        return try catalogue.library.store.snapshot().explain(request)
    }

    private static let target = "packages.dependencies.target"

    @Test("conditions that few destinations satisfy are all followed from their destinations", arguments: [["few", "usual"], ["usual", "few"]])
    func rareConditionsAreIntersected(_ names: [String]) throws {
        let format = names.map { "ANY \(Self.target) == '\($0)'" }.joined(separator: " AND ")
        #expect(
            try plan("Section", format) == """
                fetch Section
                  look up 5 objects by ID, found by ANY packages.dependencies.target == "few" AND ANY packages.dependencies.target == "usual"
                  order by ID
                """)
    }

    @Test("a condition that many destinations satisfy is tested on the objects that a rare one leaves", arguments: [true, false])
    func commonConditionIsTested(_ isFirst: Bool) throws {
        let formats = ["ANY \(Self.target) == 'common'", "ANY \(Self.target) == 'few'"]
        #expect(
            try plan("Section", (isFirst ? formats : formats.reversed()).joined(separator: " AND ")) == """
                fetch Section
                  look up 5 objects by ID, found by ANY packages.dependencies.target == "few"
                  filter columns, then related objects: ANY packages.dependencies.target == "common"
                  order by ID
                """)
    }

    @Test("a condition on the fetched objects that few satisfy leaves a common condition to a test of them")
    func commonConditionAfterIndex() throws {
        #expect(
            try plan("Section", "ANY \(Self.target) == 'usual'") == """
                fetch Section
                  look up 12 objects by ID, found by ANY packages.dependencies.target == "usual"
                  order by ID
                """)
        #expect(
            try plan("Section", "ANY \(Self.target) == 'usual' AND name IN {'s1', 's2', 's3', 's4'}") == """
                fetch Section
                  unique index Section(name), 4 ranges: 4 entries
                  filter columns, then related objects: ANY packages.dependencies.target == "usual"
                  order by ID
                """)
    }

    @Test("members that a predicate names are combined with the other conditions")
    func containingIsIntersected() throws {
        let label = try #require(catalogue.object("Label", "l2"))
        var request = FetchDescription(entityName: "Section")
        request.predicate = try FetchPredicate(
            format: "labels CONTAINS %@ AND ANY \(Self.target) == 'few'", arguments: [label.id])
        let text = try catalogue.library.store.snapshot().explain(request)
        #expect(text.contains("found by labels CONTAINS") && text.contains("AND ANY packages.dependencies.target == \"few\""), "\(text)")
        #expect(!text.contains("filter"), "\(text)")
    }

    // MARK: Results

    private static let conditions = [
        "ANY packages.dependencies.target == 'none'", "ANY packages.dependencies.target == 'rare'",
        "ANY packages.dependencies.target == 'few'", "ANY packages.dependencies.target == 'usual'",
        "ANY packages.dependencies.target == 'common'", "ANY packages.dependencies.target == nil",
        "ANY packages.dependencies.target != 'common'", "ANY packages.dependencies.weight > 5", "ANY packages.size == 3",
        "NOT ANY packages.dependencies.target == 'rare'", "NONE packages.dependencies.target == 'usual'",
        "ALL packages.dependencies.target == 'common'", "ALL packages.size < 9",
        "(ANY packages.dependencies.target == 'rare' OR ANY packages.size == 7)", "ANY labels.name == 'l1'", "ANY labels.name != 'l2'",
        "ANY labels.sections.rank == 2", "packages.@count > 20", "name IN {'s1', 's2', 's5', 's12'}", "rank == 2", "rank == nil",
        "ANY packages.section.labels.name == 'l3'",
    ]

    @Test("conditions over relationships have the results of the evaluator in every order, by every plan", arguments: 0 ..< Self.conditions.count)
    func everyPlanAgreesWithTheEvaluator(_ first: Int) throws {
        var generator = SeededGenerator(seed: UInt64(first) + 1)
        let snapshot = try catalogue.library.store.snapshot()
        for second in stride(from: first % 2, to: Self.conditions.count, by: 2) {
            let third = Self.conditions.indices.randomElement(using: &generator) ?? 0
            var request = FetchDescription(entityName: second % 3 == 0 ? "Area" : "Section")
            request.predicate = try FetchPredicate(format: [first, second, third].map { Self.conditions[$0] }.joined(separator: " AND "))
            if second % 4 == 1 { request.sortDescriptors = [.descending("name")] }
            if second % 5 == 1 { request.fetchLimit = 3 }
            if second % 7 == 1 { request.fetchOffset = 1 }
            let expected = try catalogue.expected(request)
            let answer = try snapshot.fetch(request)
            #expect(answer.references == expected, "\(request.predicate!)\n\(answer.work.text)")
            #expect(try snapshot.count(request) == expected.count, "count: \(request.predicate!)")
            for plan in try FetchPlan.all(request, in: snapshot, counting: false) {
                for lookups in [0, 4] {
                    let found = try snapshot.fetch(plan, excluding: [], in: FilterContext(snapshot, lookupLeavesMax: lookups)).references
                    #expect(found == expected, "\(request.predicate!)\n\(plan.description)")
                }
            }
        }
    }
}

/// Sixteen sections, four of which are areas. The first twelve have packages, and most packages have dependencies: of 1,296, two are on “rare”, 37 on
/// “few”, a quarter on “usual”, most others on “common”, and some on nothing.
private final class SectionCatalogue {
    let library: Library
    private var objects: [MemoryObject] = []
    private var changes = ChangeSet()

    init() throws {
        library = try Library(
            model: ManagedObjectModel {
                Entity("Section") {
                    Attribute("name", .string, unique: true)
                    Attribute("rank", .integer16, optional: true, indexed: true)
                    ToMany("packages", to: "Package", inverse: "section")
                    ToMany("labels", to: "Label", inverse: "sections")
                }
                Entity("Area", parent: "Section") {}
                Entity("Package") {
                    Attribute("size", .integer32)
                    ToOne("section", to: "Section", inverse: "packages")
                    ToMany("dependencies", to: "Dependency", inverse: "package")
                }
                Entity("Dependency") {
                    Attribute("target", .string, optional: true, indexed: true)
                    Attribute("weight", .integer16)
                    ToOne("package", to: "Package", inverse: "dependencies")
                }
                Entity("Label") {
                    Attribute("name", .string, indexed: true)
                    ToMany("sections", to: "Section", inverse: "labels")
                }
            })
        let labels = try (0 ..< 5).map { try add("Label", ["name": .string("l\($0)")]) }
        var number = 0
        for place in 0 ..< 16 {
            let rank: PropertyValue = place % 5 == 0 ? .null : .int(Int64(place % 4))
            let section = try add(place % 4 == 3 ? "Area" : "Section", ["name": .string("s\(place)"), "rank": rank])
            let chosen = labels.enumerated().filter { (place + $0.offset) % 3 == 0 }.map(\.element)
            changes.links.append(
                ChangeSet.Link(relationship: library.property("labels", of: "Section"), owner: section.reference, added: chosen.map(\.reference)))
            section.links["labels"] = chosen
            for label in chosen { label.links["sections", default: []].append(section) }
            for size in 0 ..< (place < 12 ? 30 : 0) {
                let package = try add("Package", ["size": .int(Int64(size % 10)), "section": library.id(section.reference)])
                package.refer("section", to: section)
                section.links["packages", default: []].append(package)
                for _ in 0 ..< (size % 10 == 4 ? 0 : 4) {
                    let dependency = try add(
                        "Dependency", ["target": target(number, place), "weight": .int(Int64(number % 7)), "package": library.id(package.reference)])
                    package.links["dependencies", default: []].append(dependency)
                    number += 1
                }
            }
        }
        _ = try library.store.save(changes)
    }

    private func target(_ number: Int, _ place: Int) -> PropertyValue {
        switch number {
        case 5, 500: .string("rare")
        case _ where place % 3 == 1 && number % 12 == 0 || number == 8: .string("few")
        case _ where number / 4 % 15 < 4: .string("usual")
        case _ where number % 4 == 2 && place % 4 == 2: .null
        default: .string("common")
        }
    }

    private func add(_ entity: String, _ values: Library.Values) throws -> MemoryObject {
        let reference = try library.add(entity, values, to: &changes)
        let object = MemoryObject(reference, library.entity(entity), values, library.id(reference))
        objects.append(object)
        return object
    }

    func object(_ entity: String, _ name: String) -> MemoryObject? {
        objects.first { $0.entity.name == entity && (try? $0.evaluatedValue(forKey: "name").propertyValue) == .string(name) }
    }

    /// The result of the evaluator: every object tested, sorted by name in descending order if the request has an order.
    func expected(_ request: FetchDescription) throws -> [ObjectReference] {
        let entity = library.entity(request.entityName)
        var found = try objects.filter { try $0.entity.isKind(of: entity) && request.predicate?.evaluate(with: $0) ?? true }
        for sort in request.sortDescriptors { try found.sort { try ($0.order($1, sort) == .less) == sort.isAscending } }
        return request.window.of(found).map(\.reference)
    }
}
