/// A fetch whose results have a Swift type.
///
/// ```swift
/// var request = FetchRequest<Book>(entityName: "Book")
/// request.predicate = try FetchPredicate(format: "pages > %d", 100)
/// request.sortDescriptors = [FetchSort("title")]
/// request.fetchLimit = 20
/// ```
/// or in one expression:
/// ```swift
/// FetchRequest<Book>(entityName: "Book").where("pages > %d", 100).sorted(by: "title").limit(20)
/// ```
/// The settings are those of `FetchDescription`. A request is a `Sendable` value that can be used in any
/// context (FET-24).
@dynamicMemberLookup
public struct FetchRequest<Result>: Sendable {
    /// The settings without the type of the results.
    public var untyped: FetchDescription

    /// A request with the given settings. The caller must ensure that `Result` is the type of their results.
    public init(_ untyped: FetchDescription) { self.untyped = untyped }

    /// A request for the objects of an entity, with a condition and an order.
    public init(entityName: String, predicate: FetchPredicate? = nil, sortedBy sorts: [FetchSort] = []) {
        untyped = FetchDescription(entityName: entityName, predicate: predicate)
        untyped.sortDescriptors = sorts
    }

    /// A setting of `FetchDescription`, such as `fetchLimit`.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<FetchDescription, Value>) -> Value {
        get { untyped[keyPath: setting] }
        set { untyped[keyPath: setting] = newValue }
    }
}

extension FetchRequest {
    /// The request with an additional condition. All conditions must be true.
    public func `where`(_ predicate: FetchPredicate) -> Self {
        changing { $0.predicate = $0.predicate.map { $0 && predicate } ?? predicate }
    }

    /// The request with an additional condition as a format.
    ///
    /// - Throws: `HornbeamError` with code `predicateSyntax`.
    public func `where`(_ format: String, _ arguments: (any PredicateArgument)?...) throws -> Self {
        `where`(try FetchPredicate(format: format, arguments: arguments))
    }

    /// The request with an additional sort criterion at the end.
    public func sorted(by keyPath: String, ascending: Bool = true, comparison: FetchSort.Comparison = .standard) -> Self {
        changing { $0.sortDescriptors.append(FetchSort(keyPath, ascending: ascending, comparison: comparison)) }
    }

    /// The request with at most `count` results; 0 for all.
    public func limit(_ count: Int) -> Self { changing { $0.fetchLimit = count } }

    /// The request without its first `count` results.
    public func offset(_ count: Int) -> Self { changing { $0.fetchOffset = count } }

    /// The request that reads `count` rows at a time as results are accessed.
    public func batches(of count: Int) -> Self { changing { $0.fetchBatchSize = count } }

    /// The request with prefetching of the given relationships.
    public func prefetching(_ keyPaths: String...) -> Self {
        changing { $0.relationshipKeyPathsForPrefetching += keyPaths }
    }

    /// Validates the request for a model and returns it. A context validates it again before it reads.
    ///
    /// - Throws: `HornbeamError` with code `unknownEntity`; `predicateInvalid` with all unknown keys, incomparable types and
    ///   impossible settings.
    public func validated(in model: ManagedObjectModel) throws -> Self {
        try untyped.validate(for: model.entity(named: untyped.entityName))
        return self
    }

    /// The request with dictionaries of these columns as results (FET-12).
    ///
    /// ```swift
    /// let request = FetchRequest<Book>().selecting("author.name", .count(as: "books"), .sum(of: "pages", as: "pages"))
    ///     .grouped(by: "author.name")
    /// for row in try context.fetch(request) { print(row["author.name"]!, row["books"]!) }
    /// ```
    public func selecting(_ columns: FetchColumn...) -> FetchRequest<[String: PropertyValue]> {
        var request = FetchRequest<[String: PropertyValue]>(untyped)
        request.untyped.resultType = .dictionaries
        request.untyped.propertiesToFetch += columns
        return request
    }

    /// The request with the IDs of its results (FET-6).
    public func selectingIDs() -> FetchRequest<ManagedObjectID> {
        var request = FetchRequest<ManagedObjectID>(untyped)
        request.untyped.resultType = .objectIDs
        return request
    }

    fileprivate func changing(_ change: (inout FetchDescription) -> Void) -> Self {
        var request = self
        change(&request.untyped)
        return request
    }
}

extension FetchRequest where Result == [String: PropertyValue] {
    /// The request with one dictionary per combination of values of these key paths (FET-14). The name of a column with an expression groups by the
    /// values of the expression.
    public func grouped(by keyPaths: String...) -> Self { changing { $0.propertiesToGroupBy += keyPaths } }

    /// The request with a condition on groups: on grouped values, totals, or names of columns (FET-15).
    ///
    /// - Throws: `HornbeamError` with code `predicateSyntax`.
    public func having(_ format: String, _ arguments: (any PredicateArgument)?...) throws -> Self {
        let predicate = try FetchPredicate(format: format, arguments: arguments)
        return changing { $0.havingPredicate = $0.havingPredicate.map { $0 && predicate } ?? predicate }
    }

    /// The request that returns equal dictionaries only once (FET-13).
    public func distinct() -> Self { changing { $0.returnsDistinctResults = true } }
}

extension FetchRequest: Hashable, Codable {}
