import Foundation
import Hornbeam
import Testing

/// The code of `Docs/Querying.md`.
@Suite struct QueryingTests {
    enum Place {
        static let city = Attribute<String?>("city")
    }

    @Entity final class Event: ManagedObject {
        @Attribute(.unique) var uid: String
        var name: String = ""
        var latitude: Double = 0
        var seats: Int?
        @Attribute(composite: "Place") var place: [String: PropertyValue]?
        var tags: Set<Tag>
    }

    @Entity final class Tag: ManagedObject {
        var name: String
        var weight: Int = 0
        var events: Set<Event>
    }

    @Entity final class Author: ManagedObject {
        var name: String
        var books: Set<Book>
    }

    @Entity final class Book: ManagedObject {
        #Unique<Book>([\.title, \.author])
        var title: String = ""
        var year: Int?
        var author: Author?
    }

    @Entity final class Department: ManagedObject {
        var name: String
        var staff: Set<Employee>
    }

    @Entity final class Employee: ManagedObject {
        var salary: Double = 0
        var department: Department?
    }

    private let container: PersistentContainer

    init() throws {
        let model = try ManagedObjectModel(for: Event.self, Tag.self, Author.self, Book.self, Department.self, Employee.self) {
            CompositeDescription("Place") { Place.city }
        }
        container = try PersistentContainer.inMemory(
            model: model, classes: [Event.self, Tag.self, Author.self, Book.self, Department.self, Employee.self])
        try container.write { context in
            let swift = Tag(in: context, name: "swift", weight: 5)
            for number in 0..<10 {
                let event = Event(in: context, uid: "e\(number)", name: number < 5 ? "Six x" : "Other", latitude: Double(30 + 2 * number), seats: 8)
                event.place = ["city": number == 0 ? "Oslo" : "Rome"]
                if number > 5 { event.tags.insert(swift) }
            }
            let shelley = Author(in: context, name: "Mary Shelley")
            for year in [1817, 1818, 1823, 1826, 1837] { Book(in: context, title: "T \(year)", year: year, author: shelley) }
            for (name, heads) in [("Engine", 6), ("Model", 7), ("Tools", 2)] {
                let department = Department(in: context, name: name)
                for number in 0..<heads { Employee(in: context, salary: Double(1_000 * number), department: department) }
            }
        }
    }

    @Test func formatFindsEvents() throws {
        // snippet
        let predicate = try FetchPredicate(format: "latitude > %d AND ANY tags.name CONTAINS[cd] %@", 37, "SWIFT")
        // end
        #expect(try container.read { try $0.count(FetchRequest<Event>().where(predicate)) } == 4)
    }

    @Test func operatorsOnTokensFindEvents() throws {
        // snippet
        let predicates: [FetchPredicate] = [
            Event.latitude > 37 && Event.name.contains("x", .caseInsensitive),
            Event.place[Place.city] == "Oslo" || Event.seats == nil,
            Event.tags.any(Tag.name) == "swift" && Event.tags.count > 0,
            Event.tags.contains(where: Tag.name == "swift" && Tag.weight > 3),
            Event.latitude.isIn(30...40),
        ]
        // end
        let counts = try container.read { context in
            try predicates.map { try context.count(FetchRequest<Event>().where($0)) }
        }
        #expect(counts == [1, 1, 4, 4, 6])
    }

    @Test func closuresOverKeyPathsFindBooks() throws {
        try container.read { context in
            // snippet
            let request = FetchRequest<Book>()
                .where { $0.year < 1900 && $0.author.name.contains("shelley", .caseInsensitive) }
                .sorted(by: \.author.name, .descending)
                .prefetching(\.author)
            let rows = try context.fetch(Book.select(\.author.name, \.count, \.year.max).grouped(by: \.author.name).having { $0.count > 3 })
            for (author, count, last) in rows { print(author ?? "", count, last ?? 0) }
            // end
            #expect(try context.count(request) == 5)
            #expect(rows.count == 1 && rows[0] == ("Mary Shelley", 5, 1837))
        }
    }

