import Foundation
import Hornbeam
import HornbeamThreads

/// The rows S: how much of an operation runs under a lock that all threads share. Such work cannot run in parallel: an operation that spends a
/// sixteenth of its time under one lock cannot use more than 16 processors.
///
/// Sixteen threads, each with a context of its own, run one at a time, so that the machine needs no 16 processors.
struct LockSuite {
    let options: Options
    let folder: Folder

    private enum Operation: String, CaseIterable {
        case key, uid, fetch, count, save

        var title: String {
            switch self {
            case .key: "object by ID"
            case .uid: "object by uid"
            case .fetch: "fetch of one object by a condition"
            case .count: "count with a condition on an index"
            case .save: "save of one new object"
            }
        }

        /// The part of an operation that cannot run in parallel: its most used shared lock. Of a save it is the writer's turn, because saves that wait
        /// share the write and the sync of the log.
        func bottleneck(_ locks: [LockCensus.Lock]) -> LockCensus.Lock? {
            self == .save ? locks.first { $0.origin == "the writer's turn" } : locks.first
        }
    }

    private static let threads = 16

    static let rows = Operation.allCases.flatMap { operation in
        let id = "S" + operation.rawValue
        return [
            Row(id: id, title: "\(operation.title): share of its time under the most used shared lock", unit: "%", goal: .atMost(100 / Double(threads))),
            Row(id: id + "l", title: "… shared locks taken", unit: "1"),
            Row(id: id + "t", title: "… processor time", unit: "ns"),
        ]
    }

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        for repetition in 0..<options.repetitions {
            note("locks, repetition \(repetition + 1) of \(options.repetitions)")
            for operation in Operation.allCases { try measure(operation, &results) }
        }
    }

    private func measure(_ operation: Operation, _ results: inout Results) throws {
        // So few saves that no checkpoint is due. The thread of a checkpoint takes no part in the interleaving, which would stop if all threads waited for it.
        let count = options.isSmoke ? 20 : operation == .save ? 80 : 2_000
        // Made first: some locks ask only once whether there is an interleaving.
        let interleaving = Interleaving(Schedule(), countsLocks: true)
        let store = try LockedStore(path: try folder.empty("locks"), fresh: operation == .save ? (Self.threads + 2) * count : 0)
        try store.perform(operation.rawValue, count, by: Self.threads)
        let start = processTime()
        try store.perform(operation.rawValue, count, by: Self.threads + 1)
        let nanoseconds = (processTime() - start) * 1e9 / Double(count)

        let parts = (0..<Self.threads).map { thread in
            Interleaving.Part("thread \(thread)") { try store.perform(operation.rawValue, count, by: thread) }
        }
        let outcome = interleaving.run(parts)
        if let failure = outcome.failures.first { throw failure.error }
        if let reason = outcome.stopReason { throw BenchmarkError("The threads stopped: \(reason)") }
        try store.container.close()

        let shared = outcome.locks?.shared ?? []
        let operations = Double(count * Self.threads)
        for lock in shared.prefix(4) {
            note("  \(operation.rawValue): \((Double(lock.nanoseconds) / operations).short) ns, \((Double(lock.count) / operations).short) × \(lock.origin)")
        }
        let id = "S" + operation.rawValue
        results.add(id, .hornbeam, Double(operation.bottleneck(shared)?.nanoseconds ?? 0) / operations / nanoseconds * 100)
        results.add(id + "l", .hornbeam, Double(shared.reduce(0) { $0 + $1.count }) / operations)
        results.add(id + "t", .hornbeam, nanoseconds)
    }
}

/// A store of events for threads with a context each.
private struct LockedStore: Sendable {
    private static let rows = 20_000

    let container: PersistentContainer
    private let uids: [String]
    private let ids: [ManagedObjectID]
    private let fresh: [EventGenerator.Event]

    init(path: String, fresh count: Int) throws {
        container = try Event.container(at: path, poolBytes: 1 << 28)
        let events = Array(EventGenerator(count: Self.rows))
        fresh = Array(EventGenerator(count: Self.rows + count).dropFirst(Self.rows))
        uids = events.map(\.uid)
        ids = try container.performAndWait { context in
            try context.execute(BatchInsertRequest(Event.self, from: events) { event, row in
                row.set(Event.uid, event.uid)
                row.set(Event.latitude, event.latitude)
                row.set(Event.longitude, event.longitude)
                row.set(Event.created, event.created)
                row.set(Event.name, event.name)
                row.set(Event.magnitude, event.magnitude)
            })
            return try context.fetchIDs(FetchRequest<Event>())
        }
    }

    /// Performs an operation repeatedly in a context of the calling thread.
    func perform(_ operation: String, _ count: Int, by thread: Int) throws {
        try container.performAndWait { context in
            for i in 0..<count {
                let number = (thread * count + i) * 7919 % Self.rows
                switch operation {
                case "key": _ = try context.existingObject(Event.self, with: ids[number]).magnitude
                case "uid": _ = try context.first(Event.self, where: Event.uid, equals: uids[number])?.magnitude
                case "fetch": _ = try context.fetch(FetchRequest<Event>().where(Event.uid == uids[number] && Event.magnitude >= 0)).count
                case "count": _ = try context.count(FetchRequest<Event>().where(Event.uid > uids[number]))
                default:
                    Event(context: context).fill(fresh[thread * count + i])
                    try context.save()
                }
            }
        }
    }
}
