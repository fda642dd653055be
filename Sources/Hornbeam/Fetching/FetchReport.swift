internal import HornbeamModel
internal import HornbeamStore
internal import HornbeamThreads
internal import Synchronization

/// What the fetches of a context cost: totals that only grow. The cost of one request is a difference.
///
/// ```swift
/// let before = context.fetchCounters
/// let events = try context.fetch(request)
/// print(context.fetchCounters - before)
/// ```
public struct FetchCounters: Hashable, Sendable {
    /// Fetches and counts that asked the store.
    public var fetches = 0
    /// Rows that were looked at, matching or not.
    public var rowsRead = 0
    /// Leaves of tables that were scanned.
    public var leavesRead = 0
    /// Faults that were filled when they were touched.
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

/// A fetch or count that took long: how long, over how much, how, and what would help. Holds no values of the predicate.
public struct FetchReport: Sendable, CustomStringConvertible {
    /// The entity that was fetched.
    public let entityName: String
    /// The time of the whole fetch or count.
    public let duration: Duration
    /// How many objects, IDs or dictionaries it found; of a count, how many it counted.
    public let resultCount: Int
    /// The number of rows that were examined, matching or not.
    public let rowsRead: Int
    /// The number of leaves of tables that were scanned.
    public let leavesRead: Int
    /// The plan in words, with `$value` for what the predicate compares with.
    public let plan: String
    /// The index that would have helped.
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
    ///   - body: Called on the thread of the fetch, before its results are given back; nil ends the reports.
    public func reportFetches(slowerThan threshold: Duration, to body: (@Sendable (FetchReport) -> Void)?) {
        slowFetches.set(body.map { SlowFetches.Listener(threshold: threshold, body: $0) })
    }
}

/// Who wants to hear of slow fetches.
final class SlowFetches: Sendable {
    struct Listener: Sendable {
        let threshold: Duration
        let body: @Sendable (FetchReport) -> Void
    }

    private let current = Guarded<Listener?>(nil)
    /// So that fetches need no lock where nobody listens.
    private let isHeard = Atomic(false)

    func set(_ listener: Listener?) {
        current.withLock { $0 = listener }
        isHeard.store(listener != nil, ordering: .releasing)
    }

    /// True when somebody wants to hear of them.
    var areHeardOf: Bool { isHeard.load(ordering: .acquiring) }

    var listener: Listener? { areHeardOf ? current.withLock { $0 } : nil }
}

/// The start of a fetch, where somebody wants to know how long it takes.
struct FetchWatch {
    let listener: SlowFetches.Listener?
    let start: ContinuousClock.Instant?

    init(_ context: ManagedObjectContext) {
        listener = context.persistentStoreCoordinator.slowFetches.listener
        start = listener == nil ? nil : .now
    }
}

extension ManagedObjectContext {
    /// What the fetches of this context cost so far, those of its children included.
    public var fetchCounters: FetchCounters {
        var counters = access.costs
        counters.faultsFired = scopes.faultsFired
        return counters
    }

    func note(_ work: FetchWork, results: Int, _ watch: FetchWatch) {
        access.costs.fetches += 1
        access.costs.rowsRead += work.rowsRead
        access.costs.leavesRead += work.leavesRead
        if access.partsOfFetch != nil { access.partsOfFetch?.append(work) } else { report(work, results: results, watch) }
    }

    /// Fetches dictionaries, whose search and columns are one fetch in reports.
    func reportingOnce(
        _ request: FetchDescription, _ program: DictionaryProgram, _ body: () throws -> [[PropertyValue]]
    ) throws -> [[PropertyValue]] {
        var outermost = self
        while let parent = outermost.parent { outermost = parent }
        let watch = FetchWatch(self)
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
