import Foundation
import Hornbeam
import HornbeamEngine

/// A process with one step of the rows G3. It prints a line with name and figure for each measurement.
struct HugeProcess {
    private let path: String
    private let count: Int
    private let isSmoke: Bool

    /// Rows of one transaction of the import: a multiple of the number of keys that a batch reserves at a time, so that the IDs have no gaps.
    private static let rowsPerBatch = 1 << 20
    private static let pool = EngineOptions().poolBytes
    private static let before = ProcessMemory.current

    // MARK: Parent

    private static func start(_ step: String, _ path: String, _ count: Int, _ options: Options) throws -> (process: Process, output: FileHandle) {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = (options.isSmoke ? ["--smoke"] : []) + ["--huge", step, "--store", path, "--rows", "\(count)"]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        return (process, pipe.fileHandleForReading)
    }

    /// Runs a step and returns its figures.
    static func figures(_ step: String, _ path: String, _ count: Int, _ options: Options) throws -> [(name: String, value: Double)] {
        let (process, output) = try start(step, path, count, options)
        let text = String(decoding: output.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchmarkError("The step \(step) ended with status \(process.terminationStatus) after:\n\(text)") }
        return try text.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            guard words.count == 2, let value = Double(words[1]) else { throw BenchmarkError("The step \(step) printed: \(line)") }
            return (String(words[0]), value)
        }
    }

    /// Kills a process that saves.
    static func kill(_ path: String, _ count: Int, _ options: Options) throws {
        let (process, output) = try start("save", path, count, options)
        guard !output.availableData.isEmpty else { throw BenchmarkError("The process that saves ended.") }
        Thread.sleep(forTimeInterval: options.isSmoke ? 0.3 : 5)
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    // MARK: Child

    init(_ options: Options) {
        path = options.limited.store
        count = options.rows
        isSmoke = options.isSmoke
    }

    func run(_ step: String) throws {
        _ = Self.before
        switch step {
        case "fill": try fill()
        case "look": try look()
        case "open", "crash": try open(step)
        case "save": try saveForEver()
        case "check": try check()
        default: throw BenchmarkError("There is no step \(step).")
        }
        report("memory", Double(max(ProcessMemory.peak - Self.before - Self.pool, 0)) / Double(1 << 20))
    }

    private func report(_ name: String, _ value: Double) {
        print("\(name) \(value)")
        fflush(nil)
    }

    private func openStore() throws -> GraphEvents { try GraphEvents(path: path, poolBytes: Self.pool) }

    /// Inserts the events; the time until the store is closed counts, the time of making the events does not.
    private func fill() throws {
        let store = try openStore()
        let source = EventSource(count)
        var seconds = 0.0
        while source.rest > 0 {
            source.bound = Self.rowsPerBatch
            let part = min(source.rest, Self.rowsPerBatch)
            let made = source.seconds
            let taken = try timed { try store.insert(source) }.seconds - (source.seconds - made)
            if source.number % (10 * Self.rowsPerBatch) == 0 { note("    row \(source.number): \((taken * 1e9 / Double(part)).short) ns/row") }
            seconds += taken
        }
        seconds += try timed { try store.close() }.seconds
        report("insert", seconds * 1e9 / Double(count))
    }

    private func look() throws {
        let store = try openStore()
        let picks = min(count, isSmoke ? 500 : 50_000)
        var random = SplitMix(UInt64(count))
        let rounds = (0..<6).map { _ in (0..<picks).map { _ in Int(random.next() % UInt64(count)) } }
        let events = EventGenerator.events(at: rounds.joined())
        func expect(_ sum: UInt64, _ round: [Int]) throws {
            guard sum == round.reduce(0, { $0 &+ events[$1]!.digest }) else { throw BenchmarkError("The lookups found other events.") }
        }
        // The scan comes first: it fills the pool, and the first access to each page of memory takes longer than reading a page.
        let east = EventGenerator.countEast(of: count)
        report("count", try median(1e9 / Double(count), 0..<3) { _ in
            let (seconds, found) = try timed { try store.countEast() }
            guard found == east else { throw BenchmarkError("\(found) events are east of 37°, not \(east).") }
            return seconds
        })
        report("uid", try median(1e9 / Double(picks), 0..<3) { round in
            let uids = rounds[round].map { events[$0]!.uid }
            let (seconds, sum) = try timed { try store.get(uids: uids) }
            try expect(sum, rounds[round])
            return seconds
        })
        report("key", try median(1e9 / Double(picks), 3..<6) { round in
            let keys = rounds[round].map { UInt64($0 + 1) }
            try store.prepare(keys: keys)
            let (seconds, sum) = try timed { try store.get(keys: keys) }
            try expect(sum, rounds[round])
            return seconds
        })
        let pages = 200
        report("page", try median(1e6 / Double(pages), 0..<3) { round in
            try timed { for offset in rounds[round].prefix(pages) { try store.readPage(at: min(offset, count - 100), of: 100) } }.seconds
        })
        let times = try EventSource(isSmoke ? 20 : 300, from: count).map { event in try timed { try store.insertOne(event) }.seconds }
        report("save", percentile(times.sorted(), 0.5) * 1e6)
        try store.close()
    }

    private func median(_ scale: Double, _ rounds: Range<Int>, _ body: (Int) throws -> Double) throws -> Double {
        var samples = Samples()
        for round in rounds { samples.add(try body(round) * scale) }
        return samples.median
    }

    private func open(_ name: String) throws {
        let uid = EventGenerator.events(at: [count / 3])[count / 3]!.uid
        let (seconds, store) = try timed {
            let store = try openStore()
            _ = try store.get(uids: [uid])
            return store
        }
        report(name, seconds * 1e3)
        try store.close()
    }

    /// Saves a thousand objects at a time until the process is killed.
    private func saveForEver() throws {
        let store = try openStore()
        report("saving", 0)
        // The step before saved up to 300 events.
        try store.loadObjects(EventSource(.max, from: count + 1000), perSave: 1000)
    }

    private func check() throws {
        let store = try openStore()
        let (seconds, faults) = try timed { try store.check() }
        guard faults.isEmpty else { throw BenchmarkError("The store is damaged: \(faults.joined(separator: "; "))") }
        report("check", seconds * 1e9 / Double(count))
        try store.close()
    }
}
