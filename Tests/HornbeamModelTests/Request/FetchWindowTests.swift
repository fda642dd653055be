import Testing

@testable import HornbeamModel

@Suite("Window of a fetch") struct FetchWindowTests {
    @Test("FET-4: the window has the results after the offset, up to the limit")
    func windowIsDropAndPrefix() {
        for count in 0 ... 6 {
            for offset in [-1, 0, 1, 3, 6, 7, .max] {
                for limit in [nil, 0, 1, 2, 6, .max] as [Int?] {
                    let window = FetchWindow(offset: offset, limit: limit)
                    let results = Array(0 ..< count)
                    let expected = Array(results.dropFirst(max(offset, 0)).prefix(limit ?? .max))
                    #expect(Array(window.of(results)) == expected, "\(window) of \(count)")
                    #expect(Array(window.of(results[...].dropFirst(0))) == expected)
                    #expect(window.count(of: count) == expected.count)
                    // The window of the first results equals that of all results.
                    #expect(Array(window.of(results.prefix(window.end ?? .max))) == expected)
                    for skippedCount in 0 ... min(max(offset, 0), count) {
                        let rest = Array(results.dropFirst(skippedCount))
                        #expect(Array(rest[window.range(of: rest.count, skippedCount: skippedCount)]) == expected)
                    }
                }
            }
        }
    }

    @Test("FET-4: offset and limit may have any integer value")
    func largestNumbersDoNotOverflow() {
        #expect(FetchWindow(offset: .max, limit: .max).end == .max)
        #expect(FetchWindow(offset: 2, limit: .max).range(of: 5) == 2 ..< 5)
        #expect(FetchWindow(offset: .max, limit: .max).range(of: 5) == 5 ..< 5)
        var request = FetchDescription(entityName: "Book")
        #expect(request.window.isWhole)
        (request.fetchOffset, request.fetchLimit) = (.max, 3)
        #expect(request.upToWindow.fetchLimit == .max)
        #expect(request.upToWindow.fetchOffset == 0)
        #expect(request.withoutWindow == FetchDescription(entityName: "Book"))
    }
}
