// Decides when checkpoints and cleaning are due, and which page files the cleaner empties.
//
// Invariant: page files and log occupy at most 1.7 times the live bytes, plus seven page files and some log segments, plus the bytes that
// only readers and pinned snapshots need. The parts of this bound:
// - Between checkpoints, the dead bytes are at most `deadPercentMax` of the live bytes.
// - A checkpoint is due when `replacedPercentMax` of the live bytes were replaced, because it writes new pages before old ones are freed.
// - Logged bytes count three times, because a segment is released only after two more checkpoints and during the next one.
// - The next checkpoint releases the bytes that the last one freed. It follows at once if these are many bytes.
// Checkpoints are throttled in favour of commits while fewer bytes are replaced than the bound permits. Beyond that, commits are throttled
// in favour of the checkpoint.

/// The limits for checkpoints and cleaning.
struct SpacePolicy: Sendable {
    /// The size and the live bytes of a page file.
    struct File: Sendable, Equatable {
        var number: PageFileNumber
        var bytes: Int
        var live: Int
        var dead: Int { bytes - live }
    }

    /// Dead bytes that are permitted in a store of any size.
    var slack: Int
    /// The lower bound of `fileSizeLimit`.
    var fileBytesMin: Int

    private static let deadPercentMax = 35
    /// The limit while the disk is full.
    private static let deadPercentMaxFull = 12
    /// The percentage of dead bytes after cleaning. It is below the limit, so that cleaning is not due again at once.
    private static let deadPercentGoal = 28
    private static let replacedPercentMax = 25
    /// The number of page files whose bytes may be replaced in a store of any size. Each checkpoint of a small store would write most of its
    /// pages again otherwise, and the cleaner would move the rest.
    private static let replacedFilesMax = 4
    private static let freedPercentMax = 10
    // Bounds for the bytes of log between two checkpoints. The lower ones, the length of two page files and 1 MiB, avoid frequent checkpoints of
    // small stores, which write most of their pages. The upper one limits the time of replay.
    private static let loggedFilesMin = 2
    private static let loggedMin = 1 << 20
    private static let loggedMax = 256 << 20
    /// A file with a smaller percentage of dead bytes is not cleaned.
    private static let deadPercentWorth = 12
    // With more files than this, the cleaner merges the smallest ones. Each checkpoint lists all files, which in a small store is much of its work. In a large
    // store, merging is. An import of a hundred million rows in transactions of a million leaves fewer files than `filesMaxLarge`.
    private static let filesMax = 64
    private static let filesMaxLarge = 192

    /// The size at which a page file is full. It grows with the store, so that a store has some hundred files at most.
    func fileSizeLimit(live: Int) -> Int { min(max(live / 32, fileBytesMin), 1 << 30) }

    /// The length of a full log segment. Three segments, partly used, exist at any time.
    func segmentBytes(live: Int) -> Int { min(max(live / 32, 1 << 20), 16 << 20) }

    /// True if a checkpoint is due. `replaced` and `logged` count the bytes since the last one.
    func isCheckpointDue(replaced: Int, logged: Int, live: Int) -> Bool {
        replaced > replacedBytesMax(live: live) || logged > loggedBytesMax(besides: replaced, live: live)
    }

    /// True if the log is much longer than the length at which a checkpoint is due: commits are faster than checkpoints.
    func isLogOverdue(replaced: Int, logged: Int, live: Int) -> Bool {
        logged / 2 > loggedBytesMax(besides: replaced, live: live)
    }

    /// True if a checkpoint may be throttled: fewer bytes were replaced than 5/4 of the number at which it is due.
    func mayThrottle(replaced: Int, live: Int) -> Bool { replaced < replacedBytesMax(live: live) / 4 * 5 }

    /// The lag of checkpoints behind commits: the quarters by which the replaced bytes exceed 6/4 of the number at which a checkpoint is due.
    func lag(replaced: Int, live: Int) -> Int {
        assert(replaced >= 0 && live >= 0, "Replaced and live bytes are counts.")
        let quarter = replacedBytesMax(live: live) / 4
        assert(quarter > 0, "Some bytes may always be replaced.")
        return max((replaced - 6 * quarter) / quarter, 0)
    }

    private func replacedBytesMax(live: Int) -> Int {
        max(live / 100 * SpacePolicy.replacedPercentMax, SpacePolicy.replacedFilesMax * fileSizeLimit(live: live))
    }

    private func loggedBytesMax(besides replaced: Int, live: Int) -> Int {
        let share = live / 100 * SpacePolicy.replacedPercentMax - replaced
        return min(max(share / 3, SpacePolicy.loggedFilesMin * fileBytesMin, SpacePolicy.loggedMin), SpacePolicy.loggedMax)
    }

    /// True if a second checkpoint should follow at once. It writes no pages, but releases the `kept` bytes that the first one freed.
    func isFollowUpDue(kept: Int, live: Int) -> Bool {
        kept > live / 100 * SpacePolicy.freedPercentMax + slack / 4
    }

    /// True if there are more dead bytes than permitted. `unwritten`: live bytes that the next checkpoint writes.
    func isOverdue(_ files: [File], isDiskFull: Bool = false, unwritten: Int = 0) -> Bool {
        let (live, dead) = SpacePolicy.sums(files, unwritten)
        return dead > (isDiskFull ? live / 100 * SpacePolicy.deadPercentMaxFull : live / 100 * SpacePolicy.deadPercentMax + slack)
    }

    /// The files to empty, those with the smallest share of live bytes first; empty if no cleaning is due.
    /// `budget`: the limit of live bytes to move, which the first file may exceed. `isDiskFull`: whether the disk is full. `unwritten`: live bytes that
    /// the next checkpoint writes.
    func victims(among files: [File], budget: Int, isDiskFull: Bool = false, unwritten: Int = 0) -> [File] {
        let (live, dead) = SpacePolicy.sums(files, unwritten)
        if isOverdue(files, isDiskFull: isDiskFull, unwritten: unwritten) {
            let goal = isDiskFull ? dead : dead - live / 100 * SpacePolicy.deadPercentGoal
            let worth = files.filter { $0.dead > $0.bytes / 100 * SpacePolicy.deadPercentWorth }
            return SpacePolicy.firstFiles(worth.sorted { Double($0.live) / Double($0.bytes) < Double($1.live) / Double($1.bytes) }, goal: goal, budget: budget)
        }
        let filesMax = fileSizeLimit(live: live) > fileBytesMin ? SpacePolicy.filesMaxLarge : SpacePolicy.filesMax
        guard files.count > filesMax else { return [] }
        let small = files.filter { $0.bytes < fileSizeLimit(live: live) / 4 }.sorted { $0.bytes < $1.bytes }
        let merged = SpacePolicy.firstFiles(Array(small.prefix(filesMax / 2)), goal: .max, budget: budget)
        // A file that is moved alone becomes another small file.
        return merged.count > 1 ? merged : []
    }

    /// The first files, until their dead bytes reach the goal or their live bytes reach the budget.
    private static func firstFiles(_ files: [File], goal: Int, budget: Int) -> [File] {
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

    private static func sums(_ files: [File], _ unwritten: Int) -> (live: Int, dead: Int) {
        files.reduce((unwritten, 0)) { ($0.0 + $1.live, $0.1 + $1.dead) }
    }
}
