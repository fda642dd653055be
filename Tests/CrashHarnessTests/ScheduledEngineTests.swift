import HornbeamEngine
import HornbeamThreads
import Testing

@testable import CrashHarness

/// Threads of an engine that take turns.
@Suite struct ScheduledEngineTests {
    @Test func theSameScheduleGoesTheSameWay() throws {
        let workload = try ScheduledWorkload(seed: 4)
        let schedule = try #require(Schedule("9>0,30>1/5"))
        let first = try workload.perform(schedule)
        #expect(try workload.perform(schedule).trace == first.trace)
        #expect(first.switchCount > 0)
    }

    /// Closing asked whether anything had been written so far, and took the first commit after the opening for
    /// nothing when it was just on its way into the log: the commit was acknowledged, and its log removed.
    ///
    ///     writer            closer
    ///     queues the first
    ///                       sees that nothing was written
    ///     writes, returns
    ///                       removes the log
    @Test func aCommitOnItsWayOutlivesTheClosing() throws {
        let workload = try ScheduledWorkload(seed: 3, roles: [.writer(1, isLazy: false), .closer])
        let points = try workload.perform(Schedule()).points
        for point in 0..<points {
            let schedule = Schedule(preemptions: [.init(point: point, target: 0)])
            #expect(throws: Never.self, "schedule \(schedule)") { _ = try workload.perform(schedule) }
        }
        #expect(points > 10)
    }

    /// A cleaning thread lists the page files after its checkpoint, and found one that another checkpoint had just removed:
    /// the first checkpoint failed with a page file that was missing.
    ///
    ///     checkpoint        writer
    ///     lists the files
    ///                       commits, checkpoints, removes a file
    ///     opens it
    @Test func aFileThatWentWhileFilesWereListedIsNotMissing() throws {
        let workload = try ScheduledWorkload(seed: 2002)
        for second in 121..<171 {
            let schedule = Schedule(preemptions: [.init(point: 120, target: 0), .init(point: second, target: 0)])
            #expect(throws: Never.self, "schedule \(schedule)") { _ = try workload.perform(schedule) }
        }
    }
}
