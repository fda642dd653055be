import HornbeamEngine
import HornbeamThreads
import Testing

@testable import CrashHarness

/// Scheduled threads that use an engine.
@Suite struct ScheduledEngineTests {
    @Test func theSameScheduleGoesTheSameWay() throws {
        let workload = try ScheduledWorkload(seed: 4)
        let schedule = try #require(Schedule("9>0,30>1/5"))
        let first = try workload.perform(schedule)
        #expect(try workload.perform(schedule).trace == first.trace)
        #expect(first.switchCount > 0)
    }

    /// Closing checked whether a commit had been written, and missed the first commit after the opening
    /// while it was being written to the log: the commit was acknowledged, and its log removed.
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

    /// A cleaning thread listed the page files after its checkpoint, and found one that another checkpoint had just removed:
    /// the first checkpoint failed with a missing page file.
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

    /// The checkpoint after a commit entered the turn of the process a second time, while the commit had it and another process asked for it.
    ///
    ///     process 1         process 2
    ///     commits
    ///                       asks for the turn
    ///     checkpoint: waits for the turn that it has
    @Test func aCheckpointAfterACommitDoesNotWaitForTheOwnTurn() throws {
        let writer = ScheduledWorkload.Role.writer(2, isLazy: false)
        let workload = try ScheduledWorkload(seed: 3, roles: [writer, writer], engines: 2)
        for point in 0..<40 {
            let schedule = Schedule(preemptions: [.init(point: point, target: 0)])
            #expect(throws: Never.self, "schedule \(schedule)") { _ = try workload.perform(schedule) }
        }
    }
}
