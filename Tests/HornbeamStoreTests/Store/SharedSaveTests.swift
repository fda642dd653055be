import Foundation
import HornbeamModel
import HornbeamThreads
import Testing
@testable import HornbeamEngine
@testable import HornbeamSimulation
@testable import HornbeamStore

/// Concurrent saves of several threads under many schedules: each is executed once, with the result that it has alone.
@Suite("Shared saves")
struct SharedSaveTests {
    private static let threads = 3
    private static let rounds = 2
    private static let schedulesForSeed = ProcessInfo.processInfo.environment["HORNBEAM_SCHEDULES"].flatMap { Int($0) } ?? 6

    private struct HistoryIsGone: Error {}

    /// The result of a run.
    private struct Outcome {
        var stopReason: String?
        var problems: [String] = []
    }

    /// Each thread inserts its own authors, and one whose name another thread inserts too.
    private func run(_ schedule: Schedule, history: Bool) throws -> (Outcome, points: Int) {
        var options = Store.Options()
        options.backgroundCheckpoints = false
        if !history { options.history = nil }
        let library = try Library(options: options)
        _ = try library.store.reserveKeys(1)
        let heard = Heard()
        let observation = library.store.observe { heard.add($0) }
        defer { observation.cancel() }
        let problems = Guarded<[String]>([])
        let numbers = Guarded<[UInt64]>([])
        let refusals = Guarded(0)
        // A writer outside the groups, which needs the writer's turn too.
        let other = Interleaving.Part("other") {
            _ = try library.store.reserveKeys(100)
            var changes = ChangeSet()
            for number in 0..<65 { _ = try library.add("Desk", ["place": .string("\(number)")], to: &changes) }
            _ = try library.store.save(changes)
            try library.store.checkpoint()
        }
        let parts = (0..<Self.threads).map { thread in
            Interleaving.Part("\(thread)") {
                for round in 0..<Self.rounds {
                    let isContended = round == 1
                    var changes = ChangeSet()
                    let name = isContended ? "wanted" : "\(thread) \(round)"
                    let object = try library.add("Author", ["name": .string(name)], to: &changes)
                    do {
                        let number = try library.store.save(changes).transaction
                        numbers.withLock { $0.append(number) }
                        let isTold = heard.changes.contains { $0.transaction == number && $0.inserted == [object] }
                        if !isTold { problems.withLock { $0.append("\(name) returned before it was told") } }
                        if try library.version(object) != 1 { problems.withLock { $0.append("\(name) cannot be read") } }
                    } catch is SaveConflicts {
                        refusals.withLock { $0 += 1 }
                    }
                }
            }
        }
        let interleaving = Interleaving(schedule)
        let result = interleaving.run(parts + [other])
        var outcome = Outcome(stopReason: result.stopReason, problems: problems.withLock(\.self))
        if result.stopReason != nil { return (outcome, result.points) }
        outcome.problems += result.failures.map { "\($0.name) failed: \($0.error)" }
        let given = numbers.withLock(\.self).sorted()
        if Set(given).count != given.count { outcome.problems.append("two saves have one number") }
        let told = heard.changes.filter { $0.inserted.count == 1 }.map(\.transaction)
        if told != given { outcome.problems.append("told of \(told), saved \(given)") }
        let refused = refusals.withLock(\.self)
        if refused != Self.threads - 1 { outcome.problems.append("\(refused) saves were refused") }
        let count = try library.store.snapshot().count(FetchDescription(entityName: "Author"))
        if count != Self.threads * Self.rounds - refused { outcome.problems.append("\(count) rows are there") }
        if history {
            guard case .records(let records, _) = try library.store.history(after: nil) else { throw HistoryIsGone() }
            let recorded = records.map(\.position.number).filter { given.contains($0) }
            if recorded != given { outcome.problems.append("history has \(recorded), saved \(given)") }
        }
        outcome.problems += try library.store.check().problems.map { "\($0)" }
        return (outcome, result.points)
    }

    // large    small    other
    // leads
    //          is executed
    //                   is executed
    // the large value cannot be synced: nothing was written
    //          writes   writes
    @Test("SAV-9: an error of one save is not reported to the other saves of its batch", arguments: 0..<12)
    func failuresStayWithTheirSaves(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<Self.schedulesForSeed {
            let preemptions = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                Schedule.Preemption(point: Int.random(in: 0..<300, using: &random), target: Int.random(in: 0..<2, using: &random))
            }
            let schedule = Schedule(preemptions: preemptions, seed: UInt64.random(in: 0..<1 << 20, using: &random))
            let problems = try runBesideAFailure(schedule)
            #expect(problems.isEmpty, "schedule \(schedule)")
        }
    }

    private func runBesideAFailure(_ schedule: Schedule) throws -> [String] {
        let faults = FaultInjector(MemoryFileSystem())
        var options = Store.Options()
        options.backgroundCheckpoints = false
        options.fileSystem = faults
        options.engine.pageSize = 4096
        let library = try Library(options: options)
        try library.insert("Desk", ["place": "first"])
        faults.add(FaultRule(.failSyncKeepingNew, calls: [.sync], kind: .pages, isSticky: true))
        let problems = Guarded<[String]>([])
        func part(_ name: String, _ text: String, fails: Bool) -> Interleaving.Part {
            Interleaving.Part(name) {
                for _ in 0..<2 {
                    do {
                        try library.insert("Desk", ["place": .string(text)])
                        if fails { problems.withLock { $0.append("\(name) was saved") } }
                    } catch {
                        if !fails { problems.withLock { $0.append("\(name) was told \(error)") } }
                    }
                }
            }
        }
        let large = String(repeating: "x", count: 2_000)
        let result = Interleaving(schedule).run([
            part("large", large, fails: true), part("small", "a", fails: false), part("other", "b", fails: false),
        ])
        faults.removeRules()
        if let stopReason = result.stopReason { return [stopReason] }
        let count = try library.store.snapshot().count(FetchDescription(entityName: "Desk"))
        return problems.withLock(\.self) + (count == 5 ? [] : ["\(count) rows are there"])
    }

    @Test("SAV-9: a save has its own published change, history record and result, whichever thread executes it", arguments: 0..<24)
    func sharedSavesAreAsIfAlone(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let points = try run(Schedule(), history: seed % 2 == 0).points
        for _ in 0..<Self.schedulesForSeed {
            let preemptions = (0..<Int.random(in: 1...5, using: &random)).map { _ in
                Schedule.Preemption(
                    point: Int.random(in: 0..<points, using: &random), target: Int.random(in: 0..<Self.threads, using: &random))
            }
            let schedule = Schedule(preemptions: preemptions, seed: UInt64.random(in: 0..<1 << 20, using: &random))
            let outcome = try run(schedule, history: seed % 2 == 0).0
            #expect(outcome.stopReason == nil && outcome.problems.isEmpty, "schedule \(schedule)")
        }
    }
}
