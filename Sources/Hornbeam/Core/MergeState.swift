internal import HornbeamModel

/// The state of merging remote changes, with the reports.
struct MergeState {
    /// The change queue of the context.
    let changeQueue: ChangeQueue
    /// The contexts whose saves this context merges although it does not merge automatically.
    var observed: Set<UInt64> = []
    /// The conflicts that merges resolved since the last save.
    var report = MergeReport()
    /// The conflicts that the last successful save resolved, including those of merges before it.
    private(set) var lastReport = MergeReport()
    /// The error of the last automatic merge; nil after a successful one.
    var lastFailure: HornbeamError?

    init(_ changeQueue: ChangeQueue) { self.changeQueue = changeQueue }

    /// Called at the end of a save. The current report becomes the last one, and a new report begins.
    mutating func finishReport() {
        // In most saves, no remote change was merged.
        if lastReport.isEmpty, report.isEmpty { return }
        lastReport = report
        report = MergeReport()
    }
}
