import HornbeamEngine
import HornbeamThreads

/// Runs writers, readers, checkpoints and upkeep in the orders that a few preemptions produce.
///
/// Most concurrency errors need at most two preemptions at the right points. For a small workload, all schedules with up to two preemptions
/// are run. For other workloads, a random sample is run, which includes some schedules with more preemptions.
enum SchedulesMode: Mode {
    static let name = "schedules"
    static let summary = "threads that take turns in chosen orders: races, lost wake-ups, deadlocks"
    static let unit = "schedules"
    static let extras = ["only"]

    /// The number of schedules for a workload that is not explored completely.
    private static let samplesPerRound = 600
    /// A workload with at most this number of schedules with two preemptions is explored completely.
    private static let fullRoundMax = 12_000
    /// The disk is crashed after one schedule out of this number.
    private static let crashEvery = 24

    static func round(_ seed: UInt64, _ run: Run) throws {
        // `--only processes`: two engines with two commits each, in all schedules with up to two preemptions.
        let isPair = isPair(run)
        let workload = try isPair
            ? ScheduledWorkload(seed: seed, roles: [.writer(2, isLazy: false), .writer(2, isLazy: false)], engines: 2) : ScheduledWorkload(seed: seed)
        if let text = run.options.replay {
            let parts = text.split(separator: "!", omittingEmptySubsequences: false)
            if parts.count == 2, let calls = Int(parts[1]) { return try replayDeath(parts[0], calls, workload) }
            guard let schedule = Schedule(text) else { throw UsageError("'\(text)' is not a schedule") }
            return try replay(schedule, workload, run)
        }
        let first = try workload.perform(Schedule())
        guard try workload.perform(Schedule()).trace == first.trace else {
            throw Finding("two runs of the same schedule differ; a replay would not repeat the run")
        }
        var explorer = ScheduleExplorer(seed: seed, points: first.points, others: workload.threadCount - 1)
        for role in workload.roles { run.cover("kinds of threads", role.name) }
        if workload.engineCount > 1 { run.add("workloads of two engines") }
        if isPair || explorer.countWithTwoPreemptions <= fullRoundMax {
            run.add("workloads explored in full")
            for (number, schedule) in explorer.all().enumerated() {
                try check(schedule, workload, run)
                if isPair { try end(schedule, number, workload, run) }
            }
        } else {
            for _ in 0..<samplesPerRound { try check(explorer.sample(), workload, run) }
        }
    }

    private static func isPair(_ run: Run) -> Bool { run.options.extras["only"] == "processes" }

    private static func check(_ schedule: Schedule, _ workload: ScheduledWorkload, _ run: Run) throws {
        try run.beginCase(schedule.description)
        let result = try workload.perform(schedule)
        run.add("points", result.points)
        run.add("switches", result.switchCount)
        run.add(schedule.preemptions.count > 2 ? "schedules of 3 to 6 preemptions" : "schedules of at most 2 preemptions")
        if run.figures[unit, default: 0] % (isPair(run) ? 10 * crashEvery : crashEvery) == 0 {
            run.add("crash images", try workload.crash(result.disk))
        }
    }

    /// Ends a schedule of two processes early. Without a preemption: by power failures at each operation of the disk. With one: at each 16th
    /// operation, beginning with another one for each schedule. Both also by the death of a process at each of its calls of the file system. With two
    /// preemptions: by death at one of the calls, another one for each schedule.
    private static func end(_ schedule: Schedule, _ number: Int, _ workload: ScheduledWorkload, _ run: Run) throws {
        if schedule.preemptions.count > 1 {
            let calls = number % callsMax
            run.beginPart("\(schedule)!\(calls)")
            if try workload.performDeath(schedule, after: calls) { run.add("deaths of a process") }
            return
        }
        let stride = schedule.preemptions.isEmpty ? 1 : 16
        run.add("crash images", try workload.crash(try workload.perform(schedule).disk, start: number % stride, stride: stride))
        var calls = 0
        run.beginPart("\(schedule)!\(calls)")
        while try workload.performDeath(schedule, after: calls) {
            run.add("deaths of a process")
            calls += 1
            run.beginPart("\(schedule)!\(calls)")
        }
    }

    /// More calls of the file system than an engine makes for two commits.
    private static let callsMax = 160

    /// `text`: a schedule, and after `!` the number of calls before the death of a process.
    private static func replayDeath(_ text: Substring, _ calls: Int, _ workload: ScheduledWorkload) throws {
        guard let schedule = Schedule(String(text)) else { throw UsageError("'\(text)' is not a schedule") }
        _ = try workload.performDeath(schedule, after: calls)
    }

    private static func replay(_ schedule: Schedule, _ workload: ScheduledWorkload, _ run: Run) throws {
        try run.beginCase(schedule.description)
        Terminal.printLine(workload.description)
        let result = try workload.perform(schedule)
        Terminal.printLine(result.trace)
        run.add("crash images", try workload.crash(result.disk))
    }
}
