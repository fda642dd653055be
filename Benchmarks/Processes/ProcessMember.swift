#if Rivals
import CSQLite
#endif
import Foundation
import Hornbeam

/// One of several processes that use one store.
struct ProcessMember {
    /// A store of a contestant that several processes can write.
    final class OpenStore {
        let save: (String) throws -> Void
        let close: () throws -> Void

        init(save: @escaping (String) throws -> Void, close: @escaping () throws -> Void) { (self.save, self.close) = (save, close) }
    }

    /// The beginning of a path that names a schema of the PostgreSQL server.
    static let postgres = "postgres:"

    static func open(_ who: Contestant, _ path: String) throws -> OpenStore {
        #if Postgres
        if path.hasPrefix(postgres) { return try openArticles(who, schema: String(path.dropFirst(postgres.count))) }
        #endif
        #if Rivals
        switch who {
        case .sqlite:
            let store = try SQLiteEvents(path: path, poolBytes: 64 << 20)
            return OpenStore(save: { try store.insertOne(event($0)) }, close: { try store.close() })
        case .lmdb:
            let store = try LMDBEvents(path: path, poolBytes: 1 << 30)
            return OpenStore(save: { try store.insertOne(event($0)) }, close: { try store.close() })
        case .hornbeam, .machine, .libpq: break
        }
        #endif
        // The rivals have no history and no notifications.
        let container = try Event.container(at: path, poolBytes: 64 << 20, isShared: true)
        return OpenStore(save: { try insert(container, $0) }, close: { try container.close() })
    }

    private static func openWithHistory(_ path: String) throws -> OpenStore {
        let container = try Event.container(at: path, poolBytes: 64 << 20, keepsHistory: true, isShared: true)
        return OpenStore(save: { try insert(container, $0) }, close: { try container.close() })
    }

    #if Postgres
    private static func openArticles(_ who: Contestant, schema: String) throws -> OpenStore {
        guard let server = ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES"] else { throw BenchmarkError("There is no server.") }
        let store: any ArticleStore = who == .libpq ? try LibpqArticles(server, schema: schema) : try GraphArticles(server, schema: schema)
        let process = "\(who.rawValue) \(ProcessInfo.processInfo.processIdentifier)"
        return OpenStore(save: { try store.saveOne(ArticleValues("\(process) \($0)", 1)) }, close: { try store.close() })
    }
    #endif

    static func event(_ uid: String) -> EventGenerator.Event {
        EventGenerator.Event(uid: uid, latitude: 1, longitude: 2, created: 3, name: "name of \(uid)", magnitude: 4)
    }

    static func insert(_ container: PersistentContainer, _ uid: String) throws {
        try container.performAndWait { context in
            Event(context: context).fill(event(uid))
            try context.save()
        }
    }

    // MARK: The work of the process

    static func run(_ work: String, _ options: Options) throws {
        let number = options.limited.group
        let path = options.limited.store
        guard let who = Contestant(rawValue: options.limited.contestant) else { throw BenchmarkError("--member needs a contestant.") }
        switch work {
        case "save": try save(try open(who, path), number, seconds: options.amount)
        case "stream": try save(try openWithHistory(path), number, seconds: options.amount)
        case "spin": spin(seconds: options.amount)
        case "stamp": try stamp(path, number, count: Int(options.amount))
        case "alternate": try alternate(path, number, count: Int(options.amount))
        default: throw BenchmarkError("There is no work \(work).")
        }
    }

    private static func waitForStart() {
        print("ready")
        fflush(nil)
        _ = readLine()
    }

    /// Saves as fast as possible. Prints the number of saves, and the median and the maximum of their seconds.
    private static func save(_ store: OpenStore, _ number: String, seconds: Double) throws {
        waitForStart()
        var durations: [Double] = []
        let end = now() + seconds
        while now() < end { durations.append(try timed { try store.save("\(number) \(durations.count)") }.seconds) }
        print(durations.count, percentile(durations.sorted(), 0.5), durations.max() ?? 0)
        try store.close()
    }

    /// Uses a processor without memory and disk.
    private static func spin(seconds: Double) {
        waitForStart()
        let end = now() + seconds
        while now() < end {}
    }

    /// Saves with pauses, and prints the time of each save's return.
    private static func stamp(_ path: String, _ number: String, count: Int) throws {
        let container = try Event.container(at: path, poolBytes: 64 << 20, keepsHistory: true, isShared: true)
        waitForStart()
        for save in 0..<count {
            try insert(container, "\(number) \(save)")
            print(now())
            fflush(nil)
            usleep(10_000)
        }
        try container.close()
    }

    /// Saves after each save of the other process.
    private static func alternate(_ path: String, _ number: String, count: Int) throws {
        let container = try Event.container(at: path, poolBytes: 64 << 20, keepsHistory: true, isShared: true)
        let done = DispatchSemaphore(value: 0)
        let changes = container.changes()
        waitForStart()
        Task {
            var saved = 0
            for await change in changes where change.processIdentifier != nil {
                for _ in change.inserted {
                    try insert(container, "\(number) \(saved)")
                    saved += 1
                }
                if saved == count { break }
            }
            done.signal()
        }
        done.wait()
        try container.close()
    }
}
