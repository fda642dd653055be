import HornbeamThreads
import Testing

@testable import CrashHarness
@testable import HornbeamEngine

/// The turns of two processes with their threads, in chosen orders of the threads.
@Suite struct ProcessTurnScheduleTests {
    /// The users of both processes, and faults.
    private final class Log: Sendable {
        struct Content {
            var users = [0, 0]
            var served = 0
            var faults: [String] = []
        }

        let content = Guarded(Content())

        func add(fault: String) { content.withLock { $0.faults.append(fault) } }
    }

    /// One process.
    private final class Member: Sendable {
        struct Record {
            /// The number of threads that have not ended.
            var threads: Int
            /// The threads that call `enter`.
            var entering: Set<Int> = []
            /// The threads that waited when the process got the turn and have not used it yet; none if it is unknown whether all threads that called
            /// `enter` waited.
            var due: Set<Int> = []
        }

        let number: Int
        let turn: ProcessTurn
        let log: Log
        let record: Guarded<Record>

        init(_ number: Int, _ setting: Setting, _ locks: SharedMemoryLocks, _ log: Log) {
            self.number = number
            self.log = log
            record = Guarded(Record(threads: setting.threads[number]))
            turn = ProcessTurn(
                locks.join("s") { true }, path: "s", usesThread: true, limit: 1 << 60, turnLength: setting.turnLength, pauseMax: 20_000)
            // The turn keeps its member alive until it is ended.
            turn.start(
                .init(takeOver: { [self] in takeOver() }, handOver: { [self] in handOver() }, catchUp: { false }), isHeld: false,
                startsThread: false)
            if setting.follows { turn.follow() }
        }

        private func takeOver() {
            expectNoUsers("at its beginning")
            let waiters = turn.monitor.withLock { unsafe turn.state.waiters }
            record.withLock { $0.due = $0.entering.count == waiters ? $0.entering : [] }
        }

        private func handOver() {
            expectNoUsers("at its end")
            let missed = record.withLock(\.due)
            if !missed.isEmpty { log.add(fault: "the threads \(missed) waited for a turn and did not get it") }
        }

        private func expectNoUsers(_ place: String) {
            log.content.withLock { if $0.users != [0, 0] { $0.faults.append("the turn has users \($0.users) \(place)") } }
        }

        /// Uses the turn `uses` times. The last thread ends the turn.
        func run(_ thread: Int, uses: Int, holds: Bool) throws {
            for use in 0..<uses {
                record.withLock { _ = $0.entering.insert(thread) }
                let holdsTurn = holds && use == 0
                if holdsTurn { try turn.hold() } else { try turn.enter() }
                record.withLock { record in
                    record.entering.remove(thread)
                    record.due.remove(thread)
                }
                begin()
                if holdsTurn {
                    try turn.enter()
                    turn.exit()
                }
                log.content.withLock { $0.users[number] -= 1 }
                if holdsTurn { turn.release() } else { turn.exit() }
            }
            let isLast = record.withLock { record in
                record.threads -= 1
                return record.threads == 0
            }
            if isLast {
                _ = turn.end()
                turn.lock.release()
            }
        }

        private func begin() {
            log.content.withLock { log in
                log.users[number] += 1
                log.served += 1
                if log.users[1 - number] > 0 { log.faults.append("both processes have users: \(log.users)") }
            }
        }
    }

    struct Setting: Sendable {
        let threads: [Int]
        let uses: Int
        /// In nanoseconds; the time of a point is 1000.
        let turnLength: UInt64
        var follows = false
        var holds = false
    }

    private static let settings = [
        Setting(threads: [3, 1], uses: 2, turnLength: 0), Setting(threads: [3, 1], uses: 3, turnLength: 30_000),
        Setting(threads: [2, 2], uses: 2, turnLength: 60_000, follows: true), Setting(threads: [2, 1], uses: 2, turnLength: 0, follows: true, holds: true),
        Setting(threads: [2, 2], uses: 2, turnLength: 30_000, holds: true),
    ]

    /// Runs the threads of both processes in the order of a schedule. The number of points, and the faults.
    private static func run(_ setting: Setting, _ schedule: Schedule) -> (points: Int, faults: [String]) {
        let interleaving = Interleaving(schedule)
        let log = Log()
        let locks = SharedMemoryLocks()
        let members = (0..<2).map { Member($0, setting, locks, log) }
        var parts = members.map { member in Interleaving.Part("thread of process \(member.number)") { member.turn.serve() } }
        for member in members {
            for thread in 0..<setting.threads[member.number] {
                parts.append(
                    Interleaving.Part("user \(thread) of process \(member.number)") {
                        try member.run(thread, uses: setting.uses, holds: setting.holds && thread == 0)
                    })
            }
        }
        let outcome = interleaving.run(parts)
        var faults = outcome.failures.map { "\($0.name): \($0.error)" }
        if let reason = outcome.stopReason { return (outcome.points, [reason]) }
        let (served, others) = log.content.withLock { ($0.served, $0.faults) }
        faults += others
        let expected = setting.threads.reduce(0) { $0 + $1 } * setting.uses
        if served != expected { faults.append("\(served) of \(expected) users had the turn") }
        return (outcome.points, faults)
    }

    @Test("threads that waited use the turn; two processes never have it", arguments: settings.indices)
    func threadsThatWaitedUseTheTurn(index: Int) {
        let setting = Self.settings[index]
        let first = Self.run(setting, Schedule())
        #expect(first.points > 50 && first.faults == [], "\(setting)")
        var explorer = ScheduleExplorer(seed: UInt64(index) + 1, points: first.points, others: setting.threads.reduce(1) { $0 + $1 })
        for _ in 0..<1000 {
            let schedule = explorer.sample()
            #expect(Self.run(setting, schedule).faults == [], "setting \(index), schedule \(schedule)")
        }
    }
}
