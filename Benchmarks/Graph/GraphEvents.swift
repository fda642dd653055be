import Foundation
import Hornbeam

/// Hornbeam through its public API: container, context, objects.
final class GraphEvents: EventContestant {
    static let contestant = Contestant.hornbeam

    private let container: PersistentContainer
    private let context: ManagedObjectContext
    /// The ID of the first event, fetched at the first use. The IDs of the others follow it, in the order of insertion.
    private lazy var firstID = Result { try context.fetchIDs(FetchRequest<Event>().limit(1))[0] }

    /// The keys to look up, and the same as object IDs.
    private var wanted: (keys: [UInt64], ids: [ManagedObjectID]) = ([], [])

    convenience init(path: String, poolBytes: Int) throws { try self.init(path: path, poolBytes: poolBytes, keepsHistory: false) }

    /// True if the memory of the process is limited.
    private let isLimited: Bool

    init(path: String, poolBytes: Int = 1 << 30, keepsHistory: Bool) throws {
        isLimited = poolBytes < 1 << 30
        container = try Event.container(at: path, poolBytes: poolBytes, keepsHistory: keepsHistory)
        context = container.newContext()
    }

    private init(_ other: GraphEvents) {
        isLimited = other.isLimited
        container = other.container
        context = container.newContext()
    }

    /// Objects that are saved together.
    private static let batch = 10_000

    func load(_ events: [EventGenerator.Event]) throws { try insert(events) }

    /// Inserts events in one transaction.
    func insert(_ events: some Sequence<EventGenerator.Event>) throws {
        try context.execute(BatchInsertRequest(Event.self, from: events) { event, row in
            row.set(Event.uid, event.uid)
            row.set(Event.latitude, event.latitude)
            row.set(Event.longitude, event.longitude)
            row.set(Event.created, event.created)
            row.set(Event.name, event.name)
            row.set(Event.magnitude, event.magnitude)
        })
    }

    /// Inserts events as managed objects, with a save after each `perSave` events.
    func loadObjects(_ events: some Sequence<EventGenerator.Event>, perSave: Int = batch) throws {
        var rest = events.makeIterator()
        var isDone = false
        while !isDone {
            try container.performAndWait { context in
                for _ in 0..<perSave {
                    guard let event = rest.next() else {
                        isDone = true
                        break
                    }
                    Event(context: context).fill(event)
                }
                try context.save()
            }
        }
    }

    func get(uids: [String]) throws -> UInt64 {
        var sum: UInt64 = 0
        for uid in uids {
            guard let event = try context.first(Event.self, where: Event.uid, equals: uid) else {
                throw BenchmarkError("A uid is gone.")
            }
            sum &+= event.digest
        }
        return sum
    }

    func prepare(keys: [UInt64]) throws { wanted = (keys, try keys.map(id)) }

    func get(keys: [UInt64]) throws -> UInt64 {
        if wanted.keys != keys { try prepare(keys: keys) }
        var sum: UInt64 = 0
        for id in wanted.ids { sum &+= try context.existingObject(Event.self, with: id).digest }
        return sum
    }

    /// The ID of the event that was inserted as the one of this number, from 1.
    private func id(_ key: UInt64) throws -> ManagedObjectID {
        let first = try firstID.get().uriRepresentation().absoluteString
        guard let end = first.lastIndex(of: "p"), let number = UInt64(first[first.index(after: end)...]),
            let id = container.persistentStoreCoordinator.managedObjectID(for: "\(first[...end])\(number + key - 1)")
        else { throw BenchmarkError("The IDs of events have another form than \(first).") }
        return id
    }

    /// Reads the latitude and the name of the objects of a page, in the order of insertion.
    func readPage(at offset: Int, of limit: Int) throws {
        let page = try context.fetch(FetchRequest<Event>().offset(offset).limit(limit))
        guard page.count == limit, page.reduce(0, { $0 &+ $1.digest }) != 0 else { throw BenchmarkError("A page has \(page.count) objects, not \(limit).") }
    }

    /// Checks the store; returns what is damaged.
    func check() throws -> [String] {
        let coordinator = container.persistentStoreCoordinator
        return try coordinator.check(coordinator.persistentStores[0]).problems
    }

    func countEast() throws -> UInt64 { UInt64(try context.count(FetchRequest<Event>().where(Event.longitude > 37))) }

    func readEast() throws -> UInt64 {
        var sum: UInt64 = 0
        let request = FetchRequest<Event>().where(Event.longitude > 37)
        if isLimited {
            // Millions of objects at once would need more than the limit.
            try context.forEach(request) { sum &+= $0.digest }
        } else {
            for event in try context.fetch(request) { sum &+= event.digest }
        }
        return sum
    }

    func borrowEast() throws -> UInt64 {
        var sum: UInt64 = 0
        for event in try context.fetch(FetchRequest<Event>().where(Event.longitude > 37)) { sum &+= event.borrowedDigest }
        return sum
    }

    func countSevens() throws -> UInt64 {
        UInt64(try context.count(FetchRequest<Event>().where("magnitude > 5 AND name ENDSWITH '7'")))
    }

    func firstByLongitude() throws -> UInt64? {
        let first = try context.fetch(FetchRequest<Event>().sorted(by: "longitude").limit(20))
        return first.reduce(0) { $0 &+ $1.longitude.bitPattern }
    }

    func insertOne(_ event: EventGenerator.Event) throws {
        try container.performAndWait { context in
            Event(context: context).fill(event)
            try context.save()
        }
    }

    func updateEast() throws -> UInt64 {
        var request = BatchUpdateRequest(Event.self, predicate: Event.longitude > 37)
        request.set(Event.magnitude, to: try FetchExpression(format: "magnitude + 1"))
        return UInt64(try context.execute(request).count)
    }

    func deleteEast() throws -> UInt64 {
        UInt64(try context.execute(BatchDeleteRequest(Event.self, predicate: Event.longitude > 37)).count)
    }

    /// Fetches all events as faults and holds them, to measure their memory.
    func fetchFaults() throws -> [Event] { try context.fetch(FetchRequest<Event>()) }

    func reader() -> any EventReader { GraphEvents(self) }

    func close() throws { try container.close() }
}
