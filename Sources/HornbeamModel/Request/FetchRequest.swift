/// A fetch of which the results have a known Swift type.
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
/// All settings are those of `FetchDescription`. A request is a value: it may be kept, changed as a
/// copy, and given to any context, in any isolation (FET-24).
@dynamicMemberLookup
public struct FetchRequest<Result>: Sendable {
    /// The settings without the type of the results.
    public var untyped: FetchDescription

    public init(_ untyped: FetchDescription) { self.untyped = untyped }

    public init(entityName: String, predicate: FetchPredicate? = nil, sortedBy sorts: [FetchSort] = []) {
        untyped = FetchDescription(entityName: entityName, predicate: predicate)
        untyped.sortDescriptors = sorts
    }

    public subscript<Value>(dynamicMember setting: WritableKeyPath<FetchDescription, Value>) -> Value {
        get { untyped[keyPath: setting] }
        set { untyped[keyPath: setting] = newValue }
    }
}

extension FetchRequest {
    /// The request with another condition, which must hold beside the one it has.
    public func `where`(_ predicate: FetchPredicate) -> Self {
        changing { $0.predicate = $0.predicate.map { $0 && predicate } ?? predicate }
    }

    /// The request with another condition, written as a format.
    ///
    /// - Throws: `HornbeamError` with code `predicateSyntax`.
    public func `where`(_ format: String, _ arguments: (any PredicateArgument)?...) throws -> Self {
        `where`(try FetchPredicate(format: format, arguments: arguments))
    }

    /// The request with another criterion of order after those it has.
    public func sorted(by keyPath: String, ascending: Bool = true, comparison: FetchSort.Comparison = .standard) -> Self {
        changing { $0.sortDescriptors.append(FetchSort(keyPath, ascending: ascending, comparison: comparison)) }
    }

    /// The request for `count` results at most; 0 for all.
    public func limit(_ count: Int) -> Self { changing { $0.fetchLimit = count } }

    /// The request without its first `count` results.
    public func offset(_ count: Int) -> Self { changing { $0.fetchOffset = count } }

    /// The request that reads `count` rows at a time as results are touched.
    public func batches(of count: Int) -> Self { changing { $0.fetchBatchSize = count } }

    /// The request that fetches the objects of these relationships along.
    public func prefetching(_ keyPaths: String...) -> Self {
        changing { $0.relationshipKeyPathsForPrefetching += keyPaths }
    }

    private func changing(_ change: (inout FetchDescription) -> Void) -> Self {
        var request = self
        change(&request.untyped)
        return request
    }
}

extension FetchRequest: Hashable, Codable {}
