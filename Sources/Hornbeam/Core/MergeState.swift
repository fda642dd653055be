internal import HornbeamModel

/// What a context takes in of others' saves, and what came of it.
struct MergeState {
    /// The place of the context among the announced commits.
    let inbox: ChangeInbox
    /// The contexts whose saves are merged although this context does not merge automatically.
    var observed: Set<UInt64> = []
    /// The merges since the last save.
    var report = MergeReport()
    /// What the last successful save, and the merges before it, did with others' changes to the same objects.
    private(set) var lastReport = MergeReport()
    /// Why others' saves could not be taken in where no call could throw the error; nil once they could.
    var lastFailure: HornbeamError?

    init(_ inbox: ChangeInbox) { self.inbox = inbox }

    /// The context has saved: what was merged until now belongs to that save.
    mutating func conclude() {
        // Most saves meet nobody else's changes.
        if lastReport.isEmpty, report.isEmpty { return }
        lastReport = report
        report = MergeReport()
    }
}
