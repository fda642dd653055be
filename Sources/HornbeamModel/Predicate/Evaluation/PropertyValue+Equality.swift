extension PropertyValue {
    /// True when a predicate's `==` is true: numbers compare by value regardless of their type (`true` is 1), texts by
    /// UTF-8 bytes; nil equals only nil, and NaN equals no value.
    ///
    /// A decimal is compared with a double as its nearest double, so that `0.1` equals `0.1`. The same rules apply to the
    /// elements of collections; a missing element of a dictionary is nil.
    public func isEqual(to other: PropertyValue) -> Bool {
        var work = EvaluationBudget.unbounded
        let test = ComparisonTest(comparator: .equal, options: [])
        return (try? test.isEqual(.value(self), .value(other), &work)) ?? false
    }
}
