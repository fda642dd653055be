internal import HornbeamThreads

/// How many threads a scan may use, and for how much work each.
struct ScanThreads {
    var most = min(Cores.count, 8)
    /// Cells compared, below which a thread is not worth starting: about a tenth of a millisecond.
    var cellsEach = 100_000
    /// True when whoever scans has the writer's turn.
    var belongToWriter = false
}
