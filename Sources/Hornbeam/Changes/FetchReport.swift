internal import HornbeamModel
internal import HornbeamStore
internal import HornbeamThreads
internal import Synchronization

/// The total cost of a context's fetches. The counters only increase; subtract two readings to get the cost of one request.
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
    /// The duration of the whole fetch or count.
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

/// Holds the subscriber to slow fetches.
final class SlowFetches: Sendable {
    struct Listener: Sendable {
        let threshold: Duration
        let body: @Sendable (FetchReport) -> Void
    }

    private let current = Guarded<Listener?>(nil)
    /// Lets a fetch without a subscriber skip the lock.
    private let hasSubscriber = Atomic(false)

    func set(_ listener: Listener?) {
        current.withLock { $0 = listener }
        hasSubscriber.store(listener != nil, ordering: .releasing)
    }

    /// True if there is a subscriber.
    var isObserved: Bool { hasSubscriber.load(ordering: .acquiring) }

    var listener: Listener? { isObserved ? current.withLock { $0 } : nil }
}
