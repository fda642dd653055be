import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The state table of an open store.
@Suite struct LifecycleTests {
    typealias Table = Lifecycle.Table

    /// The events that lead to a stage.
    private static func table(_ stage: Lifecycle.Stage, hasFailed: Bool) -> Table {
        var table = Table()
        let way = (hasFailed ? [Lifecycle.Event.fail] : []) + [.close, .finish, .end].prefix(Lifecycle.Stage.allCases.firstIndex(of: stage)!)
        for event in way {
            let isAccepted = table.apply(event)
            #expect(isAccepted)
        }
        return table
    }

    private static func allowed(_ table: Table) -> [Lifecycle.Use] { Lifecycle.Use.allCases.filter(table.allows) }

    @Test(arguments: [
        (Lifecycle.Stage.open, [Lifecycle.Use.snapshot, .begin, .commit, .checkpoint], [Lifecycle.Use.snapshot]),
        (.closing, [.commit, .checkpoint], []), (.finishing, [.commit, .lastCheckpoint], []), (.closed, [], []),
    ])
    func eachStateAllowsWhatTheTableSays(_ stage: Lifecycle.Stage, _ sound: [Lifecycle.Use], _ failed: [Lifecycle.Use]) {
        #expect(Self.allowed(Self.table(stage, hasFailed: false)) == sound)
        #expect(Self.allowed(Self.table(stage, hasFailed: true)) == failed)
    }

    @Test(arguments: Lifecycle.Stage.allCases)
    func eachStageAcceptsItsEvents(_ stage: Lifecycle.Stage) {
        let accepted = Lifecycle.Event.allCases.filter { event in
            var table = Self.table(stage, hasFailed: false)
            let before = table
            let isAccepted = table.apply(event)
            #expect(isAccepted == (table != before), "A refused event changes nothing.")
            return isAccepted
        }
        let expected: [Lifecycle.Event] =
            switch stage {
            case .open: [.fail, .close]
            case .closing: [.fail, .finish]
            case .finishing: [.fail, .end]
            case .closed: [.fail]
            }
        #expect(accepted == expected)
    }

    /// The reference derives each answer from the list of accepted events alone.
    @Test(arguments: 0..<50 as Range<UInt64>)
    func randomEventsGiveTheAnswersOfTheReference(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let lifecycle = Lifecycle(path: "s")
        var table = Table()
        var past: [Lifecycle.Event] = []
        for step in 0..<12 {
            let event = Lifecycle.Event.allCases.randomElement(using: &random)!
            let order: [Lifecycle.Event] = [.close, .finish, .end]
            let isNext = event == .fail ? !past.contains(.fail) : order.first { !past.contains($0) } == event
            let isAccepted = table.apply(event)
            #expect(isAccepted == isNext, "seed \(seed)")
            guard isNext else { continue }
            past.append(event)
            switch event {
            case .fail: lifecycle.fail(EngineError(.durabilityLost, "Failure \(step)."))
            case .close: #expect(lifecycle.close())
            case .finish: lifecycle.finish()
            case .end: lifecycle.end()
            }
            let hasFailed = past.contains(.fail)
            let reference: [Lifecycle.Use: Bool] = [
                .snapshot: !past.contains(.close), .begin: !past.contains(.close) && !hasFailed, .commit: !past.contains(.end) && !hasFailed,
                .checkpoint: !past.contains(.finish) && !hasFailed, .lastCheckpoint: past.contains(.finish) && !past.contains(.end) && !hasFailed,
            ]
            for use in Lifecycle.Use.allCases {
                #expect(lifecycle.allows(use) == reference[use], "seed \(seed), \(use) after \(past)")
                let code: EngineError.Code? = reference[use]! ? nil : use != .snapshot && hasFailed ? .durabilityLost : .closed
                #expect(lifecycle.refusal(of: use)?.code == code, "seed \(seed), \(use) after \(past)")
            }
        }
    }

    @Test func theFirstFailureIsReported() {
        let lifecycle = Lifecycle(path: "s")
        lifecycle.fail(EngineError(.durabilityLost, "First."))
        lifecycle.fail(EngineError(.durabilityLost, "Second."))
        #expect(lifecycle.close())
        #expect(!lifecycle.close())
        #expect(lifecycle.refusal(of: .begin)?.message == "First.")
        #expect(lifecycle.refusal(of: .snapshot)?.description == "closed: The store is closed. [s]")
    }

    @Test func aFailureAfterTheClosingIsStillInDoubt() {
        let lifecycle = Lifecycle(path: "s")
        #expect(lifecycle.close())
        lifecycle.finish()
        lifecycle.end()
        #expect(lifecycle.refusal(of: .commit)?.code == .closed)
        lifecycle.fail(EngineError(.durabilityLost, "The sync failed."))
        #expect(lifecycle.refusal(of: .commit)?.code == .durabilityLost)
    }

    @Test func aCheckpointIsRefusedAfterAFailure() throws {
        let disk = SimulatedDisk()
        let store = try TestStore(fileSystem: disk)
        try store.write { _ = try $0.createIndex(named: "t") }
        store.engine.core.pipeline.fail(EngineError(.durabilityLost, "A failure."))
        let before = disk.operationCount
        #expect(throws: EngineError(.durabilityLost, "A failure.")) { try store.engine.checkpoint() }
        #expect(throws: EngineError(.durabilityLost, "A failure.")) { try store.engine.begin() }
        store.engine.maintain()
        #expect(disk.operationCount == before, "nothing is written after a failure")
        #expect(try store.engine.snapshot().treeNames.contains("t"))
        #expect(throws: EngineError(.durabilityLost, "A failure.")) { try store.engine.close() }
    }
}
