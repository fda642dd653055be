import Glibc
import HornbeamThreads
import Testing

struct LockCensusTests {
    private static func census(_ parts: [Interleaving.Part]) throws -> LockCensus {
        let outcome = Interleaving(Schedule(), countsLocks: true).run(parts)
        #expect(outcome.failures.isEmpty && outcome.stopReason == nil)
        return try #require(outcome.locks)
    }

    @Test func onlyLocksOfSeveralThreadsAreShared() throws {
        let shared = Guarded(0)
        let census = try Self.census((0..<3).map { thread in
            Interleaving.Part("thread \(thread)") {
                let own = Guarded(0)
                for _ in 0..<5 { own.withLock { $0 += 1 } }
                shared.withLock { $0 += 1 }
            }
        })
        #expect(census.shared.map(\.count) == [3])
        #expect(census.shared[0].origin.hasPrefix("HornbeamEngineTests/LockCensusTests.swift"))
    }

    @Test func exclusiveWorkCountsLikeALock() throws {
        let census = try Self.census((0..<2).map { thread in
            Interleaving.Part("thread \(thread)") {
                Interleaving.beginExclusiveWork("sorting")
                Interleaving.endExclusiveWork("sorting")
            }
        })
        #expect(census.shared.map(\.origin) == ["sorting"])
        #expect(census.shared.map(\.count) == [2])
    }

    /// The first lock is held 20 ms longer, and the work of the interleaving for the locks inside is left out.
    @Test func timesContainTheWorkUnderTheLock() throws {
        let long = Guarded(0)
        let short = Guarded(0)
        let census = try Self.census((0..<2).map { thread in
            Interleaving.Part("thread \(thread)") {
                long.withLock { _ in _ = usleep(10_000) }
                short.withLock { $0 += 1 }
            }
        })
        #expect(census.shared.map(\.count) == [2, 2])
        #expect(census.shared[0].nanoseconds >= 20_000_000)
        #expect(census.shared[1].nanoseconds < census.shared[0].nanoseconds)
    }

    @Test func locksAreNotCountedByDefault() {
        let shared = Guarded(0)
        let outcome = Interleaving(Schedule()).run((0..<2).map { thread in Interleaving.Part("thread \(thread)") { shared.withLock { $0 += 1 } } })
        #expect(outcome.locks == nil)
    }
}
