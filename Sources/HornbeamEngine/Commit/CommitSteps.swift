// What a commit carries beside its own version: transactions that ended before it in the same nodes, and callbacks on its way.

/// A transaction whose changes are part of the version that a later one makes.
struct EndedTransaction: Sendable {
    let number: TransactionNumber
    let payload: [UInt8]
    let published: (@Sendable (TransactionNumber) -> Void)?
}

/// What is called on the way through a commit, where it is not committed by a checkpoint.
package struct CommitSteps {
    /// The next transaction may begin.
    let executed: () -> Void
    /// The log has it (true), or refused it; what follows may wait for other writers.
    let logged: (Bool) -> Void

    package init(executed: @escaping () -> Void = {}, logged: @escaping (Bool) -> Void = { _ in }) {
        (self.executed, self.logged) = (executed, logged)
    }
}
