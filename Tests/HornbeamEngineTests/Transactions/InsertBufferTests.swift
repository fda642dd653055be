import Testing

@testable import HornbeamEngine

/// Batches in an index that is larger than a quarter of the pool go into its insert buffer; the index answers as if all entries were in one tree.
@Suite struct InsertBufferTests {
    private let store: TestStore
    private let index: TreeID

    /// An index with some hundred entries, in a pool of 32 pages.
    init() throws { try self.init(attachThreshold: nil) }

    private init(attachThreshold: Int?) throws {
        store = try TestStore { if let attachThreshold { $0.attachThreshold = attachThreshold } }
        index = try store.write { try $0.createIndex(named: "t") }
        try store.write { [index] transaction in
            for number in 0..<600 { try transaction.put(Self.key(number), [1], in: index) }
        }
    }

    private static func key(_ number: Int) -> [UInt8] { unsafe withUnsafeBytes(of: (UInt64(number) &* 0x9E37_79B9_7F4A_7C15).bigEndian) { unsafe Array($0) } }

    private static func batch(_ entries: [(key: [UInt8], value: [UInt8])]) -> EntryBatch {
        let batch = EntryBatch()
        for (key, value) in entries { unsafe key.withUnsafeBytes { key in unsafe value.withUnsafeBytes { unsafe batch.append(key, $0) } } }
        return batch
    }

    private static func batch(_ numbers: Range<Int>, value: [UInt8] = [2]) -> EntryBatch { batch(numbers.map { (key($0), value) }) }

    /// The number of entries in the insert buffer; nil if there is none.
    private func buffered() throws -> Int? {
        let snapshot = try store.engine.snapshot()
        return try snapshot.tree(named: "t/insert-buffer").map { try snapshot.index($0).count }
    }

    private func model(_ numbers: Range<Int>) -> [[UInt8]: [UInt8]] {
        Dictionary(uniqueKeysWithValues: numbers.map { (Self.key($0), $0 < 600 ? [1] : [2]) })
    }

    /// Without a threshold, transactions that change many nodes write pages in place of redo, and so change the trees leaf by leaf.
    @Test(arguments: 1...4 as ClosedRange<UInt64>, [nil, 0])
    func answersAsASortedArrayDoes(_ seed: UInt64, attachThreshold: Int?) throws {
        try InsertBufferTests(attachThreshold: attachThreshold).answerAsASortedArrayDoes(seed)
    }

    private func answerAsASortedArrayDoes(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var model = model(0..<600)
        var largest = 0
        func key() -> [UInt8] { Self.key(.random(in: 0..<2500, using: &random)) }
        for round in 0..<40 {
            let transaction = try store.engine.begin()
            var changed = model
            for _ in 0..<6 {
                switch Int.random(in: 0..<8, using: &random) {
                case 0..<3:
                    let entries = (0..<Int.random(in: 1...60, using: &random)).map { _ in (key: key(), value: [UInt8](repeating: UInt8(round), count: 9)) }
                    try transaction.put(Self.batch(entries), in: index)
                    for (key, value) in entries { changed[key] = value }
                case 3:
                    let entries = (0..<20).map { _ in (key: key(), value: [UInt8(round)]) }.filter { changed[$0.key] == nil }
                    let different = Dictionary(entries.map { ($0.key, $0.value) }) { first, _ in first }
                    #expect(try transaction.putNew(Self.batch(different.map { ($0.key, $0.value) }), in: index) == nil)
                    changed.merge(different) { _, new in new }
                case 4:
                    let (key, value) = (key(), [UInt8](repeating: 200, count: Int.random(in: 0..<600, using: &random)))
                    try transaction.put(key, value, in: index)
                    changed[key] = value
                case 5:
                    let key = key()
                    let isNew = try transaction.putNew(key, [7], in: index)
                    #expect(isNew == (changed[key] == nil))
                    if isNew { changed[key] = [7] }
                case 6:
                    for _ in 0..<20 {
                        let key = key()
                        let isDeleted = try transaction.delete(key, from: index)
                        #expect(isDeleted == (changed[key] != nil))
                        changed[key] = nil
                    }
                default:
                    try transaction.deleteEntries(of: [UInt64(0x0101_0101_0101_0101) &* UInt64(max(round - 9, 1))], at: .startOfValue, from: index)
                    changed = changed.filter { $0.value.count < 8 || $0.value.prefix(8) != [UInt8](repeating: UInt8(max(round - 9, 1)), count: 8)[...] }
                }
            }
            try #require(IndexModel.contents(try transaction.index(index)) == changed, "seed \(seed), round \(round)")
            try IndexModel.expectEqual(try transaction.index(index), changed)
            if round % 4 == 3 {
                transaction.abort()
            } else {
                _ = try transaction.commit()
                model = changed
            }
            if round % 5 == 4 { try store.engine.checkpoint() }
            if round % 11 == 10 { try store.reopen() }
            let view = try store.engine.snapshot().index(index)
            try IndexModel.expectEqual(view, model)
            try IndexModel.expectRanges(view, model, &random) { Self.key(.random(in: 0..<2500, using: &$0)) }
            largest = max(largest, try buffered() ?? 0)
        }
        #expect(largest > 50, "The entries of batches are buffered.")
        #expect(try store.engine.check().problems == [])
    }

