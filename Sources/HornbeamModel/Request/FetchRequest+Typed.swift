extension FetchSort {
    /// The direction of an order.
    public enum Direction: Hashable, Sendable {
        /// The smallest value first.
        case ascending
        /// The largest value first.
        case descending
    }
}

extension FetchRequest where Result: PredicateSubject {
    /// The request with another condition, written in Swift; it must hold beside the one that the request has.
    ///
    /// ```swift
    /// FetchRequest<Book>().where { $0.year < 1900 && $0.author.name.contains("shelley", .caseInsensitive) }
    /// ```
    /// A member that is no property of the model is refused when the request is run.
    public func `where`(_ condition: (FetchPath<Result>) -> FetchPredicate) -> Self { `where`(condition(.root)) }

    /// The request with another criterion of order after those that it has: `.sorted(by: \.author.name, .descending)`.
    public func sorted<Value>(
        by path: KeyPath<FetchPath<Result>, FetchPath<Value>>, _ direction: FetchSort.Direction = .ascending,
        comparison: FetchSort.Comparison = .standard
    ) -> Self {
        sorted(by: path.format(), ascending: direction == .ascending, comparison: comparison)
    }

    /// The request that fetches the objects of these relationships along: `.prefetching(\.author, \.author.books)`.
    public func prefetching<each Value>(_ paths: repeat KeyPath<FetchPath<Result>, FetchPath<each Value>>) -> Self {
        var request = self
        for path in repeat each paths { request.relationshipKeyPathsForPrefetching.append(path.format()) }
        return request
    }
}

extension KeyPath {
    /// The path as keys of requests write it: `author.name`.
    package func format<Object: PredicateSubject, Member>() -> String where Root == FetchPath<Object>, Value == FetchPath<Member> {
        Root.root[keyPath: self].expression.requestKey
    }
}

extension FetchExpression {
    /// The names of a path of plain names, joined by dots; else the format. A request's keys write reserved words as they are.
    package var requestKey: String { plainPath ?? expressionFormat }

    /// Nil for what is not a path of plain names.
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
