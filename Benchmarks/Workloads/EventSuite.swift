/// The table rows: one million events with a unique uid, through the API of each store.
struct EventSuite {
    let options: Options
    let folder: Folder
    let contestants: [any EventContestant.Type]
    private let events: [EventGenerator.Event]
    private let uids: [String]
    private let keys: [UInt64]

    static let rows = [
        Row(id: "T1", title: "insert of all events, unique uid, one transaction", unit: "ns/row", goal: .atMost(0.6, .lmdb)),
        Row(id: "T1c", title: "size afterwards", unit: "MB", goal: .atMost(0.6, .sqlite)),
        Row(id: "T2", title: "row by uid, reading two columns", unit: "ns", goal: .atMost(0.5, .lmdb)),
        Row(id: "T3", title: "row by key, reading two columns", unit: "ns", goal: .atMost(0.55, .lmdb)),
        Row(id: "T4", title: "count, longitude > 37 (no index)", unit: "ms", goal: .atMost(0.04, .sqlite)),
        Row(id: "T5", title: "read latitude and name, longitude > 37", unit: "ms", goal: .atMost(0.6, .sqlite)),
        Row(id: "T7", title: "count, magnitude > 5 and name ends in 7", unit: "ms", goal: .atMost(0.15, .sqlite)),
        Row(id: "T8", title: "update magnitude + 1, longitude > 37", unit: "ms", goal: .atMost(0.08, .sqlite)),
        Row(id: "T9", title: "delete, longitude > 37", unit: "ms", goal: .atMost(0.2, .sqlite)),
    ]

    init(_ options: Options, _ folder: Folder, _ contestants: [any EventContestant.Type]) {
        self.options = options
        self.folder = folder
        self.contestants = contestants
        let events = Array(EventGenerator(count: options.rows))
        self.events = events
        var random = SplitMix(3)
        let picks = (0..<min(options.rows, 100_000)).map { _ in Int(random.next() % UInt64(events.count)) }
        uids = picks.map { events[$0].uid }
        keys = picks.map { UInt64($0 + 1) }
    }

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        for repetition in 0..<options.repetitions {
            note("events, repetition \(repetition + 1) of \(options.repetitions)")
            try repeatOnce(contestants.indices.map { contestants[($0 + repetition) % contestants.count] }, &results)
        }
    }

    private func repeatOnce(_ order: [any EventContestant.Type], _ results: inout Results) throws {
        var stores: [(Contestant, any EventContestant)] = []
        for type in order {
            let path = try folder.empty("\(type.contestant.rawValue)-events")
            let store = try type.init(path: path)
            let (seconds, _) = try timed { try store.load(events) }
            results.add("T1", type.contestant, seconds * 1e9 / Double(events.count))
            try store.close()
            results.add("T1c", type.contestant, Double(Folder.bytes(at: path)) / 1e6)
            stores.append((type.contestant, try type.init(path: path)))
        }
        let look = Look(perRow: 1e9 / Double(uids.count))
        let isWhole = options.rows == 1_000_000
        let east: UInt64? = isWhole ? EventGenerator.eastOfMillion : nil
        for (who, store) in stores { try look.each(who, "T2", &results) { try store.get(uids: uids) } }
        for (who, store) in stores { try look.each(who, "T3", &results) { try store.get(keys: keys) } }
        for (who, store) in stores { try look.whole(who, "T4", &results, expected: east) { try store.countEast() } }
        for (who, store) in stores { try look.whole(who, "T5", &results) { try store.readEast() } }
        for (who, store) in stores {
            let expected: UInt64? = isWhole ? EventGenerator.sevensOfMillion : nil
            try look.whole(who, "T7", &results, expected: expected) { try store.countSevens() }
        }
        for (who, store) in stores { try change(who, "T8", &results, expected: east) { try store.updateEast() } }
        for (who, store) in stores { try change(who, "T9", &results, expected: east) { try store.deleteEast() } }
        for (_, store) in stores {
            try store.close()
        }
        for type in order { _ = try folder.empty("\(type.contestant.rawValue)-events") }
    }

    private func change(
        _ who: Contestant, _ id: String, _ results: inout Results, expected: UInt64?, _ body: () throws -> UInt64
    ) throws {
        let (seconds, sum) = try timed(body)
        results.add(id, who, seconds * 1e3)
        results.check(id, who, sum, expected: expected)
    }
}
