// How far long work is: backups, checks and salvages tell it, and whoever is told may end the work.

/// A moment of long work.
package struct WorkProgress: Sendable, Hashable {
    /// What is being done, in a word or two.
    package var part: String
    package var done: Int
    package var total: Int

    /// From 0 to 1.
    package var fraction: Double { total <= 0 ? 1 : min(max(Double(done) / Double(total), 0), 1) }

    package init(part: String, done: Int, total: Int) {
        self.part = part
        self.done = done
        self.total = total
    }
}

/// Told now and then how far work is; throws `cancelled` to end it.
package typealias ProgressReport = (WorkProgress) throws(EngineError) -> Void

extension EngineError {
    package static var workCancelled: EngineError { EngineError(.cancelled, "The work was cancelled; nothing was changed.") }
}
