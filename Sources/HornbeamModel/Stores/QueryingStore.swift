public import Foundation

/// A custom store that answers fetches and counts itself, such as a database with a query language.
///
/// Hornbeam caches the rows of its answers, but it does not read other rows to find the results: conditions, order, offset and limit are
/// applied by the store. If the store cannot apply a part of a query exactly as Hornbeam does, `answer(_:)` returns nil. Hornbeam then calls
/// `rows(for:)`, whose result may contain more rows, and finds the results in these.
///
/// Rows have versions. A save names the versions on which its changes are based, and the store refuses it with `CustomStoreConflict` if one of
/// them is not the newest: optimistic locking.
///
/// Methods may be called on several threads at the same time, except `save`.
public protocol QueryingStore: CustomStore {
    /// The answer to a query, read from one committed state; nil if the store cannot answer it exactly.
    func answer(_ query: StoreQuery) throws -> StoreAnswer?

    /// Executes a batch update or delete atomically, and durably if the store is durable. Returns nil if the store cannot execute it exactly, and if a value
    /// would be refused, such as a unique value that is taken. Nothing may be written then: Hornbeam reads the rows, changes them, and calls `save`.
    func execute(_ batch: StoreBatch) throws -> StoreBatchAnswer?

    /// True if a save that has thrown `CustomStoreDoubt` was written. False if it was not, and never will be.
    func wasSaved(_ token: UUID) throws -> Bool

    /// Describes the execution of a query as text, for `explain`.
    func explain(_ query: StoreQuery) throws -> String

    /// The members of a to-many relationship of several objects of one entity, and the owners' own rows with all of them in `members`. Called for
    /// prefetching.
    func members(of owners: [CustomStoreKey], relationship: String) throws -> [CustomStoreRow]

    /// Calls `body`, which reads several times from the calling thread: all these reads return one committed state. The body can run several times.
    /// A store without this method reads a newer state each time.
    func readOneState(_ body: () throws -> Void) throws

    /// Called once after the store was opened. The store calls `handler` on any thread after each save of another process, with its objects. If the handler
    /// throws, the store calls it again later with the same objects. After `close`, the handler is not running and is not called. A store
    /// without announcements does nothing; the saves of other processes are then visible at the next fetch that returns their objects.
    func observeChanges(_ handler: @escaping @Sendable (ExternalChanges) throws -> Void) throws
}

extension QueryingStore {
    /// False: rows are requested as needed.
    public var isAtomic: Bool { false }

    public func members(of owners: [CustomStoreKey], relationship: String) throws -> [CustomStoreRow] {
        try owners.flatMap { try rows(for: .members(of: $0, relationship: relationship)) }
    }

    public func readOneState(_ body: () throws -> Void) throws { try body() }

    public func observeChanges(_ handler: @escaping @Sendable (ExternalChanges) throws -> Void) throws {}

    public func execute(_ batch: StoreBatch) throws -> StoreBatchAnswer? { nil }

    public func wasSaved(_ token: UUID) throws -> Bool { false }

    public func explain(_ query: StoreQuery) throws -> String {
        "fetch \(query.entity.name)\n  by the store" + (query.condition.isComplete ? "" : ": more rows, of which Hornbeam finds the results")
    }
}

/// A fetch or a count for a querying store.
public struct StoreQuery: Sendable {
    /// The kinds of query.
    public enum Kind: Hashable, Sendable {
        /// The answer has the objects in their order, and their rows.
        case objects
        /// The answer has the number of objects only.
        case count
        /// The answer has the values of `paths` for each object, in the order of the objects.
        case values
        /// The answer has the groups.
        case groups
    }

    /// The expected answer.
    public let kind: Kind
    /// The request: sort criteria, offset, limit, and whether subentities are included. Objects that are equal in all sort criteria are ordered by
    /// key.
    public let request: FetchDescription
    /// The entity of the request.
    public let entity: EntityDescription
    /// The predicate of the request.
    public let condition: StoreCondition
    /// The groups of a query of the kind `groups`; nil for other kinds.
    public let grouping: StoreGrouping?
    /// The key paths of a query of the kind `values`; empty for other kinds.
    public let paths: [[String]]
    /// The keys of objects that are no results. They are excluded before offset and limit apply.
    public let excludedKeys: Set<UInt64>
    private let cached: @Sendable (_ keys: [UInt64]) -> [UInt64?]

