import HornbeamThreads
import Synchronization
import Testing

@testable import CrashHarness

/// Scheduled threads: faults that need an unlucky moment are found in each run.
@Suite struct InterleavingTests {
    /// Runs a case under all schedules of at most two preemptions; returns those with a fault.
    static func explore(
        _ make: () -> (parts: [Interleaving.Part], isWell: () -> Bool)
    ) -> (tried: Int, bad: [(Schedule, Interleaving.Outcome)]) {
        let first = Interleaving(Schedule()).run(make().parts)
        let all = ScheduleExplorer(seed: 1, points: first.points, others: 1).all()
        var bad: [(Schedule, Interleaving.Outcome)] = []
        for schedule in all {
            let interleaving = Interleaving(schedule)
            let (parts, isWell) = make()
            let outcome = interleaving.run(parts)
            if outcome.stopReason != nil || !isWell() { bad.append((schedule, outcome)) }
            if outcome.stopReason != nil { break }
        }
        return (all.count, bad)
    }

    /// A counter that two threads increment, with or without a lock around reading and writing.
    private static func counter(isLocked: Bool) -> (parts: [Interleaving.Part], isWell: () -> Bool) {
        let monitor = Monitor()
        let counter = Counter()
        let raise: @Sendable () -> Void = {
            if isLocked { monitor.lock() }
            let seen = counter.value.load(ordering: .relaxed)
            Interleaving.point("between reading and writing")
            counter.value.store(seen + 1, ordering: .relaxed)
            if isLocked { monitor.unlock() }
        }
        return ([.init("first", raise), .init("second", raise)], { counter.value.load(ordering: .relaxed) == 2 })
    }

    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
    }

    //  first    second
    //  read 0
    //           read 0, write 1
    //  write 1
    @Test func aPlantedRaceIsFound() throws {
        let (_, bad) = Self.explore { Self.counter(isLocked: false) }
        let (schedule, outcome) = try #require(bad.first)
        #expect(schedule.description == "0>0/0")
        #expect(
            outcome.switches.map(\.description) == [
                "0: first is stopped at between reading and writing, second goes on", "1: second has ended, first goes on",
            ])
    }

    @Test func aLockMakesAnEndOfTheRace() {
        let (tried, bad) = Self.explore { Self.counter(isLocked: true) }
        #expect(tried > 3)
        #expect(bad.isEmpty)
    }

    //  first     second
    //  lock a
    //            lock b
    //            lock a …
    //  lock b …
    @Test func aDeadlockIsFoundAndNamesTheLocks() throws {
        let (_, bad) = Self.explore {
            let a = Monitor(file: "a", line: 1)
            let b = Monitor(file: "b", line: 2)
            let first = Interleaving.Part("first") { a.withLock { b.withLock {} } }
            let second = Interleaving.Part("second") { b.withLock { a.withLock {} } }
            return ([first, second], { true })
        }
        #expect(
            try #require(bad.first).1.stopReason == """
                no thread can go on:
                  first waits for the lock made at b:2, held by second
                  second waits for the lock made at a:1, held by first
                """)
    }

    //  sleeper        waker
    //  sees nothing
    //                 signals
    //  waits forever
    @Test func aLostWakeUpIsFound() throws {
        let (_, bad) = Self.explore {
            let monitor = Monitor(file: "m", line: 1)
            let wake = Counter()
            let sleeper = Interleaving.Part("sleeper") {
                guard wake.value.load(ordering: .relaxed) == 0 else { return }
                Interleaving.point("between looking and waiting")
                monitor.lock()
                monitor.wait(.progress)
                monitor.unlock()
            }
            let waker = Interleaving.Part("waker") {
                wake.value.store(1, ordering: .relaxed)
                monitor.withLock { monitor.signal(.progress) }
            }
            return ([sleeper, waker], { true })
        }
        #expect(
            try #require(bad.first).1.stopReason == """
                no thread can go on:
                  sleeper waits for a signal to the lock made at m:1
                  waker has ended
                """)
    }

    @Test(arguments: ["/0", "12>0/0", "12>0,40>1/7"])
    func aScheduleIsItsText(_ text: String) throws {
        #expect(try #require(Schedule(text)).description == text)
    }

    @Test(arguments: ["", "12", "12>0", "x>0/1", "12>/1", "12>0/x"])
    func otherTextIsNoSchedule(_ text: String) {
        #expect(Schedule(text) == nil)
    }

    @Test func twoPreemptionsMakeAsManySchedulesAsCounted() {
        let explorer = ScheduleExplorer(seed: 1, points: 7, others: 3)
        let all = explorer.all()
        #expect(all.count == explorer.countWithTwoPreemptions)
        #expect(Set(all).count == all.count)
    }
}
