// Parts of a commit beside its own version: earlier transactions of the same nodes, and callbacks during the commit.

/// A transaction whose changes are part of a later transaction's version.
struct EndedTransaction: Sendable {
    let number: TransactionNumber
    let payload: [UInt8]
    let published: (@Sendable (TransactionNumber) -> Void)?
}

/// Callbacks during a commit, unless a checkpoint commits the transaction.
package struct CommitSteps {
    /// The next transaction may begin.
    let executed: () -> Void
    /// The log holds the transaction (true) or refused it. Later steps may wait for other writers.
    let logged: (Bool) -> Void

    package init(executed: @escaping () -> Void = {}, logged: @escaping (Bool) -> Void = { _ in }) {
        (self.executed, self.logged) = (executed, logged)
    }
}
