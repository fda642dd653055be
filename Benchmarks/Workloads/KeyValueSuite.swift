import Foundation

/// The engine rows: records of 16 + 150 bytes in one index.
struct KeyValueSuite {
    let options: Options
    let folder: Folder
    let contestants: [any KeyValueContestant.Type]
    private let data: KeyValueData
    private let lookups: [Int]
    private let commits: Int

    static let rows = [
        Row(id: "E1", title: "bulk insert, sorted keys, one transaction", unit: "ns/record", goal: .atMost(1, .lmdb)),
        Row(id: "E1r", title: "bulk insert, random keys, one transaction", unit: "ns/record", goal: .atMost(0.67, .lmdb)),
        Row(id: "E2", title: "size afterwards (sorted)", unit: "MB", goal: .atMost(0.5, .sqlite)),
        Row(id: "E3", title: "random get", unit: "ns", goal: .atMost(0.5, .lmdb)),
        Row(id: "E4", title: "ordered scan", unit: "ns/record", goal: .atMost(0.4, .lmdb)),
        Row(id: "E5", title: "random gets, two threads against one", unit: "×", goal: .atLeast(1.95)),
        Row(id: "E6", title: "durable commit of one record, median", unit: "µs", goal: .atMost(1.2, .machine)),
        Row(id: "E6t", title: "… 99.9th percentile", unit: "µs", goal: .atMost(1000)),
        Row(id: "E6f", title: "… device flushes a commit", unit: "", goal: .atMost(1.05)),
        Row(id: "E7", title: "8 threads committing one record each", unit: "1/s", goal: .atLeast(10, .sqlite)),
        Row(id: "E8", title: "open with 64 MiB of log to recover", unit: "s", goal: .atMost(0.5)),
        Row(id: "E9", title: "open after a clean close, first get", unit: "µs", goal: .atMost(1, .sqlite)),
    ]

