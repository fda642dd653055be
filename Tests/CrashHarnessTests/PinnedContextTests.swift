import Hornbeam
import HornbeamEngine
import HornbeamModel
import HornbeamSimulation
import Testing

@testable import CrashHarness

/// A context that is pinned while the disk fails in the save of another one, and the store is opened again.
@Suite struct PinnedContextTests {
    /// ```
    /// writer              pinned
    /// save step 1
    ///                     pins, reads
    /// save step 2 fails
    /// reopen
    ///                     reads, moves
    /// ```
    @Test("QGN-4, SAV-12: a pinned context reads its state until the store is opened again, then throws an error with the remedy, and can be moved",
          arguments: TwoStoreFaultTrial.Fault.allCases.filter { $0 != .isFull })
    func bystander(fault: TwoStoreFaultTrial.Fault) throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let graph = try TwoStoreGraph(on: faults, model: TrialModel.make())
        let (writer, pinned) = (graph.container.newContext(), graph.container.newContext())
        try graph.change(1, in: writer)
        try writer.save()
        try pinned.setQueryGeneration(from: .current)
        let read = try #require(try graph.book(1, 0, pinned))
        #expect(read.title == "book 1")
        try graph.change(2, in: writer)
        faults.add(fault.rule(after: 0))
        #expect(throws: HornbeamError.self) { try writer.save() }
        faults.removeRules()
        try graph.expect(1, in: pinned)
        try graph.coordinator.reopenFailedStores()
        try writer.save()
        do {
            try graph.expect(1, in: pinned)
        } catch let error as HornbeamError {
            #expect(error.code == .snapshotExpired || error.code == .closed)
        }
        #expect(read.title == "book 1")
        try pinned.setQueryGeneration(from: .current)
        #expect(pinned.queryGenerationToken != nil)
        try graph.expect(2, in: pinned)
        #expect(read.title == "after 2")
        try graph.change(3, in: pinned)
        try pinned.save()
        try graph.expect(3, in: pinned)
        try graph.expect(3, in: writer)
        try graph.finish()
    }
}
