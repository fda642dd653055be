import Testing

@testable import HornbeamEngine

@Suite struct KeyFilterTests {
    /// The largest permitted share of keys that seem to be there, by the number of bytes for a key.
    @Test(arguments: [(1, 0.05), (2, 0.005)])
    func allKeysAreFoundAndFewOthers(bytes: Int, share: Double) {
        let count = 20_000
        let filter = KeyFilter(bytes: bytes * count)
        func hash(_ number: Int) -> UInt64 { Array("key \(number)".utf8).withBorrowedBytes { KeyFilter.hash($0) } }
        for number in 0..<count { filter.insert(hash(number)) }
        #expect((0..<count).allSatisfy { filter.mayContain(hash($0)) })
        let others = (count..<3 * count).count { filter.mayContain(hash($0)) }
        #expect(Double(others) < share * Double(2 * count))
        print("key filter: \(others) of \(2 * count) other keys seem to be there, \(bytes) bytes a key")
    }

    @Test func theSmallestFilterHasOneBlock() {
        let filter = KeyFilter(bytes: 0)
        filter.insert(.max)
        #expect(filter.mayContain(.max) && !filter.mayContain(1))
    }
}
