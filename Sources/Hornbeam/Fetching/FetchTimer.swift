internal import HornbeamModel
internal import HornbeamStore

/// The start time of a fetch, if there is a subscriber.
struct FetchTimer {
    let listener: SlowFetches.Listener?
    /// Later by the time of the pauses.
    private(set) var start: ContinuousClock.Instant?

    init(_ context: ManagedObjectContext) {
        listener = context.persistentStoreCoordinator.slowFetches.listener
        start = listener == nil ? nil : .now
    }

    /// Runs a closure whose time is not part of the fetch.
    mutating func pausing(_ body: () throws -> Void) rethrows {
        guard let running = start?.duration(to: .now) else { return try body() }
        defer { start = .now - running }
        try body()
    }
}

extension PersistentStoreCoordinator {
    /// Reports every fetch and count that takes longer than a threshold, from now on.
    ///
    /// - Parameters:
    ///   - threshold: Fetches that take longer are reported.
    ///   - body: Called on the thread of the fetch, before the fetch returns; nil ends the reports.
    public func reportFetches(slowerThan threshold: Duration, to body: (@Sendable (FetchReport) -> Void)?) {
        slowFetches.set(body.map { SlowFetches.Listener(threshold: threshold, body: $0) })
    }
}

extension ManagedObjectContext {
    /// The cost of this context's fetches so far, including fetches of its children.
    public var fetchCounters: FetchCounters {
        var counters = access.costs
        counters.faultsFired = scopes.faultsFired
        return counters
    }

    func note(_ work: FetchWork, results: Int, _ watch: FetchTimer) {
        access.costs.fetches += 1
        access.costs.rowsRead += work.rowsRead
        access.costs.leavesRead += work.leavesRead
        if access.partsOfFetch != nil { access.partsOfFetch?.append(work) } else { report(work, results: results, watch) }
    }

    /// Runs a fetch of dictionaries so that its searches are reported together, as one fetch.
    func reportingOnce(
        _ request: FetchDescription, _ program: DictionaryProgram, _ body: () throws -> [[PropertyValue]]
    ) throws -> [[PropertyValue]] {
        var outermost = self
        while let parent = outermost.parent { outermost = parent }
        let watch = FetchTimer(self)
        guard watch.listener != nil, outermost.access.partsOfFetch == nil else { return try body() }
        outermost.access.partsOfFetch = []
        defer { outermost.access.partsOfFetch = nil }
        let rows = try body()
        guard let parts = outermost.access.partsOfFetch, var work = parts.first else { return rows }
        for part in parts.dropFirst() { work.add(part) }
        work.dictionaries = (request, program)
        report(work, results: rows.count, watch)
        return rows
    }

    private func report(_ work: FetchWork, results: Int, _ watch: FetchTimer) {
        guard let listener = watch.listener, let duration = watch.start?.duration(to: .now), duration > listener.threshold
        else { return }
        let plan = work.textWithoutValues
        listener.body(
            FetchReport(
                entityName: plan.entity, duration: duration, resultCount: results, rowsRead: work.rowsRead,
                leavesRead: work.leavesRead, plan: plan.description,
                advice: snapshot.flatMap { work.advice(in: $0) }?.description))
    }
}
