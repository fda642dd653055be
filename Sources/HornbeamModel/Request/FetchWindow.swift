/// The part of a fetch's results that its offset and limit select (FET-4).
package struct FetchWindow: Hashable, Sendable {
    /// The number of results to skip at the start.
    package let offset: Int
    /// The maximum number of results; nil for all.
    package let limit: Int?

    package init(offset: Int = 0, limit: Int? = nil) {
        self.offset = max(offset, 0)
        self.limit = limit
    }

    /// True when every result is in the window.
    package var isWhole: Bool { offset == 0 && limit == nil }

    /// The number of results from the first to the end of the window; nil without a limit.
    package var end: Int? { limit.map { Self.sum(offset, $0) } }

    /// The range of the window in `count` results.
    ///
    /// - Parameter skippedCount: The number of results that were skipped before, which `count` does not include.
    package func range(of count: Int, skippedCount: Int = 0) -> Range<Int> {
        let start = min(max(offset - skippedCount, 0), count)
        return start ..< min(limit.map { Self.sum(start, $0) } ?? count, count)
    }

    /// The number of results in the window, out of `count`.
    package func count(of count: Int) -> Int { range(of: count).count }

    /// The results in the window.
    package func of<Results: RandomAccessCollection>(_ results: Results) -> Results.SubSequence where Results.Index == Int {
        let range = range(of: results.count)
        return results[results.startIndex + range.lowerBound ..< results.startIndex + range.upperBound]
    }

    /// The sum, at most `Int.max`: offset and limit may be very large.
    private static func sum(_ a: Int, _ b: Int) -> Int {
        let (sum, isOverflow) = a.addingReportingOverflow(b)
        return isOverflow ? .max : sum
    }
}

extension FetchDescription {
    /// The part of the results that the request returns.
    package var window: FetchWindow { FetchWindow(offset: fetchOffset, limit: fetchLimit > 0 ? fetchLimit : nil) }

    /// The request without offset and limit.
    package var withoutWindow: FetchDescription {
        var request = self
        request.fetchLimit = 0
        request.fetchOffset = 0
        return request
    }

    /// The request for the results up to the end of the window, for callers that merge results of several sources before they apply the offset.
    package var upToWindow: FetchDescription {
        var request = withoutWindow
        request.fetchLimit = window.end ?? 0
        return request
    }
}
