import Foundation

/// The numbered rows: Hornbeam through its public API, with managed objects.
struct GraphSuite {
    let options: Options
    let folder: Folder
    let contestants: [any EventContestant.Type]
    private let events: [EventGenerator.Event]
    private let more: [EventGenerator.Event]
    private let uids: [String]
    private let keys: [UInt64]

    static let rows = [
        Row(id: "1", title: "insert in a batch, unique uid, durable at the end", unit: "ns/row", goal: .atMost(0.6, .lmdb)),
        Row(id: "1h", title: "… with history", unit: "ns/row", goal: .atMost(0.6, .lmdb)),
        Row(id: "1b", title: "insert through objects, a save each 10,000", unit: "ns/row", goal: .atMost(0.7, .sqlite)),
        Row(id: "1c", title: "store size afterwards", unit: "MB", goal: .atMost(0.6, .sqlite)),
        Row(id: "2", title: "object by uid, reading two attributes", unit: "ns", goal: .atMost(0.5, .lmdb)),
        Row(id: "2c", title: "… each uid looked up for the first time after opening", unit: "ns", goal: .atMost(0.7, .lmdb)),
        Row(id: "3", title: "object by ID, likewise", unit: "ns", goal: .atMost(0.55, .lmdb)),
        Row(id: "4", title: "count, longitude > 37 (no index)", unit: "ms", goal: .atMost(0.04, .sqlite)),
        Row(id: "5", title: "fetch longitude > 37, read two attributes of each", unit: "ms", goal: .atMost(0.8, .sqlite)),
        Row(id: "5b", title: "… the name as borrowed UTF-8", unit: "ms", goal: .atMost(0.6, .sqlite)),
        Row(id: "6", title: "sort by longitude (no index), first 20", unit: "ms", goal: .atMost(0.1, .sqlite)),
        Row(id: "7", title: "count, magnitude > 5 and name ends with 7", unit: "ms", goal: .atMost(0.15, .sqlite)),
        Row(id: "4x", title: "cores at work during row 4", unit: "×"),
        Row(id: "7x", title: "cores at work during row 7", unit: "×"),
        Row(id: "8", title: "batch update, longitude > 37", unit: "ms", goal: .atMost(0.08, .sqlite)),
        Row(id: "9", title: "batch delete, longitude > 37", unit: "ms", goal: .atMost(0.2, .sqlite)),
        Row(id: "10", title: "durable save of one new object, median", unit: "µs", goal: .atMost(1.2, .machine)),
        Row(id: "10f", title: "… device flushes a save", unit: "", goal: .atMost(1.05)),
        Row(id: "10h", title: "… median with history", unit: "µs", goal: .atMost(1.2, .machine)),
        Row(id: "10b", title: "8 threads saving one object each", unit: "1/s", goal: .atLeast(5, .sqlite)),
        Row(id: "10c", title: "16 threads saving one object each", unit: "1/s", goal: .atLeast(8, .sqlite)),
        Row(id: "12", title: "open, first object by uid", unit: "µs", goal: .atMost(1, .sqlite)),
        Row(id: "13w", title: "saves of one object beside a reader", unit: "1/s", goal: .atLeast(1.5, .sqlite)),
        Row(id: "13r", title: "counts of row 4 beside that writer", unit: "1/s", goal: .atLeast(8, .sqlite)),
    ]

