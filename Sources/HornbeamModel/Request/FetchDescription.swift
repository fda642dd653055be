public import Foundation

/// What a fetch gives back (FET-6). Raw values are Core Data's.
public enum FetchResultType: Int, Hashable, Sendable, Codable {
    /// Managed objects.
    case objects = 0
    /// IDs of objects.
    case objectIDs = 1
    /// Dictionaries of the selected columns.
    case dictionaries = 2
    /// The number of results.
    case count = 4
}

/// A fetch with all its settings, without the Swift type of its results. It is what goes down to a store.
///
/// A value: it may cross threads, be compared and be kept. The defaults are Core Data's.
public struct FetchDescription: Hashable, Sendable, Codable {
    /// The entity to fetch; looked up in the model of the context when the request is run (FET-1).
    public var entityName: String
    /// What the objects must satisfy; nil for all (FET-2).
    public var predicate: FetchPredicate?
    /// The order of the results, the first criterion first. Without any, by ID (FET-3).
    public var sortDescriptors: [FetchSort] = []
    /// The most results to give; 0 for all (FET-4).
    public var fetchLimit = 0
    /// How many of the first results to leave out (FET-4).
    public var fetchOffset = 0
    /// How many rows to read at once as results are touched; 0 for all (FET-5).
    public var fetchBatchSize = 0
    /// The kind of results.
    public var resultType = FetchResultType.objects
    /// False for objects of exactly the entity (FET-7).
    public var includesSubentities = true
    /// False to read IDs only and fill no row (FET-8).
    public var includesPropertyValues = true
    /// False to fill the objects at once (FET-9).
    public var returnsObjectsAsFaults = true
    /// False to leave the context's unsaved changes out of account (FET-10).
    public var includesPendingChanges = true
    /// Gives each dictionary once (FET-13).
    public var returnsDistinctResults = false
    /// Gives objects that are known already the values of the store (FET-18).
    public var shouldRefreshRefetchedObjects = false
    /// Nil where all of them have their defaults, so that the commonest requests are copied cheaply.
    private var rare: RareSettings?

    /// A request for the objects of an entity that satisfy a predicate; all of them if it is nil.
    public init(entityName: String, predicate: FetchPredicate? = nil) {
        self.entityName = entityName
        self.predicate = predicate
    }
}

// MARK: Settings that few requests have

extension FetchDescription {
    /// Relationships, by key path, whose objects are fetched along (FET-11).
    public var relationshipKeyPathsForPrefetching: [String] {
        get { rare?.values.prefetching ?? [] }
        set { change { $0.prefetching = newValue } }
    }

    /// The columns of dictionaries; empty for all attributes (FET-12).
    public var propertiesToFetch: [FetchColumn] {
        get { rare?.values.columns ?? [] }
        set { change { $0.columns = newValue } }
    }

    /// Key paths whose equal values make one dictionary (FET-14).
    public var propertiesToGroupBy: [String] {
        get { rare?.values.grouping ?? [] }
        set { change { $0.grouping = newValue } }
    }

    /// What a group must satisfy (FET-15).
    public var havingPredicate: FetchPredicate? {
        get { rare?.values.having }
        set { change { $0.having = newValue } }
    }

    /// The identities of the stores to ask; nil for all (FET-17).
    public var affectedStores: [UUID]? {
        get { rare?.values.stores }
        set { change { $0.stores = newValue } }
    }

    /// True when none of these settings was made.
    var isPlain: Bool { rare == nil }

    private mutating func change(_ body: (inout RareSettings.Values) -> Void) {
        var values = rare?.values ?? RareSettings.Values()
        body(&values)
        rare = values == RareSettings.Values() ? nil : RareSettings(values)
    }
}

/// Settings kept apart from their request, which is copied often. Never changed, so that requests may share them.
private final class RareSettings: Hashable, Sendable, Codable {
    struct Values: Hashable, Sendable, Codable {
        var prefetching: [String] = []
        var columns: [FetchColumn] = []
        var grouping: [String] = []
        var having: FetchPredicate?
        var stores: [UUID]?
    }

    let values: Values

    init(_ values: Values) { self.values = values }

    static func == (a: RareSettings, b: RareSettings) -> Bool { a === b || a.values == b.values }
    func hash(into hasher: inout Hasher) { values.hash(into: &hasher) }
}
