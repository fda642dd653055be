internal import HornbeamThreads

/// The number of threads for a scan, and the least amount of work for each.
struct ScanThreads {
    var most = min(Cores.count, 8)
    /// A thread that compares fewer cells than this costs more time than it saves. This many cells take about a tenth of a millisecond.
    var cellsPerThreadMin = 100_000
    /// True when the scanning thread has the writer's turn.
    var belongToWriter = false
}
