// When space is won back, and from which page files.
//
// What holds: page files and log take at most 1.7 times the live bytes, a constant of two page files and some log
// segments, and what readers and pins keep. It is made of these parts: at most `deadPercentMax` of the live bytes may be
// dead between checkpoints; a checkpoint is due when `replacedPercentMax` of them were replaced, since it puts the new
// pages beside the old ones, and what was logged counts thrice: the log is kept for two checkpoints and while the next is
// written. What a checkpoint set free goes with the next one, which follows at once when that is worth it. A checkpoint takes
// its time for the sake of commits until more was replaced than may be; then commits take theirs for the sake of the checkpoint.

/// The limits by which checkpoints and cleaning are paced.
struct SpacePolicy: Sendable {
    /// A page file at a moment.
    struct File: Sendable, Equatable {
        var number: PageFileNumber
        var bytes: Int
        var live: Int
        var dead: Int { bytes - live }
    }

    /// Dead bytes that are left alone whatever the store's size.
    var slack: Int
    /// The least size at which a page file is full.
    var fileBytesMin: Int

    private static let deadPercentMax = 35
    /// The same while the disk is full.
    private static let deadPercentMaxFull = 12
    /// What is left dead when there was too much of it, so that cleaning pauses between bouts.
    private static let deadPercentGoal = 28
    private static let replacedPercentMax = 25
    private static let freedPercentMax = 10
    /// Bytes of log between two checkpoints: enough for checkpoints to pay where the store is small, and bounded since replay reads them.
    private static let loggedMin = 1 << 20
    private static let loggedMax = 256 << 20
    /// A file with less to win than this is not worth copying.
    private static let deadPercentWorth = 12
    /// Beyond so many files the smallest are put together.
    private static let filesMax = 64

    /// Page files grow with the store, so that a store has at most some dozens of them.
    func fileSizeLimit(live: Int) -> Int { min(max(live / 32, fileBytesMin), 1 << 30) }

    /// What the length of log segments grows to: three of them, partly used, are there at any time.
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

    /// True if a checkpoint may take its time, since not much more was replaced than made it due.
    func mayRest(replaced: Int, live: Int) -> Bool { replaced < replacedMost(live: live) / 4 * 5 }

    /// How far checkpoints are behind the commits, in quarters of what may be replaced between two; 0 until three quarters more were.
    func lag(replaced: Int, live: Int) -> Int {
        let quarter = replacedMost(live: live) / 4
        return max((replaced - 6 * quarter) / quarter, 0)
    }

    private func replacedMost(live: Int) -> Int {
        max(live / 100 * SpacePolicy.replacedPercentMax, 2 * fileSizeLimit(live: live))
    }

    private func loggedMost(besides replaced: Int, of most: Int) -> Int {
        min(max((most - replaced) / 3, fileBytesMin, SpacePolicy.loggedMin), SpacePolicy.loggedMax)
    }

    /// True if a checkpoint without content is worth its syncs for the bytes that the one before it keeps.
    func isFollowUpDue(kept: Int, live: Int) -> Bool {
        kept > live / 100 * SpacePolicy.freedPercentMax + slack / 4
    }

    /// True if more is dead than may be.
    func isOverdue(_ files: [File], isFull: Bool = false) -> Bool {
        let (live, dead) = SpacePolicy.sums(files)
        return dead > (isFull ? live / 100 * SpacePolicy.deadPercentMaxFull : live / 100 * SpacePolicy.deadPercentMax + slack)
    }

    /// The files to move the live pages out of, the sparsest first; none when nothing has to be done.
    /// `budget`: live bytes to move at most; the first file counts whatever it holds. `isFull`: the disk has no room for what is dead.
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

    /// Files from the front until enough is won or the budget is used up.
    private static func take(_ files: [File], goal: Int, budget: Int) -> [File] {
        var taken: [File] = []
        var won = 0
        var moved = 0
        for file in files where won < goal {
            guard taken.isEmpty || moved + file.live <= budget else { break }
            taken.append(file)
            won += file.dead
            moved += file.live
        }
        return taken
    }

    private static func sums(_ files: [File]) -> (live: Int, dead: Int) {
        files.reduce((0, 0)) { ($0.0 + $1.live, $0.1 + $1.dead) }
    }
}