    @Test func foundationsPredicateIsTranslated() throws {
        // snippet
        let predicate = try FetchPredicate(#Predicate<Event> { $0.latitude > 37 && $0.tags.contains { $0.name == "swift" } })
        // end
        #expect(try container.read { try $0.count(FetchRequest<Event>().where(predicate)) } == 4)
    }

    @Test func objectIsFoundByAUniqueValue() throws {
        let found = try container.read { context in
            let uid = "e3"
            // snippet
            if let event = try context.first(Event.self, where: Event.uid, equals: uid) {
                let isOdd = event.withUTF8(of: Event.name) { $0.last == UInt8(ascii: "7") }
                print(event.name, isOdd)
            }
            // end
            return try context.first(Event.self, where: Event.uid, equals: uid)?.latitude
        }
        #expect(found == 36)
    }

    @Test func objectsAreUpserted() throws {
        try container.write { context in
            let shelley = try #require(try context.fetch(FetchRequest<Author>()).first)
            // snippet
            let event = try context.upsert(Event.self, where: \.uid, is: "e3")
            let book = try context.upsert(Book.self) { $0.title == "Frankenstein" && $0.author == shelley }
            // end
            #expect(event.latitude == 36 && book.author === shelley && book.isInserted)
        }
    }

    @Test func predicatesHoldInMemory() throws {
        try container.read { context in
            let predicate = Event.latitude > 37
            let events = try context.fetch(FetchRequest<Event>().where(Event.latitude > 35))
            let event = events[0]
            // snippet
            let holds = try predicate.evaluate(with: event)               // objects, dictionaries, anything KeyedValues
            let isPositive = try FetchPredicate(format: "SELF >= 0").evaluate(with: 5)
            let sorted = try events.filtered(by: predicate).sorted(by: [.ascending(Event.name, comparison: .localizedStandard)])
            // end
            #expect(holds == (event.latitude > 37) && isPositive)
            #expect(sorted.count == 6 && sorted.first?.name == "Other")
        }
    }

    // snippet
    struct City: TypedKeyedValues {
        var name: String
        var population: Int

        static func accessor(forKey key: String) -> KeyedAccessor<City>? {
            switch key {
            case "name": .string { $0.name }
            case "population": .int { Int64($0.population) }
            default: nil
            }
        }
    }
    // end

    @Test func compiledPredicateHoldsForValues() throws {
        let predicate = try FetchPredicate(format: "population > 1000000 AND name BEGINSWITH 'B'")
        let cities = [City(name: "Berlin", population: 3_700_000), City(name: "Bonn", population: 330_000), City(name: "Rome", population: 2_800_000)]
        // snippet
        let matches = try CompiledPredicate<City>(predicate)
        let found = try cities.filter(matches.holds)
        // end
        #expect(found.map(\.name) == ["Berlin"])
    }

    @Test func dictionariesAreGrouped() throws {
        let names = try container.read { context in
            // snippet
            let request = try FetchRequest<Employee>()
                .selecting("department.name", .count(as: "heads"), .average(of: "salary", as: "mean"), .expression("spread", "max:(salary) - min:(salary)"))
                .grouped(by: "department.name")
                .having("heads > 5")
                .sorted(by: "mean", ascending: false)
                .limit(10)
            let rows = try context.fetch(request)
            for row in rows { print(row["department.name"]!, row["mean"]!) }
            // end
            return rows.map { $0["department.name"]?.stringValue }
        }
        #expect(names == ["Model", "Engine"])
    }

    @Test func closuresFollowPaths() throws {
        let names = try container.read { context in
            // snippet
            let request = try FetchRequest<Event>().where("uid == 'e7'")
            let members = try context.closure(of: request, over: "tags.events", depth: 2, where: FetchPredicate(format: "latitude > 40"))
            let related = try context.fetch(FetchRequest<Event>().where("SELF IN %@", members.map(\.objectID)).sorted(by: "uid"))
            // end
            return related.map(\.uid)
        }
        #expect(names == ["e6", "e8", "e9"])
    }

    @Test func fetchesAreMeasured() throws {
        let coordinator = container.persistentStoreCoordinator
        try container.read { context in
            let request = FetchRequest<Event>()
            // snippet
            let before = context.fetchCounters
            let events = try context.fetch(request)
            print(context.fetchCounters - before)     // 1 fetches, 10 rows and 1 leaves read, 0 faults fired

            coordinator.reportFetches(slowerThan: .milliseconds(50)) { report in print(report) }
            // end
            #expect(events.count == 10)
            #expect("\(context.fetchCounters - before)" == "1 fetches, 10 rows and 1 leaves read, 0 faults fired")
        }
    }
}
