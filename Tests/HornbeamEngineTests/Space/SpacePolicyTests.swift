import Testing

@testable import HornbeamEngine

/// When a checkpoint is due, and how long log segments are, by the size of the store.
@Suite struct SpacePolicyTests {
    private let policy = SpacePolicy(slack: 1 << 20, fileBytesMin: 4 << 20)
    private static let sizes = [0, 1 << 20, 30 << 20, 100 << 20, 1 << 30, 100 << 30]

    /// The most that may be logged since a checkpoint before the next is due.
    private func most(live: Int, replaced: Int) -> Int {
        var (low, high) = (0, 1 << 40)
        while low < high {
            let middle = (low + high + 1) / 2
            if policy.isCheckpointDue(replaced: replaced, logged: middle, live: live) { high = middle - 1 } else { low = middle }
        }
        return low
    }

    @Test(arguments: sizes, [0, 1, 10, 20])
    func theLogOfTwoCheckpointsAndAHalfTakesAQuarterOfTheStoreAtMost(live: Int, replacedPercent: Int) {
        let replaced = live / 100 * replacedPercent
        let logged = most(live: live, replaced: replaced)
        #expect(logged >= 8 << 20)
        #expect(logged * 5 / 2 <= max(live / 4, 20 << 20))
        #expect(logged <= 256 << 20)
        #expect(logged <= max((live / 4 - replaced) / 3, 8 << 20), "what is replaced, and three times what is logged, share one allowance above the least log")
    }

    @Test(arguments: sizes)
    func aLogThatIsTwiceAsLongAsItMayBeIsOverdue(live: Int) {
        let logged = most(live: live, replaced: 0)
        #expect(!policy.isLogOverdue(replaced: 0, logged: 2 * logged + 1, live: live))
        #expect(policy.isLogOverdue(replaced: 0, logged: 2 * logged + 2, live: live))
    }

    @Test(arguments: zip(sizes, [1 << 20, 1 << 20, 1 << 20, 100 << 15, 16 << 20, 16 << 20]))
    func segmentsGrowWithTheStore(live: Int, bytes: Int) {
        #expect(policy.segmentBytes(live: live) == bytes)
    }

    @Test(arguments: sizes)
    func checkpointsRestUntilTheyAreLateAndCommitsOnlyWhenTheyFallBehind(live: Int) {
        var due = 0
        while !policy.isCheckpointDue(replaced: due, logged: 0, live: live) { due += 64 << 10 + live / 1000 }
        #expect(policy.mayThrottle(replaced: due, live: live))
        #expect(policy.lag(replaced: due, live: live) == 0)
        #expect(!policy.mayThrottle(replaced: due / 2 * 3, live: live))
        #expect((0...1).contains(policy.lag(replaced: due / 4 * 7, live: live)))
        #expect((5...6).contains(policy.lag(replaced: due * 3, live: live)))
    }

    /// A checkpoint of a small store would otherwise write most of its pages for a few changes.
    @Test(arguments: zip(sizes, [16 << 20, 16 << 20, 16 << 20, 25 << 20, 1 << 28, 25 << 30]))
    func fourPageFilesOrAQuarterOfTheStoreMayBeReplacedBetweenCheckpoints(live: Int, most: Int) {
        #expect(!policy.isCheckpointDue(replaced: most / 100 * 99, logged: 0, live: live))
        #expect(policy.isCheckpointDue(replaced: most / 100 * 101, logged: 0, live: live))
    }

    private func files(_ count: Int, of bytes: Int, from first: UInt32 = 1) -> [SpacePolicy.File] {
        (0..<UInt32(count)).map { SpacePolicy.File(number: PageFileNumber(first + $0), bytes: bytes, live: bytes) }
    }

    @Test func theSmallestOfManyFilesAreMerged() {
        #expect(policy.victims(among: files(64, of: 1000), budget: .max).isEmpty)
        #expect(policy.victims(among: files(65, of: 1000), budget: .max).count == 32)
        #expect(policy.victims(among: files(65, of: 1 << 19), budget: 1 << 20).count == 2)
        // A large store may have more files.
        #expect(policy.victims(among: files(192, of: 10 << 20), budget: .max).isEmpty)
        #expect(policy.victims(among: files(193, of: 10 << 20), budget: .max).count == 96)
    }

    /// The cleaner would make one small file of it, again and again.
    @Test func noFileIsMergedAlone() {
        let large = files(192, of: 1 << 30)
        #expect(policy.victims(among: large + files(1, of: 1000, from: 500), budget: .max).isEmpty)
        #expect(policy.victims(among: large + files(2, of: 1000, from: 500), budget: .max).count == 2)
        #expect(policy.victims(among: large + files(2, of: 1000, from: 500), budget: 1500).isEmpty)
    }
}
