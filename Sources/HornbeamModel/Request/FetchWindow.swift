/// The part of a fetch's results that its offset and limit leave (FET-4).
package struct FetchWindow: Hashable, Sendable {
    /// How many of the first results are left out.
    package let offset: Int
    /// The most results to give; nil for all.
    package let limit: Int?

    package init(offset: Int = 0, limit: Int? = nil) {
        self.offset = max(offset, 0)
        self.limit = limit
    }

    /// True when every result is in the window.
    package var isWhole: Bool { offset == 0 && limit == nil }

    /// How many results must be known before the window can be cut out; nil for all.
    package var end: Int? { limit.map { Self.sum(offset, $0) } }

    /// The places of the window among `count` results.
    ///
    /// - Parameter leftOut: How many results of the offset are not among those counted.
    package func range(of count: Int, leftOut: Int = 0) -> Range<Int> {
        let start = min(max(offset - leftOut, 0), count)
        return start ..< min(limit.map { Self.sum(start, $0) } ?? count, count)
    }

    /// How many of `count` results are in the window.
    package func count(of count: Int) -> Int { range(of: count).count }

    /// The results in the window.
    package func of<Results: RandomAccessCollection>(_ results: Results) -> Results.SubSequence where Results.Index == Int {
        let range = range(of: results.count)
        return results[results.startIndex + range.lowerBound ..< results.startIndex + range.upperBound]
    }

    /// Offset and limit may be as large as numbers are.
    private static func sum(_ a: Int, _ b: Int) -> Int {
        let (sum, isOverflow) = a.addingReportingOverflow(b)
        return isOverflow ? .max : sum
    }
}

extension FetchDescription {
    /// The part of the results that the request is for.
    package var window: FetchWindow { FetchWindow(offset: fetchOffset, limit: fetchLimit > 0 ? fetchLimit : nil) }

    /// The request without offset and limit.
    package var withoutWindow: FetchDescription {
        var request = self
        request.fetchLimit = 0
        request.fetchOffset = 0
        return request
    }

    /// The request for the results up to the end of the window, for who merges results of several sources before the window is cut out.
    package var upToWindow: FetchDescription {
        var request = withoutWindow
        request.fetchLimit = window.end ?? 0
        return request
    }
}
