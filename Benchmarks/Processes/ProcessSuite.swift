import Foundation
import Hornbeam

/// Rows M2 to M4: 2, 4 and 8 processes save one object each as fast as they can into one store; the delay until a change arrives in another process; taking
/// turns; reads beside a writer of another process.
struct ProcessSuite {
    let options: Options
    let folder: Folder

    private static let groups = [(id: "M2", processes: 2), (id: "M3", processes: 4), (id: "M4", processes: 8)]

    static let rows = groups.flatMap { id, count in
        [
            Row(id: id, title: "\(count) processes save one object each, all together", unit: "saves/s", goal: .atLeast(2, .sqlite)),
            Row(id: id + "m", title: "… median of a save", unit: "ms"),
            Row(id: id + "w", title: "… longest save in 3 s, as a multiple of the median save", unit: "×", goal: .atMost(20)),
        ]
    } + [
        Row(id: "M2n", title: "from a save's return to the change in another process", unit: "ms", goal: .atMost(20)),
        Row(id: "M2t", title: "two processes save alternately, each after the other's change has arrived", unit: "ms/save"),
        Row(id: "M2a", title: "… a process alone, with history", unit: "ms/save"),
        Row(id: "M2r", title: "reads beside a process that saves, as a share of reads alone", unit: "×", goal: .atLeast(0.9)),
        Row(id: "M2rp", title: "… in a second of processor time of the reading thread", unit: "×"),
        Row(id: "M2ro", title: "… beside a process that saves to another store", unit: "×"),
        Row(id: "M2rs", title: "… beside a process that only counts", unit: "×"),
    ]

    private static var contestants: [Contestant] {
        #if Rivals
        [.hornbeam, .sqlite, .lmdb]
        #else
        [.hornbeam]
        #endif
    }

    private var seconds: Double { options.isSmoke ? 0.3 : 3 }

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        for repetition in 0..<options.repetitions {
            note("processes, repetition \(repetition + 1) of \(options.repetitions)")
            let contestants = Self.contestants.indices.map { Self.contestants[($0 + repetition) % Self.contestants.count] }
            for (id, count) in Self.groups { for who in contestants { try save(id, count, who, &results) } }
            try measureNews(&results)
            try measureReads(&results)
        }
    }

    // MARK: Many writers

    private func save(_ id: String, _ count: Int, _ who: Contestant, _ results: inout Results) throws {
        let path = try folder.empty("processes-\(who.rawValue)")
        try ProcessMember.open(who, path).close()
        let members = try (0..<count).map { try MemberProcess("save", who, path, $0, seconds) }
        let figures = try MemberProcess.figures(of: members)
        let total = figures.reduce(0) { $0 + $1[0] }
        let median = percentile(figures.map { $0[1] }.sorted(), 0.5)
        let longest = figures.map { $0[2] }.max() ?? 0
        results.add(id, who, total / seconds)
        results.add(id + "m", who, median * 1e3)
        results.add(id + "w", who, longest / median)
        _ = try folder.empty("processes-\(who.rawValue)")
    }

    // MARK: News

    private func measureNews(_ results: inout Results) throws {
        let path = try folder.empty("processes-news")
        let container = try Event.container(at: path, poolBytes: 64 << 20, keepsHistory: true, isShared: true)
        let count = options.isSmoke ? 20 : 200
        let news = NewsClock(container)
        let alone = try timed { for number in 0..<count { try ProcessMember.insert(container, "alone \(number)") } }
        results.add("M2a", .hornbeam, alone.seconds / Double(count) * 1e3)
        news.wait(count)
        let member = try MemberProcess("stamp", .hornbeam, path, 1, Double(count))
        try member.waitForLine()
        member.go()
        var delays: [Double] = []
        for number in 0..<count {
            guard let saved = Double(try member.waitForLine()) else { throw BenchmarkError("A process that saves failed.") }
            news.wait(count + number + 1)
            delays.append(news.time(count + number) - saved)
        }
        try member.end()
        results.add("M2n", .hornbeam, max(percentile(delays.sorted(), 0.5), 0) * 1e3)
        let partner = try MemberProcess("alternate", .hornbeam, path, 2, Double(count))
        try partner.waitForLine()
        partner.go()
        let turns = try timed {
            for number in 0..<count {
                try ProcessMember.insert(container, "turn \(number)")
                news.wait(2 * count + 2 * (number + 1))
            }
        }
        try partner.end()
        results.add("M2t", .hornbeam, turns.seconds / Double(2 * count) * 1e3)
        try container.close()
    }

    // MARK: Reads

    private func measureReads(_ results: inout Results) throws {
        let path = try folder.empty("processes-reads")
        let container = try Event.container(at: path, poolBytes: 64 << 20, keepsHistory: true, isShared: true)
        let keys = (0..<10_000).map { "read \($0)" }
        try container.performAndWait { context in
            for key in keys { Event(context: context).fill(ProcessMember.event(key)) }
            try context.save()
        }
        let before = try reads(keys, container)
        let beside = try [("M2r", "stream", path), ("M2ro", "stream", try folder.empty("processes-other")), ("M2rs", "spin", path)].map { id, work, store in
            let member = try MemberProcess(work, .hornbeam, store, 3, seconds + 1)
            try member.waitForLine()
            member.go()
            let rates = try reads(keys, container)
            try member.end()
            return (id, rates)
        }
        let after = try reads(keys, container)
        for (id, rates) in beside { results.add(id, .hornbeam, 2 * rates.clock / (before.clock + after.clock)) }
        results.add("M2rp", .hornbeam, 2 * beside[0].1.processor / (before.processor + after.processor))
        try container.close()
    }

    /// The number of reads in a second by the clock, and in a second of processor time of the reading thread.
    private func reads(_ keys: [String], _ container: PersistentContainer) throws -> (clock: Double, processor: Double) {
        try container.performAndWait { context in
            var random = SplitMix(5)
            var count = 0.0
            let end = now() + seconds
            let processor = try processorTimed {
                while now() < end {
                    for _ in 0..<100 {
                        guard try context.first(Event.self, where: Event.uid, equals: keys[Int(random.next() % UInt64(keys.count))]) != nil else {
                            throw BenchmarkError("An event is gone.")
                        }
                    }
                    count += 100
                }
            }.seconds
            return (count / seconds, count / processor)
        }
    }
}

/// The moments at which the inserted events of a container's change sequence arrive.
private final class NewsClock: @unchecked Sendable {  // guarded by the condition
    private let condition = NSCondition()
    private var times: [Double] = []

    init(_ container: PersistentContainer) {
        let changes = container.changes()
        Task {
            for await change in changes {
                let time = now()
                self.add(change.inserted.count, time)
            }
        }
    }

    private func add(_ count: Int, _ time: Double) {
        condition.lock()
        times += Array(repeating: time, count: count)
        condition.broadcast()
        condition.unlock()
    }

    /// Waits until this number of events has arrived.
    func wait(_ count: Int) {
        condition.lock()
        while times.count < count { condition.wait() }
        condition.unlock()
    }

    func time(_ index: Int) -> Double {
        condition.lock()
        defer { condition.unlock() }
        return times[index]
    }
}
