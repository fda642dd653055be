import Foundation

/// Rows of events that need more memory than the process may use.
///
/// Each contestant has a process of its own in a control group whose limit is a quarter, or a sixteenth, of SQLite's file. The limit counts the
/// page cache, so that all contestants have the same memory, wherever they keep their pages. The stores are filled without a limit.
struct LimitedSuite {
    let options: Options
    let folder: Folder
    let contestants: [any EventContestant.Type]

    private static let steps: [SizeSuite.Step] = [.uid, .key, .count, .read, .save]
    private static let shares = [4, 16]
    /// With fewer rows, the limit would be near the memory that a process without a store takes.
    private static let rows = 10_000_000
    private static let saves = 300
    /// The events that each lookup step reads, three times: other ones each time.
    private static let picks = 5_000
    /// The lookups before each lookup step, which fill the memory. Otherwise the step would read nearly all pages for the first time.
    private static let lookupsBefore = 60_000

    static var rowsOfTable: [Row] {
        shares.flatMap { share in
            steps.map {
                Row(
                    id: id($0, share), title: "\($0.title), \(share) × memory", unit: $0 == .save || $0 == .uid || $0 == .key ? "µs" : $0.unit,
                    goal: .atMost(0.8, .sqlite))
            }
        }
    }

    private static func id(_ step: SizeSuite.Step, _ share: Int) -> String { "\(step.rawValue)@\(share) × memory" }

    private var count: Int { options.isSmoke ? options.rows : max(options.rows, Self.rows) }

    func run(into results: inout Results) throws {
        guard MemoryGroup(bytes: 64 << 20) != nil else { return note("limited memory is not measured: this process cannot create control groups") }
        results.declare(Self.rowsOfTable)
        note("limited memory: filling stores of \(count) rows")
        var stores: [(type: any EventContestant.Type, path: String)] = []
        for type in contestants {
            let path = try folder.empty("\(type.contestant.rawValue)-limited")
            let store = try type.init(path: path, poolBytes: (1 << 30) - 1)
            try fill(store)
            try store.close()
            stores.append((type, path))
        }
        guard let file = stores.first(where: { $0.type.contestant == .sqlite })?.path else { return }
        let bytes = Folder.bytes(at: file)
        for share in Self.shares {
            // A process without a store takes some 30 MiB.
            let limit = options.isSmoke ? 256 << 20 : bytes / share
            for (type, path) in stores {
                note("\(share) × memory: \(type.contestant.rawValue) in \(limit >> 20) MiB")
                try measure(type, path, limit, share, &results)
            }
        }
        for (_, path) in stores { try FileManager.default.removeItem(atPath: path) }
    }

    private func fill(_ store: any EventContestant) throws { try store.load(Array(EventGenerator(count: count))) }

    private func measure(
        _ type: any EventContestant.Type, _ path: String, _ limit: Int, _ share: Int, _ results: inout Results
    ) throws {
        guard let group = MemoryGroup(bytes: limit) else { throw BenchmarkError("A memory group of \(limit) bytes cannot be created.") }
        // Each measurement begins with the same store.
        let copy = try folder.empty("limited-copy")
        try Folder.copy(path, to: copy)
        Folder.dropCache(at: copy)
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = [
            "--limited", type.contestant.rawValue, "--group", group.path, "--store", copy, "--pool", "\(max(limit / 16, 8 << 20))", "--rows", "\(count)",
            "--folder", options.folder,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchmarkError("\(type.contestant.rawValue) ended with status \(process.terminationStatus) in \(limit >> 20) MiB after:\n\(output)")
        }
        for line in output.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 3, let step = SizeSuite.Step(rawValue: String(words[0])), let figure = Double(words[1]), let sum = UInt64(words[2])
            else { throw BenchmarkError("The process with limited memory printed: \(line)") }
            results.add(Self.id(step, share), type.contestant, figure)
            results.check(Self.id(step, share), type.contestant, sum)
        }
        _ = try folder.empty("limited-copy")
    }

    /// The work of the process with limited memory: prints a line with step, figure and checksum for each step.
    static func measure(_ limited: Options.Limited, rows: Int, contestants: [any EventContestant.Type]) throws {
        guard let type = contestants.first(where: { $0.contestant.rawValue == limited.contestant }) else {
            throw BenchmarkError("There is no contestant \(limited.contestant).")
        }
        var random = SplitMix(UInt64(rows))
        func picked(_ count: Int) -> [Int] { (0..<min(rows, count)).map { _ in Int(random.next() % UInt64(rows)) } }
        /// The lookups before the step, and three rounds.
        func rounds() -> [[Int]] { [picked(lookupsBefore)] + (0..<3).map { _ in picked(picks) } }
        let (uids, fresh) = events(rounds(), rows)
        // Other events than those whose pages were read by uid.
        let keys = rounds().map { $0.map { UInt64($0 + 1) } }
        try MemoryGroup.enter(limited.group)
        let store = try type.init(path: limited.store, poolBytes: limited.poolBytes)
        _ = try store.get(uids: uids[0])
        try report(.uid, 1e6 / Double(uids[1].count), 1..<4) { try store.get(uids: uids[$0]) }
        try store.prepare(keys: keys[0])
        _ = try store.get(keys: keys[0])
        try report(.key, 1e6 / Double(keys[1].count), 1..<4, prepare: { try store.prepare(keys: keys[$0]) }) { try store.get(keys: keys[$0]) }
        try report(.count, 1e9 / Double(rows), 0..<3) { _ in try store.countEast() }
        try report(.read, 1e9 / Double(rows), 0..<3) { _ in try store.readEast() }
        let times = try fresh.map { event in try timed { try store.insertOne(event) }.seconds }
        print("save \(percentile(times.sorted(), 0.5) * 1e6) 0")
        try store.close()
    }

    private static func report(
        _ step: SizeSuite.Step, _ scale: Double, _ rounds: Range<Int>, prepare: (Int) throws -> Void = { _ in }, _ body: (Int) throws -> UInt64
    ) throws {
        var samples = Samples()
        var sum: UInt64 = 0
        for round in rounds {
            try prepare(round)
            let (seconds, part) = try timed { try body(round) }
            samples.add(seconds * scale)
            sum &+= part
        }
        print("\(step.rawValue) \(samples.median) \(sum)")
        fflush(nil)
    }

    /// The uids of the events of each round, and events that are not in the stores.
    private static func events(_ rounds: [[Int]], _ rows: Int) -> (uids: [[String]], fresh: [EventGenerator.Event]) {
        let events = EventGenerator.events(at: rounds.joined())
        return (rounds.map { $0.map { events[$0]!.uid } }, Array(EventSource(saves, from: rows)))
    }
}
