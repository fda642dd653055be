import Glibc
import HornbeamThreads
import Testing

@testable import HornbeamEngine

/// Two writers of one store would undo each other's commits, so the lock is of a file that the store cannot live without, and a
/// writer whose files were removed throws instead of acknowledging anything.
@Suite struct StoreLockTests {
    private static func options(_ configure: (inout EngineOptions) -> Void = { _ in }) -> EngineOptions {
        var options = EngineOptions()
        options.pageSize = 1024
        options.poolBytes = 64 << 10
        options.usesBackgroundThread = false
        options.log.firstSegmentBytes = 64 << 10
        configure(&options)
        return options
    }

    private static func put(_ key: String, _ engine: Engine, bytes: Int = 1) throws {
        let transaction = try engine.begin()
        try transaction.setValue(key, [UInt8](repeating: 7, count: bytes))
        _ = try transaction.commit()
    }

    private static func values(_ engine: Engine, _ keys: [String]) throws -> [Bool] {
        let snapshot = try engine.snapshot()
        return try keys.map { try snapshot.value($0) != nil }
    }

    private static func failure(_ body: () throws -> Void) -> EngineError? {
        do { try body() } catch { return error as? EngineError }
        return nil
    }

    @Test func removingTheFileLockAdmitsNoSecondWriter() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: Self.options())
        try Self.put("a", first)
        unlink(path + "/lock")
        #expect(Self.failure { _ = try Engine.open(path, options: Self.options()) }?.code == .storeInUse)
        // Another process has its own table of locks; the kernel refuses it.
        let status = try Fork.run {
            Self.failure { _ = try PosixFileSystem().lock(path + "/meta", recordingHolderIn: path + "/lock") }?.code == .storeInUse ? 0 : 1
        }
        #expect(status == 0)
        try Self.put("b", first)
        try first.close()
        let second = try Engine.open(path, options: Self.options())
        #expect(try Self.values(second, ["a", "b"]) == [true, true])
        try second.close()
    }

    /// Changes that other processes make to the files of an open store.
    enum Loss: CaseIterable {
        case metaRemoved, metaReplaced, folderRemoved, folderMoved, anotherStoreInPlace
    }

    private static func perform(_ loss: Loss, _ path: String) throws {
        let fileSystem = PosixFileSystem()
        switch loss {
        case .metaRemoved: unlink(path + "/meta")
        case .metaReplaced:
            var bytes = [UInt8](repeating: 0, count: 16384)
            let old = try fileSystem.open(path + "/meta", .read)
            _ = try bytes.withUnsafeMutableBytes { try old.read(into: $0, at: 0) }
            try bytes.withUnsafeBytes { try fileSystem.open(path + "/copy", .create).write($0, at: 0) }
            try fileSystem.rename(path + "/copy", to: path + "/meta")
        case .folderMoved: try fileSystem.rename(path, to: path + "-moved")
        case .folderRemoved, .anotherStoreInPlace:
            for name in try fileSystem.list(path) { try fileSystem.remove(path + "/" + name) }
            try fileSystem.remove(path)
        }
        if loss == .anotherStoreInPlace { try Engine.open(path, options: options()).close() }
    }

    @Test(
        "a writer whose files are gone acknowledges nothing, says so, and touches nothing in their place", arguments: Loss.allCases,
        [1, 2000, 200_000])
    func aStoreThatIsGoneIsReported(_ loss: Loss, bytes: Int) throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: Self.options())
        try Self.put("a", first)
        try Self.perform(loss, path)
        let error = Self.failure { try Self.put("b", first, bytes: bytes) }
        #expect(error?.code == .durabilityLost)
        #expect(error?.message.hasPrefix("The store is gone: its folder, or the file meta in it, was removed, moved or replaced") == true)
        #expect(Self.failure { try first.checkpoint() }?.message == error?.message)
        #expect(Self.failure { try Self.put("c", first) }?.message == error?.message)
        #expect(Self.failure { try first.close() }?.message == error?.message)
        // The acknowledged commits are still there for the next writer.
        let place = loss == .folderMoved ? path + "-moved" : path
        guard loss != .metaRemoved, loss != .folderRemoved else { return }
        let next = try Engine.open(place, options: Self.options())
        #expect(try Self.values(next, ["a", "b", "c"]) == [loss != .anotherStoreInPlace, false, false])
        #expect(try next.check().problems == [])
        try next.close()
    }

    @Test func aCheckpointOfAStoreThatIsGoneRemovesNothing() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: Self.options())
        for round in 0..<20 { try Self.put("\(round)", first, bytes: 3000) }
        try Self.perform(.metaReplaced, path)
        let second = try Engine.open(path, options: Self.options())
        #expect(Self.failure { try first.checkpoint() }?.code == .durabilityLost)
        #expect(Self.failure { try first.close() }?.code == .durabilityLost)
        for round in 0..<20 { try Self.put("n\(round)", second, bytes: 3000) }
        try second.close()
        let third = try Engine.open(path, options: Self.options())
        #expect(try third.check().problems == [])
        #expect(try Self.values(third, (0..<20).flatMap { ["\($0)", "n\($0)"] }).allSatisfy { $0 })
        try third.close()
    }

    @Test("the next segment is not made in the folder of another store, whose segments do not change")
    func preparingASegmentTouchesNothingOfAnotherStore() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let first = try Engine.open(path, options: Self.options())
        try Self.put("a", first)
        try Self.perform(.folderMoved, path)
        try Self.leave("b", path)
        try PosixFileSystem().open(path + "/spare", .create).close()
        let names = try PosixFileSystem().list(path)
        let log = try #require(first.state.withLock { $0.log })
        #expect(Self.failure { try log.prepareSegment() }?.code == .durabilityLost)
        #expect(!log.releaseRecycledSegments())
        #expect(Self.failure { try first.checkpointer.run(log: nil, isForced: true) }?.code == .durabilityLost)
        #expect(try PosixFileSystem().list(path) == names)
        #expect(Self.failure { try first.close() }?.code == .durabilityLost)
        #expect(try PosixFileSystem().list(path) == names)
    }

    @Test("the reserve is neither made nor removed among the files of another store")
    func theReserveOfAnotherStoreStays() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let options = Self.options { $0.reserveBytes = 64 << 10 }
        let first = try Engine.open(path, options: options)
        try Self.put("a", first)
        try first.checkpoint()
        try Self.perform(.folderMoved, path)
        let second = try Engine.open(path, options: options)
        try Self.put("b", second)
        let unreserved = try PosixFileSystem().list(path)
        first.core.reserve.recordExistingFile([SpaceReserve.fileName])
        first.core.reserve.prepare(isUrgent: true)
        #expect(try PosixFileSystem().list(path) == unreserved)
        try second.checkpoint()
        let names = try PosixFileSystem().list(path)
        #expect(names.contains(SpaceReserve.fileName))
        #expect(!first.core.reserve.release())
        #expect(Self.failure { try first.close() }?.code == .durabilityLost)
        #expect(try PosixFileSystem().list(path) == names)
        try second.close()
    }

    /// Leaves a store with a log, as a crash does.
    private static func leave(_ key: String, _ path: String) throws {
        let engine = try Engine.open(path, options: options())
        try put(key, engine)
    }

    /// A writer without commits has nothing to write, and removes the log that it recovered: of its own store only.
    @Test func closingWithoutCommitsRemovesNothingOfAnotherStore() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        try Self.leave("a", path)
        let first = try Engine.open(path, options: Self.options())
        try Self.perform(.folderMoved, path)
        try Self.leave("b", path)
        let names = try PosixFileSystem().list(path)
        #expect(names.contains { LogSegmentNumber(fileName: $0) != nil })
        #expect(Self.failure { try first.close() }?.code == .durabilityLost)
        #expect(try PosixFileSystem().list(path) == names)
        let other = try Engine.open(path, options: Self.options())
        #expect(try Self.values(other, ["a", "b"]) == [false, true])
        try other.close()
        let moved = try Engine.open(path + "-moved", options: Self.options())
        #expect(try Self.values(moved, ["a", "b"]) == [true, false])
        try moved.close()
    }
}
