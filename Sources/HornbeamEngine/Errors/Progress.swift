// Progress of long work. Backups, checks and salvages report it, and the receiver may cancel the work.

/// The progress of long work at one moment.
package struct WorkProgress: Sendable, Hashable {
    /// The current part of the work, in one or two words.
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

/// Receives the progress of long work from time to time. Throws `cancelled` to end the work.
package typealias ProgressReport = (WorkProgress) throws(EngineError) -> Void

extension EngineError {
    package static var workCancelled: EngineError { EngineError(.cancelled, "The work was cancelled; nothing was changed.") }
}
