internal import HornbeamModel

/// The state of merging remote changes, with the reports.
struct MergeState {
    /// The change queue of the context.
    let inbox: ChangeInbox
    /// The contexts whose saves are merged although this context does not merge automatically.
    var observed: Set<UInt64> = []
    /// The merges since the last save.
    var report = MergeReport()
    /// The resolution of conflicts in the last successful save and the merges before it.
    private(set) var lastReport = MergeReport()
    /// The error of the last automatic merge; nil after a successful one.
    var lastFailure: HornbeamError?

    init(_ inbox: ChangeInbox) { self.inbox = inbox }

    /// Assigns the merges until now to the save that has ended.
    mutating func conclude() {
        // Usually no remote change was merged.
        if lastReport.isEmpty, report.isEmpty { return }
        lastReport = report
        report = MergeReport()
    }
}
