import Foundation
import Hornbeam

/// The predicate language alone: parsing formats, and evaluating predicates for Swift objects in memory.
struct PredicateSuite {
    let options: Options
    private let places: [Place]

    static let rows = [
        Row(id: "F2", title: "parse short formats", unit: "1/s", goal: .atLeast(300_000)),
        Row(id: "F3", title: "latitude > 37 AND name ENDSWITH '7', Swift objects", unit: "ns/object", goal: .atMost(150)),
        Row(id: "F3i", title: "… not compiled", unit: "ns/object"),
    ]

    /// Typical predicates: keys, numbers, texts, options, lists.
    private static let formats = [
        "latitude > 37 AND name ENDSWITH '7'", "uid == 'a5c1-17'", "name CONTAINS[cd] 'oslo' OR note == nil",
        "magnitude BETWEEN {3, 7}", "author.name BEGINSWITH 'A' AND year < 1900", "tags.@count > 2",
        "kind IN {'talk', 'walk', 'meal'}", "NOT (isPublic == YES) && seats >= 20", "ANY tags.name == 'swift'", "price * 1.25 < 100",
    ]

    init(_ options: Options) {
        self.options = options
        places = EventGenerator(count: options.rows).map { Place(latitude: $0.latitude, name: $0.name) }
    }

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        for repetition in 0..<options.repetitions {
            note("predicates, repetition \(repetition + 1) of \(options.repetitions)")
            try parse(&results)
            try judge(&results)
        }
    }

    private func parse(_ results: inout Results) throws {
        let rounds = options.isSmoke ? 200 : 20_000
        let (seconds, sum) = try processorTimed {
            var sum: UInt64 = 0
            for _ in 0..<rounds {
                for format in Self.formats { sum &+= try FetchPredicate(format: format) == FetchPredicate(value: true) ? 0 : 1 }
            }
            return sum
        }
        results.check("F2", .hornbeam, sum, expected: UInt64(rounds * Self.formats.count))
        results.add("F2", .hornbeam, Double(rounds * Self.formats.count) / seconds)
    }

    private func judge(_ results: inout Results) throws {
        let predicate = try FetchPredicate(format: "latitude > 37 AND name ENDSWITH '7'")
        let expected = UInt64(places.count { $0.latitude > 37 && $0.name.utf8.last == UInt8(ascii: "7") })
        let look = Look(perRow: 1e9 / Double(places.count))
        let compiled = try CompiledPredicate<Place>(predicate)
        try look.each(.hornbeam, "F3", &results) { UInt64(try places.count { try compiled.holds($0) }) }
        try look.each(.hornbeam, "F3i", &results) { UInt64(try places.count { try predicate.evaluate(with: $0) }) }
        for id in ["F3", "F3i"] { results.check(id, .hornbeam, expected) }
    }
}

/// A plain Swift object that predicates can read.
private final class Place: TypedKeyedValues {
    let latitude: Double
    let name: String

    init(latitude: Double, name: String) {
        self.latitude = latitude
        self.name = name
    }

    static func accessor(forKey key: String) -> KeyedAccessor<Place>? {
        switch key {
        case "latitude": .double { $0.latitude }
        case "name": .string { $0.name }
        default: nil
        }
    }
}
