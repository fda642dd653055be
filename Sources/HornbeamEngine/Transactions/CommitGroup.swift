// A group of the commit queue: work of several threads that is executed in one version, each with a transaction number of its own.

internal import HornbeamThreads

/// Work that another thread may execute.
///
/// `@unchecked Sendable`: the work is set before the object is queued under the lock of `CommitQueue`, and only the leader reads it until the outcome
/// is set.
final class QueuedWork: @unchecked Sendable {
    enum Outcome: Sendable {
        case over(Result<TransactionNumber, any Error>)
        /// Nothing was written; the caller executes the work alone.
        case alone
        /// Nothing was written; the caller leads and executes its work together with the waiting work.
        case lead
        /// Executed; the caller commits the group.
        case commit(CommitGroup)
    }

    private(set) var work: CommitQueue.Work?
    private(set) var durability = Durability.full
    private let outcome = Guarded<Outcome?>(nil)

    func set(_ work: @escaping CommitQueue.Work, _ durability: Durability) { (self.work, self.durability) = (work, durability) }
    func clear() { work = nil }

    func waitForOutcome() -> Outcome {
        outcome.wait { outcome in
            defer { outcome = nil }
            return outcome
        }
    }

    func end(_ outcome: Outcome) {
        self.outcome.withLock { current in
            assert(current == nil, "A waiting thread takes an outcome before the next one.")
            current = outcome
        }
        self.outcome.signal()
    }
}

/// The members of a group and their common transaction.
///
/// `@unchecked Sendable`: the leader uses it; without a leader it is part of the state of `CommitQueue`.
final class CommitGroup: @unchecked Sendable {
    private let transaction: WriteTransaction
    /// In the order of execution. The last of them may have failed.
    private(set) var members: [QueuedWork] = []
    /// The transaction numbers of all but the last.
    private var numbers: [TransactionNumber] = []
    private var published: CommitQueue.Published?
    /// The number that the commit returned: that of the version before if nothing was changed.
    private var committed: TransactionNumber?
    /// True until the commit is executed; then another thread can lead. `isInLog` is true until the log write has ended.
    var isLed = true
    var isInLog = true
    /// The leader's result after the log write.
    var answered: QueuedWork.Outcome?

    init(_ transaction: WriteTransaction) { self.transaction = transaction }

    /// The state that the group started from.
    var base: TransactionNumber { transaction.baseTransaction }

    /// True while the transaction has room for more work.
    var canAddTransaction: Bool { transaction.canAddTransaction }

    func execute(_ member: QueuedWork) throws {
        assert(!members.contains { $0 === member }, "A group executes each work once.")
        let isFirst = members.isEmpty
        // Append before any step that can fail, so that `dissolve` answers this work too.
        members.append(member)
        if !isFirst { numbers.append(try transaction.endAndBeginNext(published: published)) }
        guard let work = member.work else { preconditionFailure("A queued work is there until its thread has its outcome.") }
        published = try work(transaction)
    }

    func abort() { transaction.abort() }

    /// Returns when all work is committed, as durably as one of the members needs it.
    func commit(_ steps: CommitSteps) throws(EngineError) {
        committed = try transaction.commit(Self.durability(of: members.lazy.map(\.durability)), steps: steps, published: published)
    }

    /// The strongest durability: `full` if one of them is, otherwise the shortest delay.
    static func durability(of members: some Sequence<Durability>) -> Durability {
        if members.contains(.full) { return .full }
        return members.min { $0.delayNanoseconds < $1.delayNanoseconds } ?? .full
    }

    /// The transaction number of a member. Valid after the commit has begun.
    func number(_ member: Int) -> TransactionNumber {
        member < numbers.count ? numbers[member] : committed ?? transaction.number
    }

    /// The outcome of a member after a failed commit. Unless it is in doubt, nothing was written, and the error may come from other work of the
    /// group; so each is executed alone.
    func outcome(_ member: Int, after error: EngineError) -> QueuedWork.Outcome {
        if members.count > 1, error.code != .durabilityLost, error.code != .closed { return .alone }
        return .over(.failure(FailedCommit(number: number(member), error: error)))
    }
}
