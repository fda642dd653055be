import Foundation
import HornbeamEngine
import HornbeamSimulation
import Testing

@testable import CrashHarness

/// A short run of every mode; `Scripts/torture` runs them for a night.
@Suite struct ModeTests {
    /// The exit status of a run in this process: 0 without a finding.
    private static func run(_ mode: any Mode.Type, _ words: [String]) throws -> Int32 {
        try Run(mode, try HarnessOptions([mode.name] + words)).perform()
    }

    @Test("Crashes of an engine, failing calls and crashes of an object graph lose nothing", arguments: [(1, 1000), (14, 300), (15, 100)])
    func simulatedDisksLoseNothing(seed: Int, count: Int) throws {
        #expect(try Self.run(SimulateMode.self, ["--seed", "\(seed)", "--count", "\(count)"]) == 0)
    }

    @Test(
        "Two faults in a row lose nothing: kills, failed syncs and full disks before a crash, two failing calls",
        arguments: [(0, 400), (1, 400), (2, 300), (7, 40)])
    func pairsOfFaultsLoseNothing(seed: Int, count: Int) throws {
        #expect(try Self.run(PairsMode.self, ["--seed", "\(seed)", "--count", "\(count)"]) == 0)
    }

    @Test("A process that makes a copy of a store and is killed anywhere leaves the store whole, and a whole copy or none",
          arguments: KilledCopyTrial.Kind.allCases)
    func killedCopiesAreWholeOrNotThere(kind: KilledCopyTrial.Kind) throws {
        let run = try Run(PairsMode.self, try HarnessOptions(["pairs", "--seed", "15", "--count", "1000000"]))
        try KilledCopyTrial(workload: GraphWorkload(seed: 15), kind: kind, seed: 15, stride: 24, crashStride: 24).perform(run)
        #expect(run.figures["copies that were killed", default: 0] > 0)
    }

    @Test func workloadsUseSegmentsOfTheLogAgain() throws {
        let used = try (1...40).count { seed in
            let disk = SimulatedDisk()
            let faults = FaultInjector(disk)
            try SimulatedWorkload(seed: UInt64(seed)).perform(on: faults, marking: disk)
            let named = faults.count(of: [.rename], kind: .spare)
            return named > faults.count(of: [.create], kind: .spare)
        }
        #expect(used > 10)
    }

    @Test(
        "After a failed sync a context keeps its changes; once the store is opened again, its save neither loses nor doubles the in-doubt one",
        arguments: GraphFaultTrial.Fault.allCases)
    func anInDoubtSaveIsNeitherLostNorDoubled(fault: GraphFaultTrial.Fault) throws {
        let run = try Run(SimulateMode.self, try HarnessOptions(["simulate", "--seed", "7", "--count", "1000000"]))
        try GraphFaultTrial.all(of: GraphWorkload(seed: 7), run, faults: [fault], oneOf: 4)
        #expect(run.figures["failing saves of object graphs", default: 0] > 5)
    }

    @Test(
        "SAV-11: a save over two stores that fails anywhere, promising, deciding or carrying out, is neither lost nor doubled nor halved",
        arguments: TwoStoreFaultTrial.Fault.allCases)
    func aSaveOverTwoStoresIsNeitherLostNorDoubled(fault: TwoStoreFaultTrial.Fault) throws {
        let run = try Run(SimulateMode.self, try HarnessOptions(["simulate", "--seed", "7", "--count", "1000000"]))
        try TwoStoreFaultTrial.all(run, faults: [fault], oneOf: 5)
        #expect(run.figures["failing saves over two stores", default: 0] >= 12)
        #expect(fault != .isFull || run.figures["saves that ended in a part of the stores", default: 0] > 1, "\(run.figures)")
    }

    /// With these seeds the loss is found in the first workload.
    @Test(arguments: SyncSite.allCases)
    func withoutAnyOneSyncSomethingIsLost(site: SyncSite) throws {
        let seed =
            switch site {
            case .segmentEnd: 6
            case .pages: 8
            case .largeValues: 3
            case .pageFileNames: 4
            case .backup: 10
            default: 1
            }
        #expect(try Self.run(SyncsMode.self, ["--seed", "\(seed)", "--replay", site.rawValue]) == 0)
    }

    /// All structural damage of one small store, then a sample of its bits.
    @Test func damageGivesTheRightAnswerAnOlderOneOrAnError() throws {
        #expect(try Self.run(FlipMode.self, ["--seed", "1", "--count", "2500"]) == 0)
    }

    @Test("Stores of processes killed at engine and at object-graph level have all acknowledged commits", arguments: [2, 3])
    func killedProcessesKeepWhatTheyAcknowledged(seed: Int) throws {
        #expect(try Self.run(KillMode.self, ["--seed", "\(seed)", "--count", "8"]) == 0)
    }

    /// Every fourth seed kills at each step, the others at random moments.
    @Test("DOC-1: documents of processes killed at each step and at random moments have all acknowledged saves and autosaves", arguments: [(4, 60), (5, 6)])
    func killedDocumentsKeepWhatTheyAcknowledged(seed: Int, count: Int) throws {
        #expect(try Self.run(DocumentMode.self, ["--seed", "\(seed)", "--count", "\(count)"]) == 0)
    }

    @Test("Processes that write one store in turns lose no acknowledged commit when some are killed and stopped")
    func processesTakeTurns() throws {
        #expect(try Self.run(ProcessesMode.self, ["--seed", "1", "--count", "1"]) == 0)
    }

    @Test func threadsThatTakeTurnsLoseNothing() throws {
        #expect(try Self.run(SchedulesMode.self, ["--seed", "7", "--count", "60"]) == 0)
    }

    /// Every fourth seed uses the object graph.
    @Test("Engine and object graph give the results of simple reference models", arguments: [(1, 4000), (2, 4000), (8, 4000), (3, 200), (7, 200)])
    func answersAreThoseOfAModel(seed: Int, count: Int) throws {
        #expect(try Self.run(DifferentialMode.self, ["--seed", "\(seed)", "--count", "\(count)"]) == 0)
    }

    @Test("Numbers of blocks at their extremes, with valid checksums, give a result or a named error")
    func hostileBlocksAreTaken() throws {
        #expect(try Self.run(HostileMode.self, ["--seed", "1", "--count", "500"]) == 0)
    }

    @Test func hostileBytesAreTaken() throws {
        #expect(try Self.run(FuzzMode.self, ["--seed", "1", "--count", "1200"]) == 0)
    }
}
