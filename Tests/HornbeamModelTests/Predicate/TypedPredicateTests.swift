import Foundation
import HornbeamModel
import Testing

private enum Place {
    static let city = Attribute<String>("city")
    static let country = ToOne<UntypedObject>("country", to: "Country")
}
private enum Country { static let code = Attribute<String>("code") }
private enum Tag {
    static let name = Attribute<String>("name")
    static let weight = Attribute<Int>("weight")
}
private enum Priority: String, AttributeValue, CaseIterable { case low, high }
private enum Event {
    static let latitude = Attribute<Double>("latitude")
    static let longitude = Attribute<Double>("longitude")
    static let name = Attribute<String>("name")
    static let note = Attribute<String?>("note")
    static let seats = Attribute<Int?>("seats")
    static let isOpen = Attribute<Bool>("isOpen")
    static let starts = Attribute<Date>("starts")
    static let priority = Attribute<Priority>("priority")
    static let place = ToOne<UntypedObject>("place", to: "Place")
    static let tags = ToMany<UntypedObject>("tags", to: "Tag")
}

/// Predicates written in Swift.
struct TypedPredicateTests {
    @Test func operatorsBuildTheTreeOfTheFormat() throws {
        let built: [(FetchPredicate, String)] = [
            (Event.latitude > 37 && Event.name.contains("x", .caseInsensitive), "latitude > 37.0 AND name CONTAINS[c] \"x\""),
            (Event.latitude > 37 && Event.latitude <= 40 && Event.isOpen == true, "latitude > 37.0 AND latitude <= 40.0 AND isOpen == 1"),
            (Event.seats == nil || Event.seats < 3, "seats == nil OR seats < 3"),
            (!(Event.note != "x"), "NOT note != \"x\""),
            (Event.note.beginsWith("x") || Event.note.matches("[a-z]+"), "note BEGINSWITH \"x\" OR note MATCHES \"[a-z]+\""),
            (Event.name.equals("x", [.caseInsensitive, .diacriticInsensitive]), "name ==[cd] \"x\""),
            (Event.latitude.isIn(1...2) && Event.seats.isIn(1..<5), "latitude BETWEEN {1.0, 2.0} AND (seats >= 1 AND seats < 5)"),
            (Event.name.isIn(["a", "b"]), "name IN {\"a\", \"b\"}"),
            (Event.latitude == Event.longitude, "latitude == longitude"),
            (Event.priority == .high, "priority == \"high\""),
            (Event.place[Place.city] == "Oslo", "place.city == \"Oslo\""),
            (Event.place[Place.country[Country.code]] == "NO", "place.country.code == \"NO\""),
            (Event.place == nil, "place == nil"),
            (Event.tags.any(Tag.name) == "swift" && Event.tags.count > 2, "ANY tags.name == \"swift\" AND tags.@count > 2"),
            (Event.tags.all(Tag.weight) > 0, "ALL tags.weight > 0"),
            (Event.tags.sum(Tag.weight) > 10 && Event.tags.maximum(Tag.name) == "z", "tags.@sum.weight > 10 AND tags.@max.name == \"z\""),
            (Event.tags.contains(where: Tag.name == "x" && Tag.weight > 3),
             "SUBQUERY(tags, $x, $x.name == \"x\" AND $x.weight > 3).@count > 0"),
            (Event.tags.allSatisfy(Tag.weight > 3), "SUBQUERY(tags, $x, NOT $x.weight > 3).@count == 0"),
        ]
        for (predicate, text) in built {
            #expect(predicate.description == text)
            #expect(try FetchPredicate(format: text) == predicate, "\(text)")
        }
    }

    @Test func sortsTakeTypedPaths() {
        #expect(FetchSort.ascending(Event.place[Place.city], comparison: .caseInsensitive).keyPath == "place.city")
        #expect(FetchSort.descending(Event.name).isAscending == false)
    }

    @Test func compoundsOfListsAreKeptAsTheyAre() throws {
        let (a, b) = (Event.latitude > 1, Event.latitude < 2)
        #expect(FetchPredicate.all([]).description == "TRUEPREDICATE")
        #expect(FetchPredicate.any([]).description == "FALSEPREDICATE")
        #expect(FetchPredicate.any([a]) == a)
        #expect(FetchPredicate.all([.all([a, b]), a]).description == "(latitude > 1.0 AND latitude < 2.0) AND latitude > 1.0")
    }

    @Test func archivesKeepEveryBitOfConstants() throws {
        let date = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
        let predicate = try FetchPredicate(
            format: "a == %@ AND b IN %@ AND c == %@ AND d == %@ AND e == %@", date, Set([1, 2]), Double.infinity,
            ["k": "v\u{1}"], Decimal(string: "0.1"))
        let data = try JSONEncoder().encode(["p": predicate])
        #expect(try JSONDecoder().decode([String: FetchPredicate].self, from: data)["p"] == predicate)
        let expression = try FetchExpression(format: "a.@sum.b * 2")
        #expect(try JSONDecoder().decode([FetchExpression].self, from: JSONEncoder().encode([expression])) == [expression])
    }
}
