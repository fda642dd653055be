import Foundation
import Hornbeam
import HornbeamEngine
import HornbeamSimulation

/// The work of one thread: reads two counters, increments them, and saves after a short pause.
struct StressWorker {
    typealias Counter = StressModel.Counter
    typealias Mark = StressModel.Mark

    private(set) var tally = StressTally()
    private let stack: StressStack
    private let context: ManagedObjectContext
    private let number: Int
    private var generator: SimulationRandom
    private var marks: [ManagedObjectID] = []

    init(_ stack: StressStack, _ context: ManagedObjectContext, _ number: Int, _ seed: UInt64) {
        self.stack = stack
        self.context = context
        self.number = number
        generator = SimulationRandom(seed: seed &* 31 &+ UInt64(number))
    }

    mutating func step() throws {
        let chosen = stack.counters.shuffled(using: &generator).prefix(2)
        let counters = try chosen.map { try context.existingObject(Counter.self, with: $0) }
        for counter in counters {
            counter[Counter.value] += 1
            counter[Counter.tally] += 1
        }
        if Int.random(in: 0..<4, using: &generator) == 0, let id = stack.groups.randomElement(using: &generator) {
            counters[0][Counter.group] = try context.existingObject(StressModel.Group.self, with: id)
        }
        let new = Mark(context: context)
        new[Mark.owner] = number
        new[Mark.counter] = counters[1]
        let goes = marks.count > 4 ? marks.first : nil
        if let goes { context.delete(try context.existingObject(with: goes)) }
        usleep(UInt32.random(in: 0..<1500, using: &generator))
        do {
            try context.save()
            acknowledge(counters)
            if goes != nil { marks.removeFirst() } else { tally.marks += 1 }
            marks.append(new.objectID)
        } catch let error as HornbeamError where error.code == .mergeConflict {
            tally.refused += 1
            tally.conflicts += 1
            context.rollback()
            try context.mergeChanges()
        }
    }

    /// Adds the effect of a save to the expected sums: an increment of one for each counter, unless the merge report contains another result.
    private mutating func acknowledge(_ counters: [Counter]) {
        let report = context.lastMergeReport
        tally.saves += 1
        if !report.properties.isEmpty { tally.conflicts += 1 }
        for counter in counters {
            let value = growth(of: "value", counter, report)
            tally.value += value
            if value != 1 { tally.reportedLost += 1 - value }
            tally.tally += growth(of: "tally", counter, report)
        }
    }

    /// The amount by which a save increased a property: the result of the last decision in the merge report, minus the stored value at that
    /// time; 1 without a decision.
    private func growth(of key: String, _ counter: Counter, _ report: MergeReport) -> Int {
        let decided = report.properties.last { $0.conflict.key == key && $0.conflict.objectID == counter.objectID }
        guard let decided, case .int(let result) = decided.result, case .int(let theirs) = decided.conflict.theirs else { return 1 }
        return Int(result - theirs)
    }
}
