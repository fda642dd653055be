// Earlier transactions that share the version of a commit, and callbacks during a commit.

/// A transaction whose changes are part of a later transaction's version.
struct EndedTransaction: Sendable {
    let number: TransactionNumber
    let payload: [UInt8]
    let published: (@Sendable (TransactionNumber) -> Void)?
}

/// Callbacks during a commit. They are not called for a big transaction, which writes its pages itself.
package struct CommitSteps {
    /// Called when the transaction is executed and the next one may begin.
    let executed: () -> Void
    /// Called when the transaction is written, before the sync that makes it durable. Not called if another thread writes it. If there is one, the
    /// device begins to write before it is called.
    let written: (() -> Void)?
    /// Called with true when the transaction is in the log, or with false when it could not be logged. `commit` may still wait afterwards.
    let logged: (Bool) -> Void

    package init(
        executed: @escaping () -> Void = {}, written: (() -> Void)? = nil, logged: @escaping (Bool) -> Void = { _ in }
    ) {
        (self.executed, self.written, self.logged) = (executed, written, logged)
    }
}
