// What full disks undid, remembered for as long as somebody waits who has to learn of it.
//
// Transactions queue in rounds. When a group cannot be logged, all that is not published is undone and the round ends. Numbers are
// given out again in the next one, so a waiter needs its round to tell whether its own transaction was undone. Published numbers
// only grow: the end of a waiter's own round is all that can have undone its transaction.

/// The rounds of a commit pipeline.
struct UndoneRounds {
    /// A round that was undone, with those who wait in it.
    private struct Ended {
        var above: TransactionNumber
        var error: EngineError
        var waiters: Int
    }

    private var round = 0
    /// Those who wait in the current round.
    private var waiters = 0
    private var ended: [Int: Ended] = [:]
    /// Why the last round was undone.
    private(set) var last: EngineError?

    /// How many rounds are remembered.
    var count: Int { ended.count }

    /// Returns the round of a new waiter, who must leave it once.
    mutating func enter() -> Int {
        waiters += 1
        return round
    }

    mutating func leave(_ round: Int) {
        guard round != self.round else { return waiters -= 1 }
        ended[round]?.waiters -= 1
        if ended[round]?.waiters == 0 { ended[round] = nil }
    }

    /// Transactions above a number were undone.
    mutating func endRound(above number: TransactionNumber, _ error: EngineError) {
        if waiters > 0 { ended[round] = Ended(above: number, error: error, waiters: waiters) }
        last = error
        waiters = 0
        round += 1
    }

    /// Why a transaction that was queued in a round was undone; nil if it was not.
    func error(for number: TransactionNumber, in round: Int) -> EngineError? {
        guard let ended = ended[round], number > ended.above else { return nil }
        return ended.error
    }
}