    init(_ options: Options, _ folder: Folder, _ contestants: [any KeyValueContestant.Type]) {
        self.options = options
        self.folder = folder
        self.contestants = contestants
        data = KeyValueData(count: options.rows)
        lookups = data.sample(min(options.rows, 500_000), seed: 2)
        commits = options.isSmoke ? 50 : 2000
    }

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        for repetition in 0..<options.repetitions {
            note("engine, repetition \(repetition + 1) of \(options.repetitions)")
            try repeatOnce(rotated(repetition), &results)
        }
    }

    /// Each repetition starts with a different contestant.
    private func rotated(_ n: Int) -> [any KeyValueContestant.Type] {
        contestants.indices.map { contestants[($0 + n) % contestants.count] }
    }

    private func path(_ type: any KeyValueContestant.Type, _ name: String) -> String {
        "\(folder.path)/\(type.contestant.rawValue)-\(name)"
    }

    private func repeatOnce(_ order: [any KeyValueContestant.Type], _ results: inout Results) throws {
        for type in order { try bulkInsert(type, &results, "random", data.shuffled, isSorted: false) }
        for type in order { try bulkInsert(type, &results, "sorted", Array(0..<data.count), isSorted: true) }
        for type in order { try open(type, &results) }
        let stores = try order.map { try ($0, $0.init(path: path($0, "sorted"))) }
        for (type, store) in stores { try gets(type.contestant, store, &results) }
        for (type, store) in stores { try scan(type.contestant, store, &results) }
        try singleCommits(stores.map { ($0.contestant, $1) }, &results)
        for (type, store) in stores { try concurrentCommits(type.contestant, store, &results) }
        for (_, store) in stores { try store.close() }
        for type in order where type.contestant != .lmdb { try recovery(type, &results) }
    }

    // MARK: Steps

    private func bulkInsert(
        _ type: any KeyValueContestant.Type, _ results: inout Results, _ name: String, _ order: [Int], isSorted: Bool
    ) throws {
        let store = try type.init(path: try folder.empty("\(type.contestant.rawValue)-\(name)"))
        let (seconds, _) = try timed { try store.load(data, order, isSorted: isSorted) }
        results.add(isSorted ? "E1" : "E1r", type.contestant, seconds * 1e9 / Double(data.count))
        results.check(isSorted ? "E1" : "E1r", type.contestant, try store.scan())
        try store.close()
        if isSorted {
            results.add("E2", type.contestant, Double(Folder.bytes(at: path(type, name))) / 1e6)
        } else {
            _ = try folder.empty("\(type.contestant.rawValue)-\(name)")
        }
    }

    private func open(_ type: any KeyValueContestant.Type, _ results: inout Results) throws {
        for attempt in 0..<4 {
            let (seconds, sum) = try timed { () -> UInt64 in
                let store = try type.init(path: path(type, "sorted"))
                defer { try? store.close() }
                return try store.get(data, [data.count / 2])
            }
            // The first run is a warm-up.
            if attempt > 0 { results.add("E9", type.contestant, seconds * 1e6) }
            results.check("E9", type.contestant, sum)
        }
    }

    private func gets(_ contestant: Contestant, _ store: any KeyValueContestant, _ results: inout Results) throws {
        _ = try store.scan()
        _ = try store.get(data, lookups[...])
        let (processor, sum) = try processorTimed { try store.get(data, lookups[...]) }
        results.add("E3", contestant, processor * 1e9 / Double(lookups.count))
        results.check("E3", contestant, sum)
        let (alone, _) = try timed { try onThreads(1) { _ in try store.get(data, lookups[...]) } }
        let (both, sums) = try timed {
            try onThreads(2) { _ in try store.get(data, lookups[...]) }
        }
        results.add("E5", contestant, 2 * alone / both)
        results.check("E5", contestant, sums)
    }

    private func scan(_ contestant: Contestant, _ store: any KeyValueContestant, _ results: inout Results) throws {
        let (seconds, sum) = try processorTimed { try store.scan() }
        results.add("E4", contestant, seconds * 1e9 / Double(data.count))
        results.check("E4", contestant, sum)
    }

    private func singleCommits(_ stores: [(Contestant, any KeyValueContestant)], _ results: inout Results) throws {
        var turns = stores.map { who, store in
            Turns.Contender(who) { part in
                var key = [UInt8](repeating: 0xEE, count: KeyValueData.keyBytes)
                return try part.map { i in
                    key[14] = UInt8(i >> 8 & 0xFF)
                    key[15] = UInt8(i & 0xFF)
                    return try key.withUnsafeBytes { key in try timed { try store.commit(key, data.value(i)) }.seconds }
                }
            }
        }
        let floor = try Floor(in: folder)
        turns.append(Turns.Contender(.machine) { part in floor.commits(part) })
        for (who, times, flushes) in try Turns(below: folder.path).take(commits, turns) {
            if let flushes { results.add("E6f", who, flushes) }
            let sorted = times.sorted()
            results.add("E6", who, percentile(sorted, 0.5) * 1e6)
            results.add("E6t", who, percentile(sorted, 0.999) * 1e6)
        }
    }

    private func concurrentCommits(_ contestant: Contestant, _ store: any KeyValueContestant, _ results: inout Results) throws {
        let each = max(commits / 4, 20)
        let (seconds, _) = try timed {
            try onThreads(8) { thread in
                var key = [UInt8](repeating: 0xEF, count: KeyValueData.keyBytes)
                key[0] = 0xF0 + UInt8(thread)
                for i in 0..<each {
                    key[14] = UInt8(i >> 8 & 0xFF)
                    key[15] = UInt8(i & 0xFF)
                    try key.withUnsafeBytes { try store.commitBesideOthers($0, data.value(i)) }
                }
                return 0
            }
        }
        results.add("E7", contestant, Double(8 * each) / seconds)
        results.check("E7", contestant, try store.scan())
    }

    /// Copies the files of an open store, as after a crash, and measures the opening of the copy.
    private func recovery(_ type: any KeyValueContestant.Type, _ results: inout Results) throws {
        let store = try type.init(path: try folder.empty("\(type.contestant.rawValue)-log"))
        try store.holdLog()
        let records = min(data.count, (64 << 20) / (KeyValueData.keyBytes + KeyValueData.valueBytes))
        for start in stride(from: 0, to: records, by: 1000) {
            try store.commitBatch(data, data.shuffled[start..<min(start + 1000, records)])
        }
        let copy = try folder.empty("\(type.contestant.rawValue)-crashed")
        try type.copyLive(path(type, "log"), to: copy)
        let (seconds, recovered) = try timed { () -> any KeyValueContestant in
            let store = try type.init(path: copy)
            _ = try store.get(data, data.shuffled[..<1])
            return store
        }
        results.add("E8", type.contestant, seconds)
        results.check("E8", type.contestant, try recovered.scan())
        try recovered.close()
        try store.close()
        for name in ["log", "crashed"] { _ = try folder.empty("\(type.contestant.rawValue)-\(name)") }
    }
}

extension KeyValueContestant {
    /// Copies the files of an open store. Skips files that disappear during the copy: a background thread renames the empty log segment that it has
    /// prepared.
    static func copyLive(_ source: String, to target: String) throws {
        let parent = (source as NSString).deletingLastPathComponent
        let name = (source as NSString).lastPathComponent
        for file in try FileManager.default.contentsOfDirectory(atPath: parent) where file.hasPrefix(name) {
            let (from, to) = (parent + "/" + file, target + file.dropFirst(name.count))
            guard let inside = try? FileManager.default.contentsOfDirectory(atPath: from) else {
                try Folder.copy(from, to: to)
                continue
            }
            try FileManager.default.createDirectory(atPath: to, withIntermediateDirectories: false)
            for file in inside {
                do { try Folder.copy(from + "/" + file, to: to + "/" + file) } catch {
                    if FileManager.default.fileExists(atPath: from + "/" + file) { throw error }
                }
            }
        }
    }
}

/// Prints the current measurement on standard error.
func note(_ text: String) { FileHandle.standardError.write(Data("  \(text)\n".utf8)) }
