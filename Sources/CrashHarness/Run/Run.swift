import Foundation

/// One run of a mode: rounds over seeds until time or count is used up, with what was tried.
final class Run {
    /// Thrown by `trying` when time or count is used up; passes through a mode's round.
    struct IsOver: Error {}

    let mode: any Mode.Type
    let options: HarnessOptions
    private(set) var figures: [String: Int] = [:]
    private(set) var lists: [String: Set<String>] = [:]
    private(set) var rounds = 0
    private var seed: UInt64
    private var current = ""
    private var progress: Progress
    /// Where a supervising process looks for what is being tried.
    private let trail: Trail?
    private let start = ContinuousClock.now
    private var deadline: ContinuousClock.Instant?
    /// Looking at the clock costs more than many a case.
    private var casesUntilClock = 0

    init(_ mode: any Mode.Type, _ options: HarnessOptions) throws {
        if let unknown = options.extras.keys.sorted().first(where: { !mode.extras.contains($0) }) {
            throw UsageError("\(mode.name) has no option --\(unknown)")
        }
        self.mode = mode
        self.options = options
        trail = try options.trail.map { try Trail(path: $0) }
        seed = options.seed ?? UInt64.random(in: 1..<1 << 40)
        progress = Progress(mode.name)
        let seconds = options.seconds ?? (options.count == nil ? 10 : nil)
        deadline = seconds.map { start + .seconds($0) }
        if options.replay != nil { deadline = nil }
    }

    // MARK: What a mode calls

    /// Names the case that is about to be tried, as `--replay` takes it, and counts it, by default in the mode's unit.
    ///
    /// Throws `IsOver` when the run has done enough. A replay calls this only for the case it was asked for.
    func trying(_ name: @autoclosure () -> String, as figure: String? = nil) throws {
        if let count = options.count, figures[mode.unit, default: 0] >= count { throw IsOver() }
        casesUntilClock -= 1
        if casesUntilClock <= 0 { try lookAtClock() }
        current = name()
        trail?.note(seed, current)
        figures[figure ?? mode.unit, default: 0] += 1
    }

    /// Names what is being done, for a case of several long parts: a sign of life to those who watch, and counted as nothing.
    func doing(_ part: String) {
        current = part
        trail?.note(seed, part)
    }

    /// Whether time or count is used up: for a round that adds to the unit by the hundred.
    var isOver: Bool {
        if let count = options.count, figures[mode.unit, default: 0] >= count { return true }
        do {
            try lookAtClock()
            return false
        } catch {
            casesUntilClock = 0
            return true
        }
    }

    /// Whether a case is to be tried: all are, unless one was asked for by name.
    func includes(_ name: @autoclosure () -> String) -> Bool {
        options.replay.map { $0 == name() } ?? true
    }

    /// True when the run is for migrations alone: `--only migrations`.
    var isForMigrations: Bool {
        get throws {
            guard let only = options.extras["only"] else { return false }
            guard only == "migrations" else { throw UsageError("--only takes 'migrations', not '\(only)'") }
            return true
        }
    }

    /// Adds to a figure, such as "nested images".
    func add(_ figure: String, _ count: Int = 1) {
        figures[figure, default: 0] += count
    }

    /// Adds names to a list that the figures show as a count and by name, such as the sync call sites covered.
    func cover(_ list: String, _ name: String) {
        lists[list, default: []].insert(name)
    }

    private func lookAtClock() throws {
        casesUntilClock = 16
        let now = ContinuousClock.now
        if let deadline, now >= deadline { throw IsOver() }
        progress.update(figures[mode.unit, default: 0], mode.unit, now - start, of: share(now))
    }

    private func share(_ now: ContinuousClock.Instant) -> Double {
        if let deadline { return (now - start) / (deadline - start) }
        guard let count = options.count else { return 0 }
        return Double(figures[mode.unit, default: 0]) / Double(count)
    }

    // MARK: Performing

    /// Runs rounds until it is over or something is found; prints figures and returns the exit status.
    func perform() throws -> Int32 {
        Terminal.line("\(mode.name): seed \(seed), commit \(Commit.current)")
        let first = seed
        var finding: (any Error)?
        do {
            while true {
                try mode.round(seed, self)
                rounds += 1
                if options.replay != nil { break }
                seed += 1
            }
        } catch is IsOver {
            rounds += 1
        } catch {
            finding = error
        }
        progress.clear()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        if options.replay == nil { try report(first, seconds, hasFinding: finding != nil) }
        guard let finding else {
            if let replay = options.replay, figures.values.allSatisfy({ $0 == 0 }) {
                throw UsageError("seed \(seed) has no case '\(replay)'")
            }
            return 0
        }
        Terminal.complain("finding: \(finding)\nreplay: \(options.replayCommand(seed, current))")
        return 1
    }

    private func report(_ first: UInt64, _ seconds: Double, hasFinding: Bool) throws {
        var sums = FiguresFile.ModeSums()
        sums.runs = 1
        sums.rounds = rounds
        sums.findings = hasFinding ? 1 : 0
        sums.seconds = Int(seconds.rounded())
        sums.figures = figures
        sums.lists = lists.mapValues { $0.sorted() }
        sums.commits = [Commit.current]
        for name in figures.keys.sorted() { Terminal.line("  \(name): \(figures[name]!.grouped)") }
        for name in lists.keys.sorted() { Terminal.line("  \(name): \(lists[name]!.sorted().joined(separator: ", "))") }
        let rate = Double(figures[mode.unit, default: 0]) / max(seconds, 0.001)
        Terminal.line(
            "  seeds \(first)…\(first + UInt64(max(rounds, 1)) - 1), \(String(format: "%.1f", seconds)) s, "
                + "\(Int(rate).grouped) \(mode.unit) a second")
        if let path = options.figures { try FiguresFile(path).add(sums, to: mode.name) }
    }
}
