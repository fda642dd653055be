import Dispatch
import Glibc
import HornbeamThreads
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Engines opened for reading, beside one that writes.
@Suite struct ReaderTests {
    private func reading(_ options: EngineOptions) -> EngineOptions {
        var options = options
        options.isReadOnly = true
        return options
    }

    // MARK: In one process

    @Test("a reader shows the durable state when it opens, and newer ones when it is refreshed", arguments: 1...40)
    func readersFollow(_ step: UInt64) throws {
        let oracle = EngineOracle(transactions: 120)
        let disk = MemoryFileSystem()
        let writer = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
        try oracle.commit(to: writer, through: step)
        let reader = try Engine.open("s.hornbeam", fileSystem: disk, options: reading(oracle.options))
        let first = try reader.snapshot()
        while writer.latest.rawValue + step < 120 {
            #expect(reader.latest == writer.latest)
            try oracle.expectSound(reader)
            #expect(try !reader.refresh())
            try oracle.commit(to: writer, through: writer.latest.rawValue + step)
            #expect(try reader.refresh())
        }
        #expect(try oracle.digest(first) == oracle.digests[Int(step)])
    }

    /// A process dies after the commit record of a two-phase commit, and the next one writes a checkpoint before it applies the prepared part.
    @Test func aCheckpointReplacesATransactionThatIsInMemoryOnly() throws {
        let oracle = EngineOracle(transactions: 30)
        let disk = MemoryFileSystem()
        let writer = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
        var last: UInt64 = 10
        try oracle.commit(to: writer, through: last)
        while writer.checkpointer.latest.transaction == writer.latest {
            last += 1
            try oracle.commit(to: writer, through: last)
        }
        let reader = try Engine.open("s.hornbeam", fileSystem: disk, options: reading(oracle.options))
        try reader.overlay { try $0.setValue("shown", [1]) }
        #expect(reader.latest == writer.latest.next)
        try writer.checkpoint()
        #expect(try reader.refresh())
        #expect(reader.latest == writer.latest)
        #expect(try reader.snapshot().value("shown") == nil)
        try oracle.commit(to: writer, through: last + 1)
        #expect(try reader.refresh())
        try oracle.expectContent(reader)
    }

