extension PropertyValue {
    /// True when a predicate's `==` holds: numbers by value whatever their type (`true` is 1), texts by
    /// UTF-8 bytes, `nil` with `nil` only, NaN with nothing.
    ///
    /// A decimal meets a double as the double that is nearest to it, so that `0.1` is `0.1`. The same holds for the
    /// members of collections; a dictionary's missing element is `nil`.
    public func isEqual(to other: PropertyValue) -> Bool {
        var work = EvaluationWork.unbounded
        let test = ComparisonTest(comparator: .equal, options: [])
        return (try? test.isEqual(.value(self), .value(other), &work)) ?? false
    }
}
