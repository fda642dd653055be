public import Foundation

/// What a fetch gives back (FET-6). Raw values are Core Data's.
public enum FetchResultType: Int, Hashable, Sendable, Codable {
    case objects = 0
    case objectIDs = 1
    case dictionaries = 2
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
    public var resultType = FetchResultType.objects
    /// False for objects of exactly the entity (FET-7).
    public var includesSubentities = true
    /// False to read IDs only and fill no row (FET-8).
    public var includesPropertyValues = true
    /// False to fill the objects at once (FET-9).
    public var returnsObjectsAsFaults = true
    /// False to leave the context's unsaved changes out of account (FET-10).
    public var includesPendingChanges = true
    /// Relationships, by key path, whose objects are fetched along (FET-11).
    public var relationshipKeyPathsForPrefetching: [String] = []
    /// The columns of dictionaries; empty for all attributes (FET-12).
    public var propertiesToFetch: [FetchColumn] = []
    /// Gives each dictionary once (FET-13).
    public var returnsDistinctResults = false
    /// Key paths whose equal values make one dictionary (FET-14).
    public var propertiesToGroupBy: [String] = []
    /// What a group must satisfy (FET-15).
    public var havingPredicate: FetchPredicate?
    /// The identities of the stores to ask; nil for all (FET-17).
    public var affectedStores: [UUID]?
    /// Gives objects that are known already the values of the store (FET-18).
    public var shouldRefreshRefetchedObjects = false

    public init(entityName: String, predicate: FetchPredicate? = nil) {
        self.entityName = entityName
        self.predicate = predicate
    }
}
