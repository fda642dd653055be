import Foundation
import Hornbeam
import Testing

/// Hornbeam's code in `Docs/ComingFromSwiftData.md`.
@Suite @MainActor struct ComingFromSwiftDataTests {
    // snippet
    @Entity final class Trip: ManagedObject {
        @Attribute(.unique) var name: String
        var start: Date
        @Relationship(deleteRule: .cascade, inverse: \Stop.trip) var stops: [Stop]
    }

    @Entity final class Stop: ManagedObject {
        var place: String
        var nights: Int = 1
        var trip: Trip?
    }
    // end

    @Test func storeIsFilledAndQueried() async throws {
        let folder = try TemporaryFolder()
        let url = folder.url.appending(path: "Trips.hornbeam")
        // snippet
        let container = try await PersistentContainer.open(at: url, for: Trip.self, Stop.self)
        let context = container.viewContext
        let trip = Trip(in: context, name: "Norway", start: .now)
        trip.stops.append(Stop(in: context, place: "Bergen", nights: 2))
        try context.save()
        // end
        // snippet
        let request = FetchRequest<Stop>()
            .where { $0.nights > 1 && $0.trip.name == "Norway" }
            .sorted(by: \.place)
            .limit(10)
        let stops = try context.fetch(request)
        let count = try context.count(request)
        // end
        #expect(stops.map(\.place) == ["Bergen"] && count == 1)
        let names = ["Iceland", "Ireland"]
        // snippet
        try await container.write { context in
            for name in names { Trip(in: context, name: name, start: .now) }
        }
        // end
        #expect(try context.count(FetchRequest<Trip>()) == 3)
        // snippet
        context.delete(trip)
        try context.delete(matching: FetchRequest<Stop>().where { $0.nights == 0 })
        try context.save()
        // end
        #expect(try context.count(FetchRequest<Stop>()) == 0)
        try container.close()
        try migrate(url)
    }

    private enum Second {
        // snippet
        @Entity final class Trip: ManagedObject {
            @Attribute(.unique, renamedFrom: "name") var title: String
            var start: Date
        }
        // end
    }

    private func migrate(_ url: URL) throws {
        typealias Trip = Second.Trip
        // snippet
        let container = try PersistentContainer.open(at: url, for: Trip.self)      // the entity Stop is removed
        // end
        #expect(try container.viewContext.fetch(FetchRequest<Trip>().sorted(by: \.title)).map(\.title) == ["Iceland", "Ireland"])
        try container.close()
    }
}
