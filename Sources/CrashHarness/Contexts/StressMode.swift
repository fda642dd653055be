import Foundation
import Hornbeam

/// Contexts save overlapping changes of one graph at once, each on a thread of its own; afterwards every increment that was acknowledged
/// is there, and every one that is not there was reported lost.
enum StressMode: Mode {
    static let name = "stress"
    static let summary = "1 to 1,000 contexts that save overlapping changes of one graph, on disk and in memory"
    static let unit = "saves"
    static let extras = ["steps", "threads"]
    /// The threads of most rounds, in which the work of a round is counted.
    private static let usual = 8

    static func round(_ seed: UInt64, _ run: Run) throws {
        let threads = run.options.extras["threads"].flatMap { Int($0) } ?? threads(seed)
        // A round is about as much work, however many threads share it.
        let steps = max(2, (run.options.extras["steps"].flatMap { Int($0) } ?? 60) * usual / threads)
        let stack = try StressStack(inMemory: seed % 2 == 1)
        defer { stack.remove() }
        let tally = try stack.work(seed: seed, threads: threads, steps: steps)
        try stack.judge(tally)
        run.add("saves with conflicts", tally.conflicts)
        run.add("saves refused", tally.refused)
        run.add("increments reported lost", tally.reportedLost)
        let attempts = tally.saves + tally.refused
        guard threads < usual || tally.conflicts * 10 >= attempts * 3 else {
            throw Finding("only \(tally.conflicts) of \(attempts) saves met a conflict: this is no stress")
        }
        run.add("threads", threads)
        for number in 0..<attempts { try run.trying("save \(number)") }
    }

    /// Every fourth seed has one thread, or more than the usual ones.
    private static func threads(_ seed: UInt64) -> Int {
        seed % 4 == 3 ? [1, 128, 200, 1000][Int(seed / 4 % 4)] : usual
    }
}

/// What the workers know to have happened.
struct StressTally: Sendable {
    /// Acknowledged saves.
    var saves = 0
    /// Saves that threw a conflict.
    var refused = 0
    /// Saves that met one, refused or not.
    var conflicts = 0
    /// What `value` and `tally` of all counters must have grown by.
    var value = 0
    var tally = 0
    /// Increments that a report named as lost.
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

/// Counters in groups, with marks that come and go.
enum StressModel {
    @Entity final class Counter: ManagedObject {
        @Attribute(.unique) var name: String
        /// Counted by reading, adding and writing: two such changes are a conflict, which the policy decides.
        var value = 0
        /// Counted likewise, and the model says that changes add up.
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
