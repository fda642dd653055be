import Testing
@testable import HornbeamEngine

/// Which records are removed from the page cache after they were read.
@Suite struct PageCachePriorityTests {
    private static let device = PageCachePriority.deviceReadMin

    /// A priority, as a class that `#expect` can copy a reference to.
    private final class Subject {
        let priority = PageCachePriority()

        func removes(_ kind: PageKind, readNanoseconds: UInt64) -> Bool { priority.removes(kind, readNanoseconds: readNanoseconds) }
    }

    @Test func leavesOfTablesStayWhileNoIndexComesFromTheDevice() {
        let priority = Subject()
        for _ in 0..<100 {
            #expect(!priority.removes(.tableLeaf, readNanoseconds: Self.device))
            #expect(!priority.removes(.indexLeaf, readNanoseconds: Self.device - 1))
        }
    }

    @Test func leavesOfTablesAreRemovedWhileIndexesComeFromTheDevice() {
        let priority = Subject()
        for _ in 0..<1000 {
            #expect(!priority.removes(.indexLeaf, readNanoseconds: Self.device))
            #expect(priority.removes(.tableLeaf, readNanoseconds: Self.device))
            #expect(!priority.removes(.inner, readNanoseconds: Self.device) && !priority.removes(.blobChunk, readNanoseconds: Self.device))
        }
    }

    @Test func leavesOfTablesFromThePageCacheStayThere() {
        let priority = Subject()
        #expect(!priority.removes(.indexLeaf, readNanoseconds: Self.device))
        for _ in 0..<100 { #expect(!priority.removes(.tableLeaf, readNanoseconds: Self.device - 1)) }
        #expect(priority.removes(.tableLeaf, readNanoseconds: Self.device))
    }

    @Test(arguments: [1, 10, 100_000]) func leavesOfTablesStayAgainSomeReadsAfterTheLastIndex(indexes: Int) {
        let priority = Subject()
        for _ in 0..<indexes { _ = priority.removes(.indexLeaf, readNanoseconds: Self.device) }
        var removed = 0
        while removed <= PageCachePriority.removalsMax, priority.removes(.tableLeaf, readNanoseconds: Self.device) { removed += 1 }
        #expect(removed == min(PageCachePriority.removedForEach * indexes, PageCachePriority.removalsMax))
    }
}
