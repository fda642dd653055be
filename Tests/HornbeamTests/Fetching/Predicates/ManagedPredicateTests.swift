import Foundation
import Hornbeam
import Testing

private final class Event: ManagedObject {
    static let name = Attribute<String>("name")
    static let latitude = Attribute<Double>("latitude", default: 0)
    static let note = Attribute<String?>("note")
    static let isPublic = Attribute<Bool>("isPublic", default: false)
    static let when = Attribute<Date?>("when")
    static let kind = Attribute<Kind>("kind", default: .talk)
    static let place = ToOne<Venue>("place", inverse: "events")
    static let tags = ToMany<Tag>("tags", inverse: "events")
    static let steps = OrderedToMany<Tag>("steps")

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var latitude: Double { get { self[Self.latitude] } set { self[Self.latitude] = newValue } }
    var note: String? { get { self[Self.note] } set { self[Self.note] = newValue } }
    var isPublic: Bool { get { self[Self.isPublic] } set { self[Self.isPublic] = newValue } }
    var when: Date? { get { self[Self.when] } set { self[Self.when] = newValue } }
    var kind: Kind { get { self[Self.kind] } set { self[Self.kind] = newValue } }
    var place: Venue? { get { self[Self.place] } set { self[Self.place] = newValue } }
    var tags: ManagedSet<Tag> { get { self[Self.tags] } set { self[Self.tags] = newValue } }
    var steps: ManagedArray<Tag> { get { self[Self.steps] } set { self[Self.steps] = newValue } }
    var title: String { "\(name) \(note ?? "")" }
    var shortName: String { String(name.prefix(3)) }
}

private enum Kind: String, CaseIterable, AttributeValue, Codable { case talk, walk }

private final class Venue: ManagedObject {
    static let city = Attribute<String>("city")
    static let events = ToMany<Event>("events", inverse: "place")
    var city: String { get { self[Self.city] } set { self[Self.city] = newValue } }
    var events: ManagedSet<Event> { get { self[Self.events] } set { self[Self.events] = newValue } }
}

private final class Tag: ManagedObject {
    static let label = Attribute<String>("label")
    static let weight = Attribute<Int>("weight", default: 1)
    static let events = ToMany<Event>("events", inverse: "tags")
    var label: String { get { self[Self.label] } set { self[Self.label] = newValue } }
    var weight: Int { get { self[Self.weight] } set { self[Self.weight] = newValue } }
}

/// `#Predicate` over managed classes, whose accessors are computed.
@Suite struct ManagedPredicateTests {
    private func format(_ predicate: Predicate<Event>) throws -> String { try FetchPredicate(predicate).description }

    @Test func accessorsAreTurnedIntoKeys() throws {
        #expect(try format(#Predicate { $0.latitude > 37 && $0.name.contains("x") }) == "latitude > 37.0 AND name CONTAINS \"x\"")
        #expect(try format(#Predicate { $0.note == nil || $0.isPublic }) == "note == nil OR isPublic == 1")
        #expect(try format(#Predicate { $0.place?.city == "Oslo" }) == "place.city == \"Oslo\"")
        #expect(try format(#Predicate { $0.tags.contains { $0.label == "a" && $0.weight > 2 } })
            == "SUBQUERY(tags, $x, $x.label == \"a\" AND $x.weight > 2).@count != 0")
        #expect(try format(#Predicate { $0.tags.count > 1 && !$0.steps.isEmpty }) == "tags.@count > 1 AND (NOT steps.@count == 0)")
        #expect(try format(#Predicate { $0.tags.isEmpty }) == "tags.@count == 0")
        #expect(try format(#Predicate { $0.tags.allSatisfy { $0.weight < 3 } }) == "SUBQUERY(tags, $x, NOT $x.weight < 3).@count == 0")
    }

    @Test func valuesOfAllKindsAreCaptured() throws {
        let day = Date(timeIntervalSinceReferenceDate: 5)
        let kind = Kind.walk
        #expect(try format(#Predicate { $0.kind == kind }) == "kind == \"walk\"")
        #expect(try format(#Predicate { ($0.when ?? day) < day })
            == "TERNARY(when != nil, when, CAST(5.000000, \"NSDate\")) < CAST(5.000000, \"NSDate\")")
    }

    @Test func membersThatReadNoPropertyOrSeveralAreNamed() throws {
        let several = #expect(throws: HornbeamError.self) { try format(#Predicate { $0.title == "x" }) }
        #expect(several?.message == """
            The #Predicate uses a member of Event that reads several properties (name, note), which a store cannot evaluate. \
            Write this part with the properties themselves, or filter the fetched objects.
            """)
        let none = #expect(throws: HornbeamError.self) { try format(#Predicate { $0.hasChanges }) }
        #expect(none?.message.contains("reads no property of the model") == true)
    }

    @Test("#Predicate gives the results of the format, for stored and unsaved objects", arguments: StoreKind.allCases, [true, false])
    func predicatesAreFetched(kind: StoreKind, isSaved: Bool) throws {
        let model = try ManagedObjectModel {
            Entity("Event") {
                Event.name; Event.latitude; Event.note; Event.isPublic; Event.when; Event.kind; Event.place; Event.tags; Event.steps
            }
            Entity("Venue") { Venue.city; Venue.events }
            Entity("Tag") { Tag.label; Tag.weight; Tag.events }
        }
        let stack = try Stack(kind, model, [Event.self, Venue.self, Tag.self])
        let context = stack.newContext()
        let oslo = Venue(context: context)
        oslo.city = "Oslo"
        let tag = Tag(context: context)
        tag.label = "swift"
        for number in 0..<4 {
            let event = Event(context: context)
            event.name = "event \(number)"
            event.latitude = Double(36 + number)
            if number % 2 == 0 { event.place = oslo }
            if number > 1 { event.tags.insert(tag) }
        }
        if isSaved { try context.save() }
        func names(_ predicate: Predicate<Event>) throws -> [String] {
            try context.fetch(FetchRequest<Event>(entityName: "Event").where(FetchPredicate(predicate)).sorted(by: "name")).map(\.name)
        }
        #expect(try names(#Predicate { $0.latitude > 37 && $0.name.starts(with: "event") }) == ["event 2", "event 3"])
        #expect(try names(#Predicate { $0.place?.city == "Oslo" && !$0.tags.contains { $0.weight > 0 } }) == ["event 0"])
        #expect(try names(#Predicate { $0.tags.contains { $0.label == "swift" } && $0.place == nil }) == ["event 3"])
        let id = oslo.objectID
        #expect(try names(#Predicate { $0.place?.objectID == id }) == ["event 0", "event 2"])
    }

    @Test("a block expression is evaluated on the object, changes of other objects included", arguments: StoreKind.allCases)
    func blockExpressions(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let context = stack.newContext()
        for score in [1.0, 2, 3] { PEntity(context: context).score = score }
        try context.save()
        let doubled = FetchExpression.block { object, _ in
            guard case .object(let keyed) = object, case .value(let score) = try keyed.evaluatedValue(forKey: "score") else { return .null }
            return .double((score.doubleValue ?? 0) * 2)
        }
        let request = try FetchRequest<PEntity>(entityName: "PEntity").where("%@ > 3 AND score < %@", doubled, 3).sorted(by: "score")
        #expect(try context.fetch(request).map(\.score) == [2])
        #expect(request.predicate?.description == "BLOCK > 3 AND score < 3")
        #expect(throws: HornbeamError.self) { try JSONEncoder().encode(request.predicate) }
    }
}
