public import Foundation

/// The kinds of results of a fetch (FET-6). Raw values are Core Data's.
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

/// A fetch with all its settings, without the Swift type of its results. Stores receive requests in this form.
///
/// It is a `Sendable` value. The defaults are Core Data's.
public struct FetchDescription: Hashable, Sendable, Codable {
    /// The name of the entity to fetch, in the model of the context that executes the request (FET-1).
    public var entityName: String
    /// The condition on the objects; nil for all objects (FET-2).
    public var predicate: FetchPredicate?
    /// The order of the results, the first criterion first. If empty, results are ordered by ID (FET-3).
    public var sortDescriptors: [FetchSort] = []
    /// The maximum number of results; 0 for all (FET-4).
    public var fetchLimit = 0
    /// The number of results to skip at the start (FET-4).
    public var fetchOffset = 0
    /// The number of rows to read at a time as results are accessed; 0 for all (FET-5).
    public var fetchBatchSize = 0
    /// The kind of results.
    public var resultType = FetchResultType.objects
    /// False for objects of exactly the entity (FET-7).
    public var includesSubentities = true
    /// False to read IDs without values (FET-8).
    public var includesPropertyValues = true
    /// False to read the values of the objects immediately (FET-9).
    public var returnsObjectsAsFaults = true
    /// False to ignore the context's unsaved changes (FET-10).
    public var includesPendingChanges = true
    /// True to return equal dictionaries only once (FET-13).
    public var returnsDistinctResults = false
    /// True to update objects that the context already has with the values of the store (FET-18).
    public var shouldRefreshRefetchedObjects = false
    /// The settings that few requests have; nil when all have their defaults, so that common requests are cheap to copy.
    package private(set) var rare: RareFetchSettings?

    /// A request for the objects of an entity that satisfy a predicate; for nil, for all objects.
    public init(entityName: String, predicate: FetchPredicate? = nil) {
        self.entityName = entityName
        self.predicate = predicate
    }
}

// MARK: Settings that few requests have

extension FetchDescription {
    /// Key paths of relationships whose objects are prefetched (FET-11).
    public var relationshipKeyPathsForPrefetching: [String] {
        get { rare?.values.prefetching ?? [] }
        set { change { $0.prefetching = newValue } }
    }

    /// The columns of dictionaries; empty for all attributes (FET-12).
    public var propertiesToFetch: [FetchColumn] {
        get { rare?.values.columns ?? [] }
        set { change { $0.columns = newValue } }
    }

    /// Key paths, or names of expressions in `propertiesToFetch`, by whose values the dictionaries are grouped (FET-14).
    public var propertiesToGroupBy: [String] {
        get { rare?.values.grouping ?? [] }
        set { change { $0.grouping = newValue } }
    }

    /// The condition on the groups (FET-15).
    public var havingPredicate: FetchPredicate? {
        get { rare?.values.having }
        set { change { $0.having = newValue } }
    }

    /// The identities of the stores to fetch from; nil for all (FET-17).
    public var affectedStores: [UUID]? {
        get { rare?.values.stores }
        set { change { $0.stores = newValue } }
    }

    /// The request with dictionaries as results.
    package var selectingDictionaries: FetchDescription {
        var request = self
        request.resultType = .dictionaries
        return request
    }

    /// False for a request with a having predicate, a list of stores or prefetched paths, which is validated each time.
    var mayHaveShape: Bool {
        guard let values = rare?.values else { return true }
        return values.having == nil && values.stores == nil && values.prefetching.isEmpty
    }

    private mutating func change(_ body: (inout RareFetchSettings.Values) -> Void) {
        var values = rare?.values ?? RareFetchSettings.Values()
        body(&values)
        rare = values == RareFetchSettings.Values() ? nil : RareFetchSettings(values)
    }
}

/// Rarely used settings. They are stored outside the request, because requests are copied often. Immutable, so that copies can share them.
package final class RareFetchSettings: Hashable, Sendable, Codable {
    struct Values: Hashable, Sendable, Codable {
        var prefetching: [String] = []
        var columns: [FetchColumn] = []
        var grouping: [String] = []
        var having: FetchPredicate?
        var stores: [UUID]?
    }

    let values: Values

    init(_ values: Values) { self.values = values }

    package static func == (a: RareFetchSettings, b: RareFetchSettings) -> Bool { a === b || a.values == b.values }
    package func hash(into hasher: inout Hasher) { values.hash(into: &hasher) }
}
