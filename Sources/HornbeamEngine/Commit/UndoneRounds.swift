// The transactions that were undone because the disk was full, recorded until all threads that wait for them have got the error.
//
// Transactions queue in rounds. If a batch cannot be logged, all unpublished transactions are undone and the round ends. The next round uses
// their numbers again. So a waiting thread compares its number with the undone ones of its own round. A published transaction is never undone,
// so no other round is relevant for it.

/// The rounds of a commit pipeline.
struct UndoneRounds {
    /// A round that was undone, with the number of threads that wait in it.
    private struct Ended {
        var above: TransactionNumber
        var error: EngineError
        var waiters: Int
    }

    private var round = 0
    /// The number of threads that wait in the current round.
    private var waiters = 0
    private var ended: [Int: Ended] = [:]
    /// The reason why the last round was undone.
    private(set) var last: EngineError?

    /// The number of recorded rounds.
    var count: Int { ended.count }

    /// Adds a waiting thread to the current round and returns the round. The thread must leave it once.
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

    /// Ends the current round, whose transactions with numbers above `number` were undone.
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
