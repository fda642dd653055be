import Glibc
import Testing

@testable import HornbeamEngine

/// A child that is forked without an exec has its parent's memory and descriptors, and none of its threads.
@Suite struct ForkTests {
    enum Medium: CaseIterable { case disk, memory }

    private static func options() -> EngineOptions {
        var options = EngineOptions()
        options.pageSize = 1024
        options.poolBytes = 64 << 10
        options.log.firstSegmentBytes = 64 << 10
        return options
    }

    private static func put(_ key: String, _ engine: Engine) throws {
        let transaction = try engine.begin()
        try transaction.setValue(key, [1])
        _ = try transaction.commit()
    }

    private static func isRefused(_ body: () throws -> Void) -> Bool {
        do { try body() } catch {
            return (error as? EngineError)?.description.hasPrefix(
                "closed: The store was opened before this process was forked. Open it again in the child process.") ?? false
        }
        return false
    }

    @Test("each use of a store in a forked child is refused, and the parent is unharmed", arguments: Medium.allCases)
    func usesInAChildAreRefused(_ medium: Medium) throws {
        let folder = TemporaryFolder()
        let fileSystem: any FileSystem = medium == .disk ? PosixFileSystem() : MemoryFileSystem()
        let path = medium == .disk ? folder.path + "/s" : "s"
        var engine: Engine? = try Engine.open(path, fileSystem: fileSystem, options: Self.options())
        let open = try #require(engine)
        try Self.put("a", open)
        let status = try Fork.run {
            let calls: [() throws -> Void] = [
                { _ = try open.begin() }, { _ = try open.snapshot() }, { try open.checkpoint() }, { try open.compact() },
                { _ = try open.refresh() }, { try open.backup(to: path + "-copy") }, { _ = try open.check() },
                { try open.waitUntilDurable(open.latest) }, { try open.close() },
            ]
            for (number, call) in calls.enumerated() where !Self.isRefused(call) { return Int32(number + 1) }
            return 0
        }
        #expect(status == 0)
        try Self.put("b", open)
        try open.checkpoint()
        try open.close()
        engine = nil
        let again = try Engine.open(path, fileSystem: fileSystem, options: Self.options())
        #expect(try again.snapshot().value("a") == [1])
        #expect(try again.snapshot().value("b") == [1])
        try again.close()
    }

    @Test("a transaction that was begun before the fork cannot be committed in the child, and can in the parent", arguments: Medium.allCases)
    func anOlderTransactionIsRefusedInAChild(_ medium: Medium) throws {
        let folder = TemporaryFolder()
        let fileSystem: any FileSystem = medium == .disk ? PosixFileSystem() : MemoryFileSystem()
        let path = medium == .disk ? folder.path + "/s" : "s"
        let engine = try Engine.open(path, fileSystem: fileSystem, options: Self.options())
        let transaction = try engine.begin()
        try transaction.setValue("a", [1])
        let status = try Fork.run { Self.isRefused { _ = try transaction.commit() } ? 0 : 1 }
        #expect(status == 0)
        _ = try transaction.commit()
        #expect(try engine.snapshot().value("a") == [1])
        try engine.close()
    }

    @Test func aLockOfTheParentIsNotHeldByTheChild() throws {
        let folder = TemporaryFolder()
        let fileSystem = PosixFileSystem()
        try fileSystem.open(folder.path + "/meta", .create).close()
        let lock = try fileSystem.lock(folder.path + "/meta", recordingHolderIn: folder.path + "/lock")
        let status = try Fork.run { Self.isRefused { try lock.verify() } ? 0 : 1 }
        #expect(status == 0)
        try lock.verify()
        lock.release()
    }

    /// The threads of an engine and a pool are not there to be joined.
    @Test(.timeLimit(.minutes(20)))
    func aChildMayDropTheStoreOfItsParent() throws {
        let folder = TemporaryFolder()
        var engine: Engine? = try Engine.open(folder.path + "/s", options: Self.options())
        try engine.map { try Self.put("a", $0) }
        let status = try Fork.run {
            engine = nil
            return 0
        }
        #expect(status == 0)
        try engine.map { try Self.put("b", $0) }
        try engine?.close()
    }

    @Test(.timeLimit(.minutes(20)))
    func aChildKeepsNoLockOfItsParent() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let engine = try Engine.open(path, options: Self.options())
        var pipe: [Int32] = [0, 0]
        try #require(Glibc.pipe(&pipe) == 0)
        let (input, output) = (pipe[0], pipe[1])
        let child = try Fork.start {
            Glibc.close(output)
            var byte: UInt8 = 0
            return read(input, &byte, 1) == 0 ? 0 : 1
        }
        try engine.close()
        // The child is still there.
        let again = try Engine.open(path, options: Self.options())
        try again.close()
        Glibc.close(output)
        #expect(child.end() == 0)
        Glibc.close(input)
    }

    @Test func aChildOpensTheStoreAfterItsParentHasClosedIt() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let engine = try Engine.open(path, options: Self.options())
        try Self.put("a", engine)
        var pipe: [Int32] = [0, 0]
        try #require(Glibc.pipe(&pipe) == 0)
        let (input, output) = (pipe[0], pipe[1])
        let child = try Fork.start {
            Glibc.close(output)
            do {
                _ = try Engine.open(path, options: Self.options())
                return 1
            } catch { if (error as? EngineError)?.code != .storeInUse { return 2 } }
            var byte: UInt8 = 0
            guard read(input, &byte, 1) == 0 else { return 3 }
            do {
                let own = try Engine.open(path, options: Self.options())
                guard try own.snapshot().value("a") == [1] else { return 4 }
                try Self.put("b", own)
                try own.close()
                return 0
            } catch { return 5 }
        }
        usleep(50_000)
        try engine.close()
        Glibc.close(output)
        Glibc.close(input)
        #expect(child.end() == 0)
    }

    @Test("a child may drop or continue a big transaction, whose leaves a thread of the parent packs")
    func bigTransactionsInAChild() throws {
        let engine = try Engine.open("s", fileSystem: MemoryFileSystem(), options: Self.options())
        let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed8)])
        let row = RowBuffer(layout: layout)
        func fill(_ keys: Range<UInt64>, _ transaction: WriteTransaction, _ table: TreeID) throws {
            for key in keys { try transaction.put(row, key: key, in: table) }
        }
        var open: WriteTransaction? = try engine.begin()
        let table = try #require(open).createTable(named: "table", layout: layout)
        try open?.applyDeferred()
        open?.redo.abandon()
        try fill(1..<20_000, #require(open), table)
        #expect(open?.ledger.filledLeaves != nil)
        // Changes of leaves that are being packed, and further filled ones.
        #expect(try Fork.run {
            guard let open else { return 1 }
            do { for start in stride(from: 19_999 as UInt64, to: 19_400, by: -7) { try fill(start..<start + 1, open, table) } } catch { return 2 }
            return Self.isRefused { try fill(20_000..<40_000, open, table) } ? 0 : 3
        } == 0)
        #expect(try Fork.run {
            open = nil
            return 0
        } == 0)
        _ = try open?.commit()
        #expect(open?.ledger.filledLeaves == nil)
        #expect(try engine.snapshot().table(table).count == 19_999)
        #expect(try engine.check().problems == [])
        try engine.close()
    }
}
