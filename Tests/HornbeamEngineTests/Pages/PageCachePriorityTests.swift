import Testing
@testable import HornbeamEngine

/// Which records are removed from the page cache after they were read, and which are read with their blocks.
@Suite struct PageCachePriorityTests {
    private static let device = PageCachePriority.deviceReadMin

    /// A priority, as a class that `#expect` can copy a reference to.
    private final class Subject {
        let priority = PageCachePriority()

        func action(_ kind: PageKind, _ nanoseconds: UInt64) -> PageCachePriority.Action { priority.action(after: kind, readNanoseconds: nanoseconds) }
        func removes(_ kind: PageKind, readNanoseconds: UInt64) -> Bool { action(kind, readNanoseconds) == .remove }
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

    @Test(arguments: [PageKind.indexLeaf, .tableLeaf]) func leavesAreReadWithTheirBlocksWhileThePageCacheHasAShareOfThem(kind: PageKind) {
        let priority = Subject()
        for _ in 0..<100 { #expect(priority.action(kind, Self.device) == .keep, "Nothing is known of the page cache.") }
        let other: PageKind = kind == .indexLeaf ? .tableLeaf : .indexLeaf
        // The leaves of the table that are due for removal.
        for _ in 0..<PageCachePriority.removalsMax { _ = priority.action(.tableLeaf, Self.device) }
        for _ in 0..<200 { #expect(priority.action(other, Self.device - 1) == .keep, "It was in the page cache.") }
        #expect(priority.action(kind, Self.device) == .readAround)
        #expect(priority.action(.inner, Self.device) == .keep && priority.action(.blobChunk, Self.device) == .keep)
        for _ in 0..<1000 { _ = priority.action(.tableLeaf, Self.device) }
        #expect(priority.action(kind, Self.device) == .keep, "The page cache has few leaves.")
    }

    @Test func aLeafThatIsRemovedIsNotReadWithItsBlock() {
        let priority = Subject()
        for _ in 0..<1000 { _ = priority.action(.indexLeaf, 0) }
        #expect(priority.action(.indexLeaf, Self.device) == .readAround)
        for _ in 0..<PageCachePriority.removedForEach { #expect(priority.action(.tableLeaf, Self.device) == .remove) }
        #expect(priority.action(.tableLeaf, Self.device) == .readAround)
    }
}
