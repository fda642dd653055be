import Testing

@testable import HornbeamEngine

/// Page files that go although a snapshot still reads them.
@Suite struct PageFileRemovalTests {
    /// Large values are appended to a file that stays open until the next checkpoint. One that was empty when a big
    /// transaction counted, and got a value that was deleted again before the checkpoint, passed for empty all the
    /// while: two checkpoints later it was removed under a reader from in between.
    ///
    ///     writer                          reader
    ///     puts a, deletes a
    ///     commits by a checkpoint (empty)
    ///     puts b in the same file
    ///                                     takes a snapshot
    ///     deletes b
    ///     two checkpoints
    ///                                     reads b
    @Test func aReaderKeepsAFileThatWasEmptyAndHeldAValueAgain() throws {
        let store = try TestStore(pageSize: 512) { options in
            options.checkpointLogBytes = 1 << 30
            options.attachThreshold = 2000
        }
        let value = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        let index = try store.write { try $0.createIndex(named: "index") }
        try store.write { try $0.put([1], value, in: index) }
        try store.write { _ = try $0.delete([1] as [UInt8], from: index) }
        try store.write { transaction in
            for n: UInt8 in 0..<200 { try transaction.put([2, n], Array(repeating: n, count: 60), in: index) }
        }
        try store.write { try $0.put([3], value, in: index) }
        let snapshot = try store.engine.snapshot()
        try store.write { _ = try $0.delete([3] as [UInt8], from: index) }
        for n: UInt8 in 0..<3 {
            try store.engine.checkpoint()
            try store.write { try $0.put([4, n], [n], in: index) }
        }
        #expect(try snapshot.index(index).get([3]) == value)
    }
}
