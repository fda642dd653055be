import Foundation

/// One run of a mode: rounds with ascending seeds until the limit of time or count is reached. Collects figures.
final class Run {
    /// Thrown by `beginCase` when the limit of time or count is reached. A round rethrows it.
    struct Finished: Error {}

    let mode: any Mode.Type
    let options: HarnessOptions
    private(set) var figures: [String: Int] = [:]
    private(set) var lists: [String: Set<String>] = [:]
    private(set) var rounds = 0
    private var seed: UInt64
    private var current = ""
    private var progress: Progress
    /// The file from which a supervising process reads the current case.
    private let trail: Trail?
    private let start = ContinuousClock.now
    private var deadline: ContinuousClock.Instant?
    /// The number of cases until the clock is read again, because a read of the clock takes longer than many cases.
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

    // MARK: Calls of a mode

    /// Records that a case begins, by its name for `--replay`. Increments a figure, by default the mode's unit.
    ///
    /// Throws `Finished` if the limit is reached. A replay counts only the requested case.
    func beginCase(_ name: @autoclosure () -> String, as figure: String? = nil) throws {
        if let count = options.count, figures[mode.unit, default: 0] >= count { throw Finished() }
        casesUntilClock -= 1
        if casesUntilClock <= 0 { try readClock() }
        current = name()
        trail?.note(seed, current)
        figures[figure ?? mode.unit, default: 0] += 1
    }

    /// Records the current part of a long case as a sign of progress. Counts nothing.
    func beginPart(_ part: String) {
        current = part
        trail?.note(seed, part)
    }

    /// True if the limit of time or count is reached. For a round that counts several hundred operations at once.
    var isFinished: Bool {
        if let count = options.count, figures[mode.unit, default: 0] >= count { return true }
        do {
            try readClock()
            return false
        } catch {
            casesUntilClock = 0
            return true
        }
    }

    /// True if a case is part of this run: each case, or only the one that `--replay` names.
    func includes(_ name: @autoclosure () -> String) -> Bool {
        options.replay.map { $0 == name() } ?? true
    }

    /// True if the option `--only migrations` is set.
    var isForMigrations: Bool {
        get throws {
            guard let only = options.extras["only"] else { return false }
            guard only == "migrations" else { throw UsageError("--only takes 'migrations', not '\(only)'") }
            return true
        }
    }

    /// Adds to a figure, for example "nested images".
    func add(_ figure: String, _ count: Int = 1) {
        figures[figure, default: 0] += count
    }

    /// Adds a name to a list, for example of the covered sync sites. The figures contain the list.
    func cover(_ list: String, _ name: String) {
        lists[list, default: []].insert(name)
    }

    private func readClock() throws {
        casesUntilClock = 16
        let now = ContinuousClock.now
        if let deadline, now >= deadline { throw Finished() }
        progress.update(figures[mode.unit, default: 0], mode.unit, now - start, of: share(now))
    }

    private func share(_ now: ContinuousClock.Instant) -> Double {
        if let deadline { return (now - start) / (deadline - start) }
        guard let count = options.count else { return 0 }
        return Double(figures[mode.unit, default: 0]) / Double(count)
    }

    // MARK: Performing

    /// Runs rounds until the limit is reached or a case fails. Prints the figures and returns the exit status.
    func perform() throws -> Int32 {
        Terminal.printLine("\(mode.name): seed \(seed), commit \(Commit.current)")
        let first = seed
        var finding: (any Error)?
        do {
            while true {
                try mode.round(seed, self)
                rounds += 1
                if options.replay != nil { break }
                seed += 1
            }
        } catch is Finished {
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
        Terminal.printError("finding: \(finding)\nreplay: \(options.replayCommand(seed, current))")
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
        for name in figures.keys.sorted() { Terminal.printLine("  \(name): \(figures[name]!.grouped)") }
        for name in lists.keys.sorted() { Terminal.printLine("  \(name): \(lists[name]!.sorted().joined(separator: ", "))") }
        let rate = Double(figures[mode.unit, default: 0]) / max(seconds, 0.001)
        Terminal.printLine(
            "  seeds \(first)…\(first + UInt64(max(rounds, 1)) - 1), \(String(format: "%.1f", seconds)) s, "
                + "\(Int(rate).grouped) \(mode.unit) a second")
        if let path = options.figures { try FiguresFile(path).add(sums, to: mode.name) }
    }
}
