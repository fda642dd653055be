import Foundation

/// The main rows at several sizes.
struct SizeSuite {
    let options: Options
    let folder: Folder
    let contestants: [any EventContestant.Type]

    /// The figures measured at each size, per row or per object.
    enum Step: String, CaseIterable {
        case insert, uid, key, count, read, save

        var title: String {
            switch self {
            case .insert: "insert in a batch"
            case .uid: "object by uid"
            case .key: "object by ID"
            case .count: "count, longitude > 37"
            case .read: "fetch longitude > 37, read two attributes"
            case .save: "durable save of one object"
            }
        }

        var unit: String {
            switch self {
            case .insert, .count, .read: "ns/row"
            case .uid, .key: "ns"
            case .save: "µs"
            }
        }

        /// The goal for a store of ten thousand rows.
        var goal: Goal {
            switch self {
            case .insert, .count, .read, .save: .atMost(0.8, .sqlite)
            case .uid, .key: .atMost(0.8, .lmdb)
            }
        }
    }

    static let sizes = [10_000, 100_000, 1_000_000, 10_000_000]

    static let firstSave = Row(
        id: "first save", title: "open a new store and save one object durably", unit: "ms", goal: .atMost(1, .sqlite))

    static var rows: [Row] { [firstSave] + sizes.map(name).flatMap(rows) }

    private static func rows(_ size: String) -> [Row] {
        Step.allCases.map { step in
            Row(id: id(step, size), title: "\(step.title), \(size)", unit: step.unit, goal: size == name(10_000) ? step.goal : nil)
        }
    }

    static func id(_ step: Step, _ size: String) -> String { "\(step.rawValue)@\(size)" }

    static func name(_ size: Int) -> String { size < 1_000_000 ? "\(size / 1000) k" : "\(size / 1_000_000) M" }

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        try saveFirst(&results)
        for size in Self.sizes where size <= options.largest {
            for repetition in 0..<(size > 1_000_000 ? 1 : options.repetitions) {
                note("size \(Self.name(size)), repetition \(repetition + 1)")
                try measure(size, Self.name(size), repetition, &results)
            }
        }
    }

    /// Makes new stores, those of the contestants in turn, and saves one object in each.
    private func saveFirst(_ results: inout Results) throws {
        note("first saves")
        var events = EventGenerator(count: 1)
        guard let event = events.next() else { return }
        for repetition in 0..<options.repetitions {
            var times: [Contestant: [Double]] = [:]
            for round in 0..<(options.isSmoke ? 2 : 20) {
                for type in contestants.indices.map({ contestants[($0 + repetition + round) % contestants.count] }) {
                    let path = try folder.empty("first")
                    let (seconds, store) = try timed {
                        let store = try type.init(path: path)
                        try store.insertOne(event)
                        return store
                    }
                    times[type.contestant, default: []].append(seconds)
                    try store.close()
                }
            }
            for (who, times) in times { results.add(Self.firstSave.id, who, percentile(times.sorted(), 0.5) * 1e3) }
        }
        _ = try folder.empty("first")
    }

    private func measure(_ size: Int, _ name: String, _ repetition: Int, _ results: inout Results) throws {
        let saves = options.isSmoke ? 20 : 300
        let events = Array(EventGenerator(count: size + saves))
        var random = SplitMix(UInt64(size))
        let picks = (0..<min(size, 50_000)).map { _ in Int(random.next() % UInt64(size)) }
        let uids = picks.map { events[$0].uid }
        let keys = picks.map { UInt64($0 + 1) }
        var stores: [(Contestant, any EventContestant)] = []
        for type in contestants.indices.map({ contestants[($0 + repetition) % contestants.count] }) {
            let store = try type.init(path: try folder.empty("\(type.contestant.rawValue)-size"))
            let (seconds, _) = try timed { try store.load(Array(events[..<size])) }
            results.add(Self.id(.insert, name), type.contestant, seconds * 1e9 / Double(size))
            stores.append((type.contestant, store))
        }
        let each = Look(perRow: 1e9 / Double(picks.count))
        let row = Look(perRow: 1e9 / Double(size))
        for (who, store) in stores { try each.each(who, Self.id(.uid, name), &results) { try store.get(uids: uids) } }
        for (who, store) in stores { try each.each(who, Self.id(.key, name), &results) { try store.get(keys: keys) } }
        for (who, store) in stores { try row.scan(who, Self.id(.count, name), &results) { try store.countEast() } }
        for (who, store) in stores { try row.scan(who, Self.id(.read, name), &results) { try store.readEast() } }
        for (who, store) in stores {
            let times = try events[size...].map { event in try timed { try store.insertOne(event) }.seconds }
            results.add(Self.id(.save, name), who, percentile(times.sorted(), 0.5) * 1e6)
        }
        for (who, store) in stores {
            try store.close()
            _ = try folder.empty("\(who.rawValue)-size")
        }
    }
}
