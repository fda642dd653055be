internal import HornbeamThreads

/// The number of threads for a scan, and the least amount of work for each.
struct ScanThreads {
    var most = min(Cores.count, 8)
    /// A thread for fewer compared cells costs more than it saves: about a tenth of a millisecond.
    var cellsEach = 100_000
    /// True when the scanning thread has the writer's turn.
    var belongToWriter = false
}