    @Test func manyRowsThatAreInMemoryOnlyMayExceedThePool() throws {
        let disk = MemoryFileSystem()
        var options = EngineOptions()
        (options.pageSize, options.poolBytes, options.attachThreshold) = (512, 64 * 512, 20_000)
        let writer = try Engine.open("s.hornbeam", fileSystem: disk, options: options)
        let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed8)])
        let transaction = try writer.begin()
        let table = try transaction.createTable(named: "table", layout: layout)
        _ = try transaction.commit()
        let reader = try Engine.open("s.hornbeam", fileSystem: disk, options: reading(options))
        try reader.overlay { transaction in
            let row = RowBuffer(layout: layout)
            for key in 1...20_000 as ClosedRange<UInt64> {
                row.reset()
                row.set(0, key)
                try transaction.put(row, key: key, in: table)
            }
        }
        for _ in 0..<3 {
            var sum: UInt64 = 0
            try reader.snapshot().table(table).forEachLeaf { leaf throws(EngineError) in
                for slot in 0..<leaf.count { sum += leaf.row(slot).load(0, as: UInt64.self) }
                return true
            }
            #expect(sum == 20_000 * 20_001 / 2)
        }
    }

    @Test func readersWriteNothing() throws {
        let oracle = EngineOracle(transactions: 30)
        let disk = SimulatedDisk()
        let writer = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
        try oracle.commit(to: writer, through: 20)
        let operations = disk.operationCount
        let reader = try Engine.open("s.hornbeam", fileSystem: disk, options: reading(oracle.options))
        try oracle.expectSound(reader)
        let error = #expect(throws: EngineError.self) { try reader.begin() }
        #expect(
            error?.description
                == "readOnly: The store was opened for reading only. Open it for writing to change it. [s.hornbeam]")
        try reader.close()
        #expect(throws: EngineError.self) { try reader.refresh() }
        #expect(disk.operationCount == operations)
    }

    @Test func everyCrashCanBeReadBeforeItIsRecovered() throws {
        let oracle = EngineOracle(transactions: 30)
        var enumerator = CrashEnumerator(seed: 5)
        enumerator.subsetsUpTo = 2
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 2
        let report = try enumerator.run(
            workload: { disk in
                let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: oracle.options)
                try oracle.commit(to: engine, through: 20, disk: disk)
                try engine.close()
            },
            verify: { image in
                guard try image.disk.exists("s.hornbeam/meta") else { return }
                let operations = image.disk.operationCount
                let reader = try Engine.open("s.hornbeam", fileSystem: image.disk, options: reading(oracle.options))
                try oracle.expectSound(reader)
                let found = reader.latest
                guard found.rawValue >= image.acknowledged, image.disk.operationCount == operations else {
                    throw Finding("read transaction \(found)")
                }
                let writer = try Engine.open("s.hornbeam", fileSystem: image.disk, options: oracle.options)
                guard writer.latest == found else { throw Finding("recovered \(writer.latest), read \(found)") }
            })
        #expect(report.images > 200)
    }

    @Test func aSnapshotOutlivesTheFilesThatItReads() throws {
        let oracle = EngineOracle(transactions: 300)
        let folder = TemporaryFolder()
        let path = folder.path + "/s.hornbeam"
        let writer = try Engine.open(path, options: oracle.options)
        try oracle.commit(to: writer, through: 40)
        try writer.checkpoint()
        let reader = try Engine.open(path, options: reading(oracle.options))
        let held = try reader.snapshot()
        let before = try Set(PosixFileSystem().list(path))
        try oracle.commit(to: writer, through: 300)
        #expect(try !before.isSubset(of: PosixFileSystem().list(path)))
        #expect(try oracle.digest(held) == oracle.digests[40])
        #expect(try reader.refresh())
        #expect(try oracle.digest(held) == oracle.digests[40])
        try oracle.expectSound(reader)
        #expect(reader.latest == writer.latest)
    }

    @Test func aFolderThatCannotBeWrittenCanBeRead() throws {
        let oracle = EngineOracle(transactions: 30)
        let folder = TemporaryFolder()
        let path = folder.path + "/s.hornbeam"
        let writer = try Engine.open(path, options: oracle.options)
        try oracle.commit(to: writer, through: 20)
        try writer.close()
        try? PosixFileSystem().remove(path + "/lock")
        chmod(path, 0o500)
        defer { chmod(path, 0o700) }
        let names = try PosixFileSystem().list(path)
        let reader = try Engine.open(path, options: reading(oracle.options))
        try oracle.expectSound(reader)
        #expect(reader.latest.rawValue == 20)
        #expect(try PosixFileSystem().list(path) == names)
    }

    @Test func readersNeedAStore() throws {
        let error = #expect(throws: EngineError.self) {
            try Engine.open("none.hornbeam", fileSystem: MemoryFileSystem(), options: reading(EngineOptions()))
        }
        #expect(error?.description == "notAStore: There is no store at this path. [none.hornbeam]")
    }

    // MARK: Two processes

    private static let transactions: UInt64 = 900

    /// Where the child of a process keeps its store.
    static func path(ofChildOf process: pid_t) -> String { "/tmp/hornbeam-readers-\(process)/s.hornbeam" }

    /// The child: commits until it dies in the middle of a transaction.
    static func writeAndDie() throws {
        let oracle = EngineOracle(transactions: transactions + 1)
        let engine = try Engine.open(path(ofChildOf: getppid()), options: oracle.options)
        for last in stride(from: 20, through: transactions, by: 20) {
            try oracle.commit(to: engine, through: last)
            // The reader beside it gets its share of a busy machine too.
            usleep(30_000)
        }
        let transaction = try engine.begin()
        _ = try transaction.createIndex(named: "never committed")
        kill(getpid(), SIGKILL)
    }

    @Test("a reader in another process sees one commit at a time, before and after the writer dies", .timeLimit(.minutes(20)))
    func readersBesideAnotherProcess() async throws {
        let path = Self.path(ofChildOf: getpid())
        try PosixFileSystem().createDirectory(parent(ofPath: path))
        let folder = OwnedFolder(parent(ofPath: path))
        defer { folder.remove() }
        // Uses a thread of its own, because tests that block would occupy all threads of the task pool.
        let readings = Readings()
        DispatchQueue.global().async {
            let result = Result { try Self.readUntilTheEnd(path) }
            readings.result.withLock { $0 = result }
            readings.result.signal()
        }
        await #expect(processExitsWith: .signal(SIGKILL)) { try ReaderTests.writeAndDie() }
        let (states, refreshes) = try readings.result.wait { $0 }.get()
        print("readers beside a writer: \(states) states verified in \(refreshes) refreshes")
        #expect(states > 5)
        let oracle = EngineOracle(transactions: Self.transactions)
        let writer = try Engine.open(path, options: oracle.options)
        #expect(try oracle.newest(in: writer.snapshot()) == Self.transactions)
    }

    /// Opens and refreshes in turn, and compares each state with the expected one.
    private static func readUntilTheEnd(_ path: String) throws -> (states: Int, refreshes: Int) {
        let oracle = EngineOracle(transactions: transactions)
        var options = oracle.options
        options.isReadOnly = true
        var refreshes = 0
        var seen: Set<UInt64> = []
        while !(try PosixFileSystem().exists(path)) { usleep(1000) }
        while !seen.contains(transactions) {
            let reader = try Engine.open(path, options: options)
            for _ in 0..<20 {
                let snapshot = try reader.snapshot()
                // The engine's own numbers include upkeep.
                let number = try oracle.newest(in: snapshot)
                guard try oracle.digest(snapshot) == oracle.digests[Int(number)] else {
                    throw Finding("the content is not that after transaction \(number)")
                }
                seen.insert(number)
                refreshes += 1
                _ = try reader.refresh()
            }
        }
        return (seen.count, refreshes)
    }
}

/// The result of the reading thread.
private final class Readings: Sendable {
    let result = Guarded<Result<(states: Int, refreshes: Int), any Error>?>(nil)
}

/// A folder that a test made under a name of its own.
private struct OwnedFolder {
    let path: String
    init(_ path: String) { self.path = path }

    func remove() {
        let system = PosixFileSystem()
        for store in (try? system.list(path)) ?? [] {
            for name in (try? system.list(path + "/" + store)) ?? [] { try? system.remove(path + "/" + store + "/" + name) }
            try? system.remove(path + "/" + store)
        }
        try? system.remove(path)
    }
}
