import Foundation

/// Runs one step repeatedly, for a profiler.
struct Profile {
    private let options: Options
    private let folder: Folder
    private let type: any KeyValueContestant.Type
    private let seconds = 8.0

    init(_ options: Options, _ folder: Folder, _ type: any KeyValueContestant.Type) {
        self.options = options
        self.folder = folder
        self.type = type
    }

    /// Runs gets and scans of all contestants in turn. Prints the minimum of each, which other load disturbs least.
    func duel(_ types: [any KeyValueContestant.Type]) throws {
        let data = KeyValueData(count: options.rows)
        let lookups = data.sample(min(options.rows, 300_000), seed: 2)
        let stores = try types.map { type in
            let store = try type.init(path: folder.path + "/" + type.contestant.rawValue)
            try store.load(data, Array(0..<data.count), isSorted: true)
            return (type.contestant, store)
        }
        var gets: [Contestant: Double] = [:]
        var scans: [Contestant: Double] = [:]
        for _ in 0..<20 {
            for (contestant, store) in stores {
                let scan = try processorTimed { try store.scan() }.seconds * 1e9 / Double(data.count)
                let get = try processorTimed { try store.get(data, lookups[...]) }.seconds * 1e9 / Double(lookups.count)
                scans[contestant] = min(scans[contestant] ?? scan, scan)
                gets[contestant] = min(gets[contestant] ?? get, get)
            }
        }
        for (contestant, _) in stores { note("\(contestant.rawValue): get \(gets[contestant]!.short), scan \(scans[contestant]!.short)") }
    }

    func run(_ step: String) throws {
        let data = KeyValueData(count: options.rows)
        let path = folder.path + "/store"
        if step.hasPrefix("insert") { return try insert(data, isSorted: step == "insert") }
        let store = try type.init(path: path)
        try store.load(data, Array(0..<data.count), isSorted: true)
        let lookups = data.sample(min(options.rows, 500_000), seed: 2)
        _ = try store.scan()
        let start = now()
        switch step {
        case "get": try again("get", lookups.count, 1e9) { _ = try store.get(data, lookups[...]) }
        case "scan": try again("scan", data.count, 1e9) { _ = try store.scan() }
        case "commit":
            var i = 0
            try again("commit", 1000, 1e6) {
                for _ in 0..<1000 {
                    i += 1
                    let key = [UInt8](repeating: 0xEE, count: 8) + withUnsafeBytes(of: UInt64(i).bigEndian) { Array($0) }
                    try key.withUnsafeBytes { try store.commit($0, data.value(i % data.count)) }
                }
            }
        default: throw BenchmarkError("There is no step \(step) to profile: get, scan, insert, insert-random, commit.")
        }
        note("profiled for \((now() - start).short) s")
        try store.close()
    }

    private func insert(_ data: KeyValueData, isSorted: Bool) throws {
        try again("insert", data.count, 1e9) {
            let store = try type.init(path: try folder.empty("store"))
            try store.load(data, isSorted ? Array(0..<data.count) : data.shuffled, isSorted: isSorted)
            try store.close()
        }
    }

    private func again(_ name: String, _ count: Int, _ scale: Double, _ body: () throws -> Void) throws {
        let end = now() + seconds
        while now() < end {
            let taken = try processorTimed(body).seconds
            note("\(name): \((taken * scale / Double(count)).short) each")
        }
    }
}

/// Repeats single steps of the table's rows on events, for a profiler.
struct EventProfile {
    let options: Options
    let folder: Folder

    /// Runs rows 8 and 9 once and prints the elapsed time. The store was opened again, its objects were read, and it received many single saves.
    private func change(_ type: any EventContestant.Type, _ loaded: [EventGenerator.Event], _ more: [EventGenerator.Event]) throws {
        let path = try folder.empty("events")
        let first = try type.init(path: path)
        try first.load(loaded)
        try first.close()
        let store = try type.init(path: path)
        _ = try store.readEast()
        _ = try onThreads(8) { thread in
            for event in more[(more.startIndex + thread * 5_000)...].prefix(5_000) { try store.insertOne(event) }
            return 0
        }
        _ = try store.countEast()
        for (name, body) in [("update", store.updateEast), ("delete", store.deleteEast)] {
            let start = processTime()
            let seconds = try timed { try body() }.seconds
            note("\(name): \((seconds * 1e3).short) ms, \(((processTime() - start) * 1e3).short) of processor time")
        }
        try store.close()
    }

    /// The lookups and reads of all contestants in turn, each as in the rows: one warm-up, then the median of three. Prints the
    /// minimum of these medians, which other load disturbs least.
    func duel(_ types: [any EventReader.Type]) throws {
        let events = Array(EventGenerator(count: options.rows))
        var random = SplitMix(3)
        let picks = (0..<min(options.rows, 100_000)).map { _ in Int(random.next() % UInt64(options.rows)) }
        let uids = picks.map { events[$0].uid }
        let keys = picks.map { UInt64($0 + 1) }
        func path(_ type: any EventReader.Type) -> String { folder.path + "/" + type.contestant.rawValue }
        for type in types {
            let store = try type.init(path: path(type))
            try store.load(events)
            try store.close()
        }
        var least: [String: [Contestant: Double]] = [:]
        func take(_ step: String, _ who: Contestant, _ perSecond: Double, _ body: () throws -> UInt64) throws {
            _ = try body()
            let figure = try (0..<3).map { _ in try timed(body).seconds * perSecond }.sorted()[1]
            least[step, default: [:]][who] = min(least[step]?[who] ?? figure, figure)
        }
        for _ in 0..<4 {
            for type in types {
                try take("open, µs", type.contestant, 1e6) {
                    let store = try type.init(path: path(type))
                    defer { try? store.close() }
                    return try store.get(uids: [uids[0]])
                }
            }
        }
        let stores = try types.map { ($0.contestant, try $0.init(path: path($0))) }
        for _ in 0..<3 {
            for (who, store) in stores { try take("uid, ns", who, 1e9 / Double(uids.count)) { try store.get(uids: uids) } }
            for (who, store) in stores { try take("key, ns", who, 1e9 / Double(keys.count)) { try store.get(keys: keys) } }
            for (who, store) in stores { try take("count, ms", who, 1e3) { try store.countEast() } }
            for (who, store) in stores { try take("read, ms", who, 1e3) { try store.readEast() } }
            for (who, store) in stores { try take("borrow, ms", who, 1e3) { try store.borrowEast() } }
        }
        for (step, figures) in least.sorted(by: { $0.key < $1.key }) {
            note(step + ": " + stores.compactMap { who, _ in figures[who].map { "\(who.rawValue) \($0.short)" } }.joined(separator: ", "))
        }
        for (_, store) in stores { try store.close() }
    }

