import HornbeamThreads
import Testing

@testable import HornbeamEngine

/// The writer's turn alone: order, time limits, and work between transactions.
@Suite struct WriterTurnTests {
    private let monitor = Monitor()

    @Test func aLimitEndsTheWaitAndTheTurnPassesBy() {
        let turn = WriterTurn(monitor)
        monitor.withLock {
            #expect(turn.isFree && turn.take() && !turn.isFree)
            #expect(!turn.isAwaited)
            #expect(!turn.take(within: 5))
            #expect(!turn.take(within: 0))
            #expect(!turn.isAwaited, "threads that gave up do not wait")
            turn.release()
            #expect(turn.isFree)
            #expect(turn.take(within: 0), "a free turn is granted at once")
            turn.release()
        }
    }

    @Test func workRunsBetweenTransactions() {
        let turn = WriterTurn(monitor)
        var steps: [String] = []
        monitor.withLock {
            turn.runBeforeNext { steps.append("at once") }
            #expect(turn.take())
            turn.runBeforeNext { steps.append("before the end") }
            steps.append("transaction")
            turn.release()
            turn.runBetweenTransactions { steps.append("between") }
            #expect(turn.isFree)
        }
        #expect(steps == ["at once", "transaction", "before the end", "between"])
    }

    /// Threads take turns; the reference is a counter that only the holder changes, and the order of arrival.
    @Test(arguments: 0..<60 as Range<UInt64>)
    func oneThreadHasTheTurn(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let preemptions = (0..<Int.random(in: 0...6, using: &random)).map { _ in
            Schedule.Preemption(point: Int.random(in: 0..<60, using: &random), target: Int.random(in: 0..<3, using: &random))
        }
        let schedule = Schedule(preemptions: preemptions, seed: UInt64.random(in: 0..<1 << 20, using: &random))
        let turn = WriterTurn(monitor)
        let holders = Guarded(0)
        let log = Guarded<(arrived: [Int], served: [Int], between: Int, problems: Int)>(([], [], 0, 0))
        @Sendable func hold(_ name: Int) {
            let others = holders.withLock { count in
                count += 1
                return count - 1
            }
            log.withLock { log in
                if others > 0 { log.problems += 1 }
                log.served.append(name)
            }
            holders.withLock { $0 -= 1 }
        }
        let monitor = monitor
        let writers = (0..<3).map { name in
            Interleaving.Part("\(name)") {
                for round in 0..<2 {
                    monitor.lock()
                    log.withLock { $0.arrived.append(name * 10 + round) }
                    _ = turn.take()
                    monitor.unlock()
                    hold(name * 10 + round)
                    monitor.withLock { turn.release() }
                }
            }
        }
        let between = Interleaving.Part("between") {
            monitor.withLock {
                turn.runBetweenTransactions {
                    let others = holders.withLock(\.self)
                    log.withLock { log in
                        log.between += 1
                        if others > 0 { log.problems += 1 }
                    }
                }
            }
        }
        let result = Interleaving(schedule).run(writers + [between])
        let outcome = log.withLock(\.self)
        #expect(result.stopReason == nil && result.failures.isEmpty && outcome.problems == 0, "seed \(seed), schedule \(schedule)")
        #expect(outcome.served == outcome.arrived && outcome.between == 1 && turn.isFree, "seed \(seed), schedule \(schedule)")
    }
}