    /// True if Hornbeam has cached the row of an object in this version. Then the answer need not contain the row, unless it has members.
    public func isCached(_ key: UInt64, version: UInt64) -> Bool { cached([key])[0] == version }

    /// The versions of the cached rows of objects; nil for objects whose rows are not cached. One call for many objects costs less than many calls of
    /// `isCached(_:version:)`.
    public func cachedVersions(of keys: [UInt64]) -> [UInt64?] { cached(keys) }

    package init(
        _ kind: Kind, _ fetch: ValidatedFetch, excluding keys: Set<UInt64>, cached: @escaping @Sendable ([UInt64]) -> [UInt64?] = { $0.map { _ in nil } }
    ) {
        self.cached = cached
        self.kind = kind
        request = fetch.request
        entity = fetch.entity
        condition = StoreCondition(fetch.request.predicate)
        grouping = nil
        paths = []
        excludedKeys = keys
    }

    /// A query for the dictionaries of a program; nil if they have computed values, or values of another form.
    package init?(_ program: DictionaryProgram, _ fetch: ValidatedFetch) {
        grouping = StoreGrouping(program)
        let columns = program.inputs.map(\.plainPath)
        cached = { $0.map { _ in nil } }
        guard grouping != nil || !program.isGrouped && !columns.contains(nil) && !program.orderAppliesToDictionaries else { return nil }
        kind = program.isGrouped ? .groups : .values
        request = program.objects(of: fetch.request)
        entity = fetch.entity
        condition = StoreCondition(fetch.request.predicate)
        paths = program.isGrouped ? [] : columns.compactMap(\.self)
        excludedKeys = []
    }

    /// The concrete entities of the objects that can be results.
    public var entities: [EntityDescription] { request.includesSubentities ? entity.concreteDescendants : [entity] }
}

/// The answer of a store to a query.
public enum StoreAnswer: Sendable {
    /// The results in their order, with the rows of at least all of them that are not cached, in one of two forms or in both.
    case objects([CustomStoreKey], rows: [CustomStoreRow], tables: [CustomStoreTable] = [])
    /// The number of results.
    case count(Int)
    /// For each object the values of the query's paths; a to-one relationship is an object ID.
    case values([[PropertyValue]])
    /// The groups, in any order.
    case groups([StoreGroup])
}

/// Thrown by `save` of a querying store that does not know whether the changes were written, because it cannot reach its server.
///
/// Hornbeam keeps the changes in the context, and calls `wasSaved(_:)` before the context reads or saves again. So no change is written twice.
public struct CustomStoreDoubt: Error, Sendable {
    /// The save, for `wasSaved(_:)`.
    public var token: UUID
    /// The error that the app receives.
    public var error: HornbeamError

    /// A save with an unknown outcome.
    public init(token: UUID, error: HornbeamError) {
        self.token = token
        self.error = error
    }
}

/// Refuses a save because its values violate a rule of the store that the model does not have, such as a condition of a database.
///
/// A querying store throws it from `save`, after which nothing of the save may be written. The context throws the error with the IDs of the objects.
public struct CustomStoreViolation: Error, Sendable {
    /// The error that the app receives.
    public var error: HornbeamError
    /// The objects that violate the rule.
    public var objects: [CustomStoreKey]

    /// A violation by objects of the save.
    public init(error: HornbeamError, objects: [CustomStoreKey]) {
        self.error = error
        self.objects = objects
    }
}

/// Refuses a save because rows changed since they were read, or because other rows have its unique values.
///
/// A querying store throws it from `save`, after which nothing of the save may be written. Hornbeam updates its rows and checks the save again,
/// so that the context receives the same conflicts as from Hornbeam's own stores.
public struct CustomStoreConflict: Error, Sendable {
    /// The newest rows of the objects in conflict: those with other versions, and those that have the unique values.
    public var rows: [CustomStoreRow]
    /// The objects of the save that no longer exist, and those to which it refers.
    public var deleted: [CustomStoreKey]
    /// The objects outside the save that refer to objects which it deletes. Their rows are in `rows`.
    public var referring: [CustomStoreKey]

    /// A conflict with rows as they are stored now.
    public init(rows: [CustomStoreRow] = [], deleted: [CustomStoreKey] = [], referring: [CustomStoreKey] = []) {
        self.rows = rows
        self.deleted = deleted
        self.referring = referring
    }
}