    @Test func entriesMoveToTheIndexWhenTheBufferIsFull() throws {
        for start in stride(from: 600, to: 1800, by: 40) {
            try store.write { try $0.put(Self.batch(start..<start + 40), in: index) }
            let count = try #require(try buffered())
            #expect(count <= 32 / 4 * 64)
        }
        let count = try #require(try buffered())
        #expect(count > 100 && count < 800, "Some entries have moved.")
        try IndexModel.expectEqual(try store.engine.snapshot().index(index), model(0..<1800))
    }

    @Test(arguments: [0, 599, 600, 639])
    func aBatchWithAKeyOfTheIndexOrOfItsBufferIsRefused(number: Int) throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        #expect(try buffered() == 40)
        let transaction = try store.engine.begin()
        let entries = (640..<660).map { (Self.key($0), [3 as UInt8]) } + [(Self.key(number), [3])]
        #expect(try transaction.putNew(Self.batch(entries), in: index) == 20)
        transaction.abort()
        try IndexModel.expectEqual(try store.engine.snapshot().index(index), model(0..<640))
    }

    @Test func aBatchReplacesTheValuesOfKeysInBoth() throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        try store.write { try $0.put(Self.batch([(Self.key(1), [8]), (Self.key(601), [9]), (Self.key(700), [10])]), in: index) }
        var expected = model(0..<640)
        (expected[Self.key(1)], expected[Self.key(601)], expected[Self.key(700)]) = ([8], [9], [10])
        try IndexModel.expectEqual(try store.engine.snapshot().index(index), expected)
    }

    /// The filter of an aborted transaction lacks the keys that the index gets while it has no buffer.
    @Test func keysThatWerePutAfterAnAbortedBatchAreFound() throws {
        let transaction = try store.engine.begin()
        try transaction.put(Self.batch(600..<640), in: index)
        transaction.abort()
        #expect(try buffered() == nil)
        try store.write { try $0.put(Self.key(900), [4], in: index) }
        let next = try store.engine.begin()
        #expect(try next.putNew(Self.batch(900..<930), in: index) == 0)
        next.abort()
    }

    @Test func keysThatArePutWhileTheIndexHasABufferAreFound() throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        try store.write { try $0.put(Self.key(900), [4], in: index) }
        let transaction = try store.engine.begin()
        #expect(try transaction.putNew(Self.batch(900..<930), in: index) == 0)
        transaction.abort()
    }

    @Test(arguments: [false, true])
    func droppingAnIndexDropsItsBuffer(isReopened: Bool) throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        try store.engine.checkpoint()
        try store.write { try $0.drop(index) }
        if isReopened { try store.reopen() }
        #expect(try store.engine.snapshot().treeNames == [])
        let again = try store.write { try $0.createIndex(named: "t") }
        #expect(try store.engine.snapshot().index(again).count == 0)
        #expect(try store.engine.check().problems == [])
    }

    /// The index is larger than its buffer, so it probably has a key. A leaf of the buffer that is in memory is searched before one of the index is read.
    @Test func aLookupReadsNoLeafOfTheBufferForAKeyOfTheIndex() throws {
        for start in stride(from: 600, to: 800, by: 40) { try store.write { try $0.put(Self.batch(start..<start + 40), in: index) } }
        let buffered = try (0..<40).map { try #require(try views().buffer.entry(at: $0)).key }
        try store.reopen()
        let (view, buffer) = try views()
        for number in 0..<5 { #expect(try view.get(Self.key(number)) == [1]) }
        #expect(try Self.leavesInMemory(buffer) == 0)
        #expect(try view.get(buffered[0]) == [2])
        #expect(try Self.leavesInMemory(buffer) == 1)
        // Another key of the same leaf, which belongs to a leaf of the index that was not read.
        let other = try #require(try buffered.first { try Self.isLeafOnDisk(view, $0) && !Self.isLeafOnDisk(buffer, $0) })
        #expect(try view.get(other) == [2])
        #expect(try Self.isLeafOnDisk(view, other))
        #expect(try view.get(Self.key(5000)) == nil)
    }

    private func views() throws -> (index: IndexView, buffer: IndexView) {
        let view = try store.engine.snapshot().index(index)
        return (view, try #require(view.buffer?.view))
    }

    private static func isLeafOnDisk(_ view: IndexView, _ key: [UInt8]) throws -> Bool {
        try key.withBorrowedBytes { bytes throws(EngineError) in
            try view.root.reading { () throws(EngineError) in try view.root.leafOnDisk { $0.childIndex(for: bytes) } != nil }
        }
    }

    /// The number of leaves of a tree that are in the pool. The root must be no leaf.
    private static func leavesInMemory(_ view: IndexView) throws -> Int {
        try view.root.reading { () throws(EngineError) in
            func count(_ frame: UInt32) throws(EngineError) -> Int {
                let node = SlottedNode(view.root.pool.page(frame))
                if node.page.level == 1 { return (0..<node.count).count { view.root.pool.childInMemory(node, $0) != nil } }
                var sum = 0
                for i in 0..<node.count { sum += try count(try view.root.pool.child(node, i)) }
                return sum
            }
            return try count(try view.root.frame())
        }
    }

    @Test func theReadablePartOfAnIndexHasItsBuffer() throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        let snapshot = try store.engine.snapshot()
        let readable = try snapshot.readable(index, store.engine.leafSearch())
        var found: [[UInt8]: [UInt8]] = [:]
        try unsafe readable.forEachEntry { (key, value) throws(EngineError) in unsafe found[Array(key)] = unsafe value.map { unsafe Array($0) } }
        #expect(found == model(0..<640))
        #expect(readable.count == 640 && readable.gaps.isEmpty)
        #expect(snapshot.allTrees.map(\.name) == ["", "t"])
    }

    @Test func batchesInTheOrderOfTheKeysNeedNoBuffer() throws {
        let index = try store.write { try $0.createIndex(named: "ascending") }
        func key(_ number: Int) -> [UInt8] { unsafe withUnsafeBytes(of: UInt64(number).bigEndian) { unsafe Array($0) } }
        for start in stride(from: 0, to: 2000, by: 50) {
            try store.write { try $0.put(Self.batch((start..<start + 50).map { (key($0), [1]) }), in: index) }
        }
        let snapshot = try store.engine.snapshot()
        #expect(snapshot.treeNames == ["ascending", "t"])
        #expect(try snapshot.index(index).count == 2000)
    }

    /// A large batch has many entries for each leaf, so it is put directly, although the index has a buffer.
    @Test(arguments: [nil, 3, 620] as [Int?])
    func aLargeBatchIsPutDirectlyBesideTheBuffer(taken: Int?) throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        let transaction = try store.engine.begin()
        let numbers = Array(640..<1239) + [taken ?? 1239]
        let existing = try transaction.putNew(Self.batch(numbers.map { (Self.key($0), [2]) }), in: index)
        #expect(existing == taken.map { _ in 599 })
        guard taken == nil else { return transaction.abort() }
        _ = try transaction.commit()
        #expect(try buffered() == 40)
        try IndexModel.expectEqual(try store.engine.snapshot().index(index), model(0..<1240))
        let next = try store.engine.begin()
        #expect(try next.putNew(Self.batch(1200..<1230), in: index) != nil)
        next.abort()
    }

    @Test func aDeleteOfAKeyThatIsNotBufferedLeavesTheBufferAsItIs() throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        func root() throws -> PageReference {
            let snapshot = try store.engine.snapshot()
            return try snapshot.version.record(#require(snapshot.tree(named: "t/insert-buffer"))).root
        }
        let before = try root()
        try store.write { _ = try $0.delete(Self.key(3), from: index) }
        #expect(try root() == before)
        try store.write { _ = try $0.delete(Self.key(603), from: index) }
        #expect(try root() != before)
    }

    @Test(arguments: [false, true])
    func aBatchOfOneEntryIsDeferred(hasBuffer: Bool) throws {
        if hasBuffer { try store.write { try $0.put(Self.batch(600..<640), in: index) } }
        let transaction = try store.engine.begin()
        try transaction.put(Self.batch(700..<701), in: index)
        try transaction.put(EntryBatch(), in: index)
        #expect(transaction.isDeferred)
        transaction.abort()
    }

    @Test func aCheckpointNamesTheFeature() throws {
        try store.engine.checkpoint()
        #expect(!store.engine.checkpointer.latest.hasInsertBuffers)
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        try store.engine.checkpoint()
        #expect(store.engine.checkpointer.latest.hasInsertBuffers)
        try store.reopen()
        #expect(store.engine.checkpointer.latest.hasInsertBuffers)
    }

    // MARK: Damage

    /// Puts an entry into the buffer itself, as damage or a forged log may.
    private func forge(_ key: [UInt8], _ value: [UInt8]) throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        let buffer = try #require(try store.engine.snapshot().tree(named: "t/insert-buffer"))
        try store.write { try $0.put(key, value, in: buffer) }
    }

    /// Puts batches until all entries have moved.
    private func moveAll() throws {
        for start in stride(from: 1000, to: 3000, by: 40) { try store.write { try $0.put(Self.batch(start..<start + 40), in: index) } }
    }

    @Test func aKeyInBothTreesIsReportedAndDoesNotMove() throws {
        try forge(Self.key(7), [9])
        #expect(try store.engine.check().problems == ["Tree t has a key that its insert buffer has too."])
        let error = #expect(throws: EngineError.self) { try moveAll() }
        #expect(error?.code == .damaged)
    }

    @Test func theComparisonWithTheBufferReportsProgressAndCanBeCancelled() throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        var parts: [WorkProgress] = []
        _ = try store.engine.check { (progress) throws(EngineError) in parts.append(progress) }
        let count = try #require(try buffered())
        #expect(parts.last == WorkProgress(part: "insert buffer", done: 0, total: count))
        let error = #expect(throws: EngineError.self) {
            _ = try store.engine.check { (progress) throws(EngineError) in if progress.part == "insert buffer" { throw .workCancelled } }
        }
        #expect(error?.code == .cancelled)
    }

    /// The entries have left the buffer when the key is found in the index.
    @Test func aTransactionThatCouldNotMoveAllEntriesCannotBeCommitted() throws {
        try forge(Self.key(7), [9])
        let transaction = try store.engine.begin()
        try transaction.applyDeferred()
        transaction.redo.abandon()
        let error = #expect(throws: EngineError.self) {
            for start in stride(from: 1000, to: 3000, by: 40) { try transaction.put(Self.batch(start..<start + 40), in: index) }
        }
        #expect(error?.code == .damaged)
        #expect(throws: EngineError.self) { try transaction.commit() }
        #expect(try IndexModel.contents(try store.engine.snapshot().index(index)) == model(0..<640).merging([Self.key(7): [9]]) { $1 })
    }

    @Test func anEntryOfTheBufferThatIsTooLargeDoesNotMove() throws {
        try forge(Self.key(900), [UInt8](repeating: 9, count: 70_000))
        let error = #expect(throws: EngineError.self) { try moveAll() }
        #expect(error?.code == .damaged)
    }

    @Test func anIndexOutlivesItsBuffer() throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        let buffer = try #require(try store.engine.snapshot().tree(named: "t/insert-buffer"))
        try store.write { try $0.drop(buffer) }
        try IndexModel.expectEqual(try store.engine.snapshot().index(index), model(0..<600))
        try store.write { try $0.put(Self.batch(640..<680), in: index) }
        #expect(try buffered() == 40)
    }

    @Test func aBufferHasNoBuffer() throws {
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        try store.write { transaction in
            let other = try transaction.createIndex(named: "t/insert-buffer/insert-buffer")
            try transaction.put(Self.key(5000), [1], in: other)
        }
        for _ in 0..<2 {
            try IndexModel.expectEqual(try store.engine.snapshot().index(index), model(0..<640))
            #expect(try buffered() == 40)
            try store.reopen()
        }
    }

    @Test func anIndexThatFitsInThePoolHasNoBuffer() throws {
        let store = try TestStore { $0.poolBytes = 8 << 20 }
        let index = try store.write { try $0.createIndex(named: "t") }
        try store.write { try $0.put(Self.batch(0..<3000), in: index) }
        try store.write { try $0.put(Self.batch(3000..<3040), in: index) }
        #expect(try store.engine.snapshot().treeNames == ["t"])
    }

    @Test func storesOfSeveralProcessesHaveNoBuffer() throws {
        let store = try TestStore { $0.isShared = true }
        let index = try store.write { try $0.createIndex(named: "t") }
        try store.write { try $0.put(Self.batch(0..<600), in: index) }
        try store.write { try $0.put(Self.batch(600..<640), in: index) }
        #expect(try store.engine.snapshot().treeNames == ["t"])
    }
}
