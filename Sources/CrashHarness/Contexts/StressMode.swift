import Foundation
import Hornbeam

/// Contexts on several threads save overlapping changes of one graph concurrently. Afterwards, every acknowledged increment
/// must be stored, or a merge report must list it as lost.
enum StressMode: Mode {
    static let name = "stress"
    static let summary = "1 to 1,000 contexts that save overlapping changes of one graph, on disk and in memory"
    static let unit = "saves"
    static let extras = ["steps", "threads"]
    /// The number of threads in most rounds.
    private static let usual = 8

    static func round(_ seed: UInt64, _ run: Run) throws {
        let threads = run.options.extras["threads"].flatMap { Int($0) } ?? threads(seed)
        // With fewer threads, each thread executes more steps.
        let steps = max(2, (run.options.extras["steps"].flatMap { Int($0) } ?? 60) * usual / threads)
        let stack = try StressStack(inMemory: seed % 2 == 1)
        defer { stack.remove() }
        let tally = try stack.work(seed: seed, threads: threads, steps: steps)
        try stack.judge(tally)
        try stack.check()
        run.add("saves with conflicts", tally.conflicts)
        run.add("saves refused", tally.refused)
        run.add("increments reported lost", tally.reportedLost)
        let attempts = tally.saves + tally.refused
        guard threads < usual || tally.conflicts * 10 >= attempts * 3 else {
            throw Finding("only \(tally.conflicts) of \(attempts) saves had a conflict: the load is too low")
        }
        run.add("threads", threads)
        for number in 0..<attempts { try run.beginCase("save \(number)") }
    }

    /// The usual number, and for every fourth seed another one.
    private static func threads(_ seed: UInt64) -> Int {
        seed % 4 == 3 ? [1, 128, 200, 1000][Int(seed / 4 % 4)] : usual
    }
}

/// The sums of what the workers have observed.
struct StressTally: Sendable, Codable {
    /// Acknowledged saves.
    var saves = 0
    /// Saves that threw a conflict.
    var refused = 0
    /// Saves with a conflict, refused or not.
    var conflicts = 0
    /// The expected sums of `value` and of `tally` over all counters.
    var value = 0
    var tally = 0
    /// Increments that merge reports listed as lost.
    var reportedLost = 0
    var marks = 0

    mutating func add(_ other: StressTally) {
        saves += other.saves
        refused += other.refused
        conflicts += other.conflicts
        value += other.value
        tally += other.tally
        reportedLost += other.reportedLost
        marks += other.marks
    }
}

/// The model: counters in groups, and marks that are inserted and deleted.
enum StressModel {
    @Entity final class Counter: ManagedObject {
        @Attribute(.unique) var name: String
        /// Incremented by reading, adding and writing. Two concurrent increments conflict, and the merge policy decides.
        var value = 0
        /// Incremented in the same way, with a merge rule that adds both increments.
        @Attribute(merge: .sum) var tally = 0
        var group: Group?
        var marks: ManagedSet<Mark>
    }

    @Entity final class Group: ManagedObject {
        var name: String
        var counters: ManagedSet<Counter>
    }

    @Entity final class Mark: ManagedObject {
        @Attribute(.indexed) var owner = 0
        var counter: Counter?
    }

    static let classes: [ManagedObject.Type] = [Counter.self, Group.self, Mark.self]

    static func model() throws -> ManagedObjectModel { try ManagedObjectModel(for: classes) }
}