    init(_ options: Options, _ folder: Folder, _ contestants: [any EventContestant.Type]) {
        self.options = options
        self.folder = folder
        self.contestants = contestants
        let all = Array(EventGenerator(count: options.rows + 200_000))
        events = Array(all[..<options.rows])
        more = Array(all[options.rows...])
        var random = SplitMix(3)
        let picks = (0..<min(options.rows, 100_000)).map { _ in Int(random.next() % UInt64(options.rows)) }
        uids = picks.map { all[$0].uid }
        keys = picks.map { UInt64($0 + 1) }
    }

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        for repetition in 0..<options.repetitions {
            note("graph, repetition \(repetition + 1) of \(options.repetitions)")
            try repeatOnce(contestants.indices.map { contestants[($0 + repetition) % contestants.count] }, &results)
        }
    }

    private func repeatOnce(_ order: [any EventContestant.Type], _ results: inout Results) throws {
        var stores: [(Contestant, any EventContestant)] = []
        for type in order {
            let path = try folder.empty("\(type.contestant.rawValue)-graph")
            try load(type, path, &results)
            results.add("1c", type.contestant, Double(Folder.bytes(at: path)) / 1e6)
            try open(type, path, &results)
            stores.append((type.contestant, try type.init(path: path)))
        }
        try look(stores, &results)
        try save(stores, &results)
        for (who, store) in stores { try beside(who, store, &results) }
        try change(stores, &results)
        for (_, store) in stores { try store.close() }
        for type in order { _ = try folder.empty("\(type.contestant.rawValue)-graph") }
    }

    // MARK: Loading and opening

    private func load(_ type: any EventContestant.Type, _ path: String, _ results: inout Results) throws {
        let row = 1e9 / Double(events.count)
        let store = try type.init(path: path)
        let (seconds, _) = try timed { try store.load(events) }
        try store.close()
        for id in type == GraphEvents.self ? ["1"] : ["1", "1h", "1b"] { results.add(id, type.contestant, seconds * row) }
        guard type == GraphEvents.self else { return }
        try load("1h", keepsHistory: true, &results) { try $0.load(events) }
        try load("1b", &results) { try $0.loadObjects(events) }
    }

    /// Another way to load Hornbeam, into a store of its own.
    private func load(
        _ id: String, keepsHistory: Bool = false, _ results: inout Results, _ body: (GraphEvents) throws -> Void
    ) throws {
        let store = try GraphEvents(path: try folder.empty("another"), keepsHistory: keepsHistory)
        results.add(id, .hornbeam, try timed { try body(store) }.seconds * 1e9 / Double(events.count))
        try store.close()
        _ = try folder.empty("another")
    }

    /// Opens the store for one lookup, and for lookups of many uids, each for the first time.
    private func open(_ type: any EventContestant.Type, _ path: String, _ results: inout Results) throws {
        for attempt in 0..<3 {
            let (seconds, sum) = try timed { () -> UInt64 in
                let store = try type.init(path: path)
                defer { try? store.close() }
                return try store.get(uids: [uids[0]])
            }
            // The first run is a warm-up.
            if attempt > 0 { results.add("12", type.contestant, seconds * 1e6) }
            results.check("12", type.contestant, sum)
        }
        var seen: Set<String> = []
        let distinct = uids.filter { seen.insert($0).inserted }
        for _ in 0..<3 {
            let store = try type.init(path: path)
            let (seconds, sum) = try timed { try store.get(uids: distinct) }
            results.add("2c", type.contestant, seconds * 1e9 / Double(distinct.count))
            results.check("2c", type.contestant, sum)
            try store.close()
        }
    }

    // MARK: Lookups

    private func look(_ stores: [(Contestant, any EventContestant)], _ results: inout Results) throws {
        let look = Look(perRow: 1e9 / Double(uids.count))
        let isWhole = options.rows == 1_000_000
        let east: UInt64? = isWhole ? EventGenerator.eastOfMillion : nil
        let sevens: UInt64? = isWhole ? EventGenerator.sevensOfMillion : nil
        for (who, store) in stores { try look.each(who, "2", &results) { try store.get(uids: uids) } }
        for (who, store) in stores { try look.each(who, "3", &results) { try store.get(keys: keys) } }
        for (who, store) in stores { try look.whole(who, "4", &results, expected: east) { try store.countEast() } }
        for (who, store) in stores { try look.whole(who, "5", &results) { try store.readEast() } }
        for (who, store) in stores { try look.whole(who, "5b", &results) { try store.borrowEast() } }
        for (who, store) in stores where who != .lmdb { try look.whole(who, "6", &results) { try store.firstByLongitude() ?? 0 } }
        for (who, store) in stores { try look.whole(who, "7", &results, expected: sevens) { try store.countSevens() } }
        for (who, store) in stores where who == .hornbeam {
            results.add("4x", who, try coresAtWork { _ = try store.countEast() })
            results.add("7x", who, try coresAtWork { _ = try store.countSevens() })
        }
    }

    /// The processor time of all threads divided by the elapsed time: the maximum of several runs, which other load disturbs least.
    private func coresAtWork(_ body: () throws -> Void) throws -> Double {
        var most = 0.0
        for _ in 0..<7 {
            let start = processTime()
            let (seconds, _) = try timed(body)
            most = max(most, (processTime() - start) / seconds)
        }
        return most
    }

    // MARK: Saving

    private func save(_ stores: [(Contestant, any EventContestant)], _ results: inout Results) throws {
        let count = options.isSmoke ? 30 : 1000
        var turns = stores.map { who, store in
            Turns.Contender(who) { part in try more[part].map { event in try timed { try store.insertOne(event) }.seconds } }
        }
        let floor = try Floor(in: folder)
        turns.append(Turns.Contender(.machine) { part in floor.commits(part) })
        for (who, times, flushes) in try Turns(below: folder.path).take(count, turns) {
            if who != .machine, let flushes { results.add("10f", who, flushes) }
            results.add("10", who, percentile(times.sorted(), 0.5) * 1e6)
        }
        try saveWithHistory(count, &results)
        for (who, store) in stores { try save(store, threads: 8, "10b", who, from: 1000, count, &results) }
        for (who, store) in stores { try save(store, threads: 16, "10c", who, from: 9000, count, &results) }
    }

    /// Row 10 again, in an equal store with history, beside the raw baseline.
    private func saveWithHistory(_ count: Int, _ results: inout Results) throws {
        let store = try GraphEvents(path: try folder.empty("another"), keepsHistory: true)
        try store.load(events)
        let floor = try Floor(in: folder)
        let turns = [
            Turns.Contender(.hornbeam) { part in try more[part].map { event in try timed { try store.insertOne(event) }.seconds } },
            Turns.Contender(.machine) { part in floor.commits(part) },
        ]
        for (who, times, _) in try Turns(below: folder.path).take(count, turns) {
            results.add("10h", who, percentile(times.sorted(), 0.5) * 1e6)
        }
        try store.close()
        _ = try folder.empty("another")
    }

    private func save(
        _ store: any EventContestant, threads: Int, _ id: String, _ who: Contestant, from start: Int, _ count: Int,
        _ results: inout Results
    ) throws {
        let (seconds, _) = try timed {
            try onThreads(threads) { thread in
                for event in more[(start + thread * count)..<(start + (thread + 1) * count)] { try store.insertOne(event) }
                return 0
            }
        }
        results.add(id, who, Double(threads * count) / seconds)
    }

    /// One thread saves single objects while another counts.
    private func beside(_ who: Contestant, _ store: any EventContestant, _ results: inout Results) throws {
        let rates = try savesBesideCounts(store, more[30_000...], seconds: options.isSmoke ? 0.3 : 5)
        results.add("13w", who, rates.saves)
        results.add("13r", who, rates.counts)
    }

    // MARK: Changing many

    /// Runs after the saves, which added the same number of events to each store but not equal events. Therefore only times are compared.
    private func change(_ stores: [(Contestant, any EventContestant)], _ results: inout Results) throws {
        for (who, store) in stores { results.add("8", who, try timed { try store.updateEast() }.seconds * 1e3) }
        for (who, store) in stores { results.add("9", who, try timed { try store.deleteEast() }.seconds * 1e3) }
        for (who, store) in stores { results.check("9", who, try store.countEast(), expected: 0) }
    }
}
