// The transactions that full disks undid, remembered until the last waiting thread has learnt of it.
//
// Transactions queue in rounds. When a batch cannot be logged, all unpublished transactions are undone and the round ends. Their numbers are
// used again in the next round, so a waiting thread needs its round to know whether its own transaction was undone. Published numbers only
// grow, so only the end of a thread's own round can have undone its transaction.

/// The rounds of a commit pipeline.
struct UndoneRounds {
    /// A round that was undone, with the number of threads that wait in it.
    private struct Ended {
        var above: TransactionNumber
        var error: EngineError
        var waiters: Int
    }

    private var round = 0
    /// Threads that wait in the current round.
    private var waiters = 0
    private var ended: [Int: Ended] = [:]
    /// The reason why the last round was undone.
    private(set) var last: EngineError?

    /// The number of remembered rounds.
    var count: Int { ended.count }

    /// Returns the round of a new waiting thread, which must leave it once.
    mutating func enter() -> Int {
        waiters += 1
        return round
    }

    mutating func leave(_ round: Int) {
        assert(round <= self.round, "A round begins before it is left.")
        guard round != self.round else {
            assert(waiters > 0, "A waiting thread leaves its round once.")
            return waiters -= 1
        }
        ended[round]?.waiters -= 1
        if ended[round]?.waiters == 0 { ended[round] = nil }
    }

    /// Transactions above a number were undone.
    mutating func endRound(above number: TransactionNumber, _ error: EngineError) {
        if waiters > 0 { ended[round] = Ended(above: number, error: error, waiters: waiters) }
        assert(ended.values.allSatisfy { $0.waiters > 0 }, "A round is remembered while threads wait in it.")
        last = error
        waiters = 0
        round += 1
    }

    /// The reason why a transaction of a round was undone; nil if it was not.
    func error(for number: TransactionNumber, in round: Int) -> EngineError? {
        guard let ended = ended[round], number > ended.above else { return nil }
        return ended.error
    }
}
