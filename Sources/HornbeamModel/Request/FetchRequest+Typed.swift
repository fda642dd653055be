extension FetchSort {
    /// The direction of a sort order.
    public enum Direction: Hashable, Sendable {
        /// Ascending order.
        case ascending
        /// Descending order.
        case descending
    }
}

extension FetchRequest where Result: PredicateSubject {
    /// The request with an additional condition in Swift. All conditions must be true.
    ///
    /// ```swift
    /// FetchRequest<Book>().where { $0.year < 1900 && $0.author.name.contains("shelley", .caseInsensitive) }
    /// ```
    /// If the condition uses a member that is not a property of the model, executing the request throws an error.
    public func `where`(_ condition: (FetchPath<Result>) -> FetchPredicate) -> Self { `where`(condition(.root)) }

    /// The request with an additional sort criterion at the end: `.sorted(by: \.author.name, .descending)`.
    public func sorted<Value>(
        by path: KeyPath<FetchPath<Result>, FetchPath<Value>>, _ direction: FetchSort.Direction = .ascending,
        comparison: FetchSort.Comparison = .standard
    ) -> Self {
        sorted(by: path.format(), ascending: direction == .ascending, comparison: comparison)
    }

    /// The request with prefetching of these relationships: `.prefetching(\.author, \.author.books)`.
    public func prefetching<each Value>(_ paths: repeat KeyPath<FetchPath<Result>, FetchPath<each Value>>) -> Self {
        var request = self
        for path in repeat each paths { request.relationshipKeyPathsForPrefetching.append(path.format()) }
        return request
    }
}

extension KeyPath {
    /// The path as a key path of a request: `author.name`.
    package func format<Object: PredicateSubject, Member>() -> String where Root == FetchPath<Object>, Value == FetchPath<Member> {
        Root.root[keyPath: self].expression.requestKey
    }
}

extension FetchExpression {
    /// The names of a plain path, joined by dots; else the format. In key paths of a request, reserved words are not escaped.
    package var requestKey: String { plainPath ?? expressionFormat }

    /// The names of a path without operators, joined by dots; nil for other expressions.
    package var plainPath: String? {
        guard case .keyPath(.evaluatedObject, let steps) = node else { return nil }
        var names: [String] = []
        for step in steps {
            guard case .name(let name) = step else { return nil }
            names.append(name)
        }
        return names.joined(separator: ".")
    }
}