    /// Opens the store repeatedly and reads one event each time.
    private func open(_ type: any EventReader.Type, _ uid: String, until end: Double) throws {
        while now() < end {
            let seconds = try processorTimed {
                let store = try type.init(path: folder.path + "/events")
                _ = try store.get(uids: [uid])
                try store.close()
            }.seconds
            note("open: \((seconds * 1e6).short) µs")
        }
    }

    /// Events saved one by one, by one thread or by a crowd of 16, or all at once as objects.
    private func save(
        _ step: String, _ store: any EventReader, _ events: ArraySlice<EventGenerator.Event>, _ time: (Int, () throws -> Void) throws -> Void
    ) throws {
        if step == "objects" {
            guard let graph = store as? GraphEvents else { throw BenchmarkError("Not at the engine's door.") }
            return try time(events.count) { try graph.loadObjects(events) }
        }
        guard step == "crowd" else { return try time(events.count) { for event in events { try store.insertOne(event) } } }
        try time(events.count) {
            _ = try onThreads(16) { thread in
                let part = events.count / 16
                for event in events.dropFirst(thread * part).prefix(part) { try store.insertOne(event) }
                return 0
            }
        }
    }

    private func sayRates(besideOneAnother store: any EventReader, _ fresh: ArraySlice<EventGenerator.Event>) throws {
        let rates = try savesBesideCounts(store, fresh, seconds: 4)
        note("beside: \(rates.saves.short) saves and \(rates.counts.short) counts a second")
    }

    /// `event-STEP` runs a step of the engine, `graph-STEP` a step of the object graph.
    func run(_ step: String) throws {
        let words = step.split(separator: "-", maxSplits: 1).map(String.init)
        let type: any EventReader.Type = words[0] == "graph" ? GraphEvents.self : EngineEvents.self
        let events = Array(EventGenerator(count: options.rows + 100_000))
        let loaded = Array(events[..<options.rows])
        if words[1] == "change", let type = type as? any EventContestant.Type {
            return try change(type, loaded, Array(events[options.rows...]))
        }
        var end = now() + 8
        func say(_ seconds: Double, _ count: Int) { note("\(step): \((seconds * 1e9 / Double(count)).short) ns a row") }
        func time(_ count: Int, _ body: () throws -> Void) throws {
            let (clocked, processor) = try timed { try processorTimed(body).seconds }
            say(processor, count)
            note("  by the clock \((clocked * 1e9 / Double(count)).short)")
        }
        while words[1] == "insert", now() < end {
            let store = try type.init(path: try folder.empty("events"))
            try time(loaded.count) { try store.load(loaded) }
            try store.close()
        }
        if words[1] == "insert" { return }
        let path = try folder.empty("events")
        var store = try type.init(path: path)
        try store.load(loaded)
        try store.close()
        if words[1] == "open" { return try open(type, events[0].uid, until: end) }
        // As in the rows: pages are read from disk, in the order of their first use.
        store = try type.init(path: path)
        var random = SplitMix(3)
        let picks = (0..<100_000).map { _ in Int(random.next() % UInt64(loaded.count)) }
        let uids = picks.map { events[$0].uid }
        let keys = picks.map { UInt64($0 + 1) }
        var next = loaded.count
        _ = try store.get(uids: uids)
        end = now() + 8
        while now() < end {
            switch words[1] {
            case "uid": try time(uids.count) { _ = try store.get(uids: uids) }
            case "key": try time(keys.count) { _ = try store.get(keys: keys) }
            case "sort": try time(loaded.count) { _ = try store.firstByLongitude() }
            case "count": try time(loaded.count) { _ = try store.countEast() }
            case "read": try time(loaded.count) { _ = try store.readEast() }
            case "sevens": try time(loaded.count) { _ = try store.countSevens() }
            case "borrow": try time(loaded.count) { _ = try store.borrowEast() }
            case "beside": return try sayRates(besideOneAnother: store, events[next...])
            case "save", "crowd", "objects":
                let count = words[1] == "save" ? 500 : 10_000
                guard next + count <= events.count else { return }
                try save(words[1], store, events[next..<(next + count)], time)
                next += count
            case "update", "delete":
                guard let store = store as? any EventContestant else { throw BenchmarkError("Not for \(words[0]).") }
                try time(loaded.count) { _ = try words[1] == "update" ? store.updateEast() : store.deleteEast() }
                if words[1] == "delete" { return }
            default: throw BenchmarkError("There is no step \(step).")
            }
        }
        try store.close()
    }
}
