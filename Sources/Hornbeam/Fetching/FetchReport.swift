internal import HornbeamModel
internal import HornbeamStore
internal import HornbeamThreads
internal import Synchronization

/// The total cost of a context's fetches. The counters only grow; the cost of one request is a difference.
///
/// ```swift
/// let before = context.fetchCounters
/// let events = try context.fetch(request)
/// print(context.fetchCounters - before)
/// ```
public struct FetchCounters: Hashable, Sendable {
    /// Fetches and counts that used the store.
    public var fetches = 0
    /// Rows read, matching or not.
    public var rowsRead = 0
    /// Leaves of tables that were scanned.
    public var leavesRead = 0
    /// Faults that were fired by an access.
    public var faultsFired = 0

    /// All counters zero.
    public init() {}

    /// The cost of the fetches between two readings of the counters.
    public static func - (a: FetchCounters, b: FetchCounters) -> FetchCounters {
        var difference = a
        difference.fetches -= b.fetches
        difference.rowsRead -= b.rowsRead
        difference.leavesRead -= b.leavesRead
        difference.faultsFired -= b.faultsFired
        return difference
    }
}

extension FetchCounters: CustomStringConvertible {
    public var description: String {
        "\(fetches) fetches, \(rowsRead) rows and \(leavesRead) leaves read, \(faultsFired) faults fired"
    }
}

/// A slow fetch or count: its duration, its work, its plan, and an index that would help. Contains no values of the predicate.
public struct FetchReport: Sendable, CustomStringConvertible {
    /// The entity that was fetched.
    public let entityName: String
    /// The time of the whole fetch or count.
    public let duration: Duration
    /// The number of objects, IDs or dictionaries found; for a count, the number counted.
    public let resultCount: Int
    /// The number of rows that were examined, matching or not.
    public let rowsRead: Int
    /// The number of leaves of tables that were scanned.
    public let leavesRead: Int
    /// The plan as text, with `$value` in place of the predicate's constants.
    public let plan: String
    /// An index that would make the fetch faster.
    public let advice: String?

    public var description: String {
        let advice = advice.map { "\n  advice: \($0)" } ?? ""
        return "\(duration) for \(resultCount) results, \(rowsRead) rows and \(leavesRead) leaves read\n\(plan)\(advice)"
    }
}

extension PersistentStoreCoordinator {
    /// Reports every fetch and count that takes the store longer than a threshold, from now on.
    ///
    /// - Parameters:
    ///   - threshold: The longest time that is not reported.
    ///   - body: Called on the thread of the fetch, before its results are returned; nil ends the reports.
    public func reportFetches(slowerThan threshold: Duration, to body: (@Sendable (FetchReport) -> Void)?) {
        slowFetches.set(body.map { SlowFetches.Listener(threshold: threshold, body: $0) })
    }
}

/// The subscriber to slow fetches.
final class SlowFetches: Sendable {
    struct Listener: Sendable {
        let threshold: Duration
        let body: @Sendable (FetchReport) -> Void
    }

    private let current = Guarded<Listener?>(nil)
    /// Avoids the lock for fetches without a subscriber.
    private let hasSubscriber = Atomic(false)

    func set(_ listener: Listener?) {
        current.withLock { $0 = listener }
        hasSubscriber.store(listener != nil, ordering: .releasing)
    }

    /// True when there is a subscriber.
    var isObserved: Bool { hasSubscriber.load(ordering: .acquiring) }

    var listener: Listener? { isObserved ? current.withLock { $0 } : nil }
}

/// The start time of a fetch, if there is a subscriber.
struct FetchWatch {
    let listener: SlowFetches.Listener?
    let start: ContinuousClock.Instant?

    init(_ context: ManagedObjectContext) {
        listener = context.persistentStoreCoordinator.slowFetches.listener
        start = listener == nil ? nil : .now
    }
}

extension ManagedObjectContext {
    /// The cost of this context's fetches so far, including those of its children.
    public var fetchCounters: FetchCounters {
        var counters = fetchCosts
        counters.faultsFired = scopes.reduce(0) { $0 + ($1?.faultsFired ?? 0) }
        return counters
    }

    func note(_ work: FetchWork, results: Int, _ watch: FetchWatch) {
        fetchCosts.fetches += 1
        fetchCosts.rowsRead += work.rowsRead
        fetchCosts.leavesRead += work.leavesRead
        if partsOfFetch != nil { partsOfFetch?.append(work) } else { report(work, results: results, watch) }
    }

    /// Fetches dictionaries. Reports count the search and the columns as one fetch.
    func reportingOnce(
        _ request: FetchDescription, _ program: DictionaryProgram, _ body: () throws -> [[PropertyValue]]
    ) throws -> [[PropertyValue]] {
        var outermost = self
        while let parent = outermost.parent { outermost = parent }
        let watch = FetchWatch(self)
        guard watch.listener != nil, outermost.partsOfFetch == nil else { return try body() }
        outermost.partsOfFetch = []
        defer { outermost.partsOfFetch = nil }
        let rows = try body()
        guard let parts = outermost.partsOfFetch, var work = parts.first else { return rows }
        for part in parts.dropFirst() { work.add(part) }
        work.dictionaries = (request, program)
        report(work, results: rows.count, watch)
        return rows
    }

    private func report(_ work: FetchWork, results: Int, _ watch: FetchWatch) {
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
