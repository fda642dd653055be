// Decides when checkpoints and cleaning are due, and which page files to empty.
//
// Invariant: page files and log take at most 1.7 times the live bytes, plus a constant of two page files and some log segments, plus the
// bytes that readers and pins keep. The parts of this bound:
// - At most `deadPercentMax` of the live bytes are dead between checkpoints.
// - A checkpoint is due when `replacedPercentMax` of the live bytes were replaced, since it writes the new pages beside the old ones.
// - Logged bytes count three times: the log is kept for two checkpoints and while the next one is written.
// - The next checkpoint releases the bytes that the last one freed. It follows at once if that frees enough.
// Checkpoints are throttled in favour of commits until more was replaced than the bound permits. From then on commits are throttled in
// favour of the checkpoint.

/// The limits for checkpoints and cleaning.
struct SpacePolicy: Sendable {
    /// A page file at a moment.
    struct File: Sendable, Equatable {
        var number: PageFileNumber
        var bytes: Int
        var live: Int
        var dead: Int { bytes - live }
    }

    /// Dead bytes that are tolerated in a store of any size.
    var slack: Int
    /// The least size at which a page file is full.
    var fileBytesMin: Int

    private static let deadPercentMax = 35
    /// The same while the disk is full.
    private static let deadPercentMaxFull = 12
    /// The percentage of dead bytes that cleaning leaves, so that it pauses between runs.
    private static let deadPercentGoal = 28
    private static let replacedPercentMax = 25
    private static let freedPercentMax = 10
    /// Bytes of log between two checkpoints: enough for a small store's checkpoints to pay, and bounded because replay reads them.
    private static let loggedMin = 1 << 20
    private static let loggedMax = 256 << 20
    /// A file with fewer dead bytes is not worth copying.
    private static let deadPercentWorth = 12
    /// With more files than this, the smallest are merged.
    private static let filesMax = 64

    /// Page files grow with the store, so that a store has at most some dozens of files.
    func fileSizeLimit(live: Int) -> Int { min(max(live / 32, fileBytesMin), 1 << 30) }

    /// The length that log segments grow to. Three of them, partly used, exist at any time.
    func segmentBytes(live: Int) -> Int { min(max(live / 32, 1 << 20), 16 << 20) }

    /// True if a checkpoint is due for the bytes on disk that were replaced, and those that were logged, since the last one.
    func isCheckpointDue(replaced: Int, logged: Int, live: Int) -> Bool {
        let most = replacedMost(live: live)
        return replaced > most || logged > loggedMost(besides: replaced, of: most)
    }

    /// True if the log grows beyond its share because checkpoints do not keep up with the writers.
    func isLogOverdue(replaced: Int, logged: Int, live: Int) -> Bool {
        logged / 2 > loggedMost(besides: replaced, of: replacedMost(live: live))
    }

    /// True if a checkpoint may be throttled: not much more was replaced than made it due.
    func mayThrottle(replaced: Int, live: Int) -> Bool { replaced < replacedMost(live: live) / 4 * 5 }

    /// The lag of checkpoints behind commits, in quarters of the bytes that may be replaced between two; 0 below one and three quarters.
    func lag(replaced: Int, live: Int) -> Int {
        assert(replaced >= 0 && live >= 0, "Replaced and live bytes are counts.")
        let quarter = replacedMost(live: live) / 4
        assert(quarter > 0, "Some bytes may always be replaced.")
        return max((replaced - 6 * quarter) / quarter, 0)
    }

    private func replacedMost(live: Int) -> Int {
        max(live / 100 * SpacePolicy.replacedPercentMax, 2 * fileSizeLimit(live: live))
    }

    private func loggedMost(besides replaced: Int, of most: Int) -> Int {
        min(max((most - replaced) / 3, fileBytesMin, SpacePolicy.loggedMin), SpacePolicy.loggedMax)
    }

    /// True if a checkpoint without content is worth its syncs, because the one before it keeps many bytes.
    func isFollowUpDue(kept: Int, live: Int) -> Bool {
        kept > live / 100 * SpacePolicy.freedPercentMax + slack / 4
    }

    /// True if more bytes are dead than permitted.
    func isOverdue(_ files: [File], isFull: Bool = false) -> Bool {
        let (live, dead) = SpacePolicy.sums(files)
        return dead > (isFull ? live / 100 * SpacePolicy.deadPercentMaxFull : live / 100 * SpacePolicy.deadPercentMax + slack)
    }

    /// The files to empty, those with the fewest live bytes first; empty if no cleaning is due.
    /// `budget`: live bytes to move at most; the first file is taken whatever it holds. `isFull`: the disk is full, so less may be dead.
    func victims(among files: [File], budget: Int, isFull: Bool = false) -> [File] {
        let (live, dead) = SpacePolicy.sums(files)
        if isOverdue(files, isFull: isFull) {
            let goal = isFull ? dead : dead - live / 100 * SpacePolicy.deadPercentGoal
            let worth = files.filter { $0.dead > $0.bytes / 100 * SpacePolicy.deadPercentWorth }
            return SpacePolicy.take(worth.sorted { Double($0.live) / Double($0.bytes) < Double($1.live) / Double($1.bytes) }, goal: goal, budget: budget)
        }
        guard files.count > SpacePolicy.filesMax else { return [] }
        let small = files.filter { $0.bytes < fileSizeLimit(live: live) / 4 }.sorted { $0.bytes < $1.bytes }
        return SpacePolicy.take(Array(small.prefix(SpacePolicy.filesMax / 2)), goal: .max, budget: budget)
    }

    /// The first files, until enough bytes are won or the budget is used up.
    private static func take(_ files: [File], goal: Int, budget: Int) -> [File] {
        var taken: [File] = []
        var won = 0
        var moved = 0
        for file in files where won < goal {
            guard taken.isEmpty || moved + file.live <= budget else { break }
            taken.append(file)
            assert(file.dead >= 0 && file.live >= 0, "A file holds its live bytes.")
            won += file.dead
            moved += file.live
        }
        return taken
    }

    private static func sums(_ files: [File]) -> (live: Int, dead: Int) {
        files.reduce((0, 0)) { ($0.0 + $1.live, $0.1 + $1.dead) }
    }
}
