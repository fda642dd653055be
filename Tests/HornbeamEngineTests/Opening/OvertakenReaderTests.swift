import HornbeamThreads
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Readers and backups while the writer recycles the segments which they read:
/// they show what was durable when they began, or something newer, and never something older.
///
///     reader: open … | read the log … | … sound, and not older than 40
///     writer:        | 30 commits, checkpoints, segments 2, 3 … become 6, 7 …
@Suite struct OvertakenReaderTests {
    private static let oracle: EngineOracle = {
        var options = EngineOracle.smallest
        options.log = LogOptions(firstSegmentBytes: 16384, largestSegmentBytes: 16384)
        options.checkpointLogBytes = 3000
        return EngineOracle(transactions: 400, bigEvery: 1000, options: options)
    }()

    /// A store that a writer changes, with its expected content.
    private final class Written: Sendable {
        let disk = MemoryFileSystem()
        let engine: Engine
        let faults: FaultInjector
        let failure = Guarded<(any Error)?>(nil)

        init(through last: UInt64) throws {
            faults = FaultInjector(disk)
            engine = try Engine.open("s.hornbeam", fileSystem: faults, options: oracle.options)
            try oracle.commit(to: engine, through: last)
        }

        func goOn(by count: UInt64) {
            do {
                try oracle.commit(to: engine, through: oracle.newest(in: engine.snapshot()) + count)
            } catch { failure.withLock { $0 = error } }
        }
    }

    private func expectSound(_ engine: Engine, atLeast least: UInt64, _ call: Int) throws {
        try Self.oracle.expectSound(engine)
        let newest = try Self.oracle.newest(in: engine.snapshot())
        try #require(newest >= least, "interrupted at call \(call)")
    }

    /// Calls a body with an interruption at each call in turn, until there are no more calls.
    private func interruptEverywhere(
        _ name: String, times: Int = 1, by count: UInt64, _ body: (Written, Int, (Written, Int) -> InterruptedDisk) throws -> InterruptedDisk
    ) throws {
        var call = 0
        var isDone = false
        while !isDone {
            let written = try Written(through: 40)
            let disk = try body(written, call) { written, call in
                InterruptedDisk(written.disk, at: call, times: times) { written.goOn(by: count) }
            }
            if let failure = written.failure.withLock({ $0 }) { throw failure }
            isDone = !disk.wasInterrupted
            call += 1
        }
        print("\(name) interrupted at each of \(call - 1) calls")
        #expect(call > 10)
    }

    private static var reading: EngineOptions {
        var options = oracle.options
        options.isReadOnly = true
        return options
    }

    @Test func theWriterOfTheseTestsUsesSegmentsAgain() throws {
        let written = try Written(through: 40)
        let (made, unlinked) = (written.faults.count(of: [.create], kind: .spare), written.faults.count(of: [.remove], kind: .log))
        written.goOn(by: 120)
        let begun = written.faults.count(of: [.rename], kind: .spare)
        #expect(begun > 60)
        #expect(written.faults.count(of: [.create], kind: .spare) - made < 10)
        #expect(written.faults.count(of: [.remove], kind: .log) - unlinked < 10)
    }

    @Test("a reader that opens while segments are recycled shows all commits acknowledged before", arguments: [(1, 30), (3, 12)])
    func openingReaders(_ times: Int, _ count: UInt64) throws {
        try interruptEverywhere("opening", times: times, by: count) { written, call, interrupted in
            let disk = interrupted(written, call)
            let reader = try Engine.open("s.hornbeam", fileSystem: disk, options: Self.reading)
            try expectSound(reader, atLeast: 40, call)
            return disk
        }
    }

    /// The reader opens a state that it can read, and reports no damage for recycled segments.
    @Test func readersOfWhatCanBeRead() throws {
        try interruptEverywhere("opening what can be read", by: 30) { written, call, interrupted in
            let disk = interrupted(written, call)
            var options = Self.reading
            options.startingPoint = .lastReadable
            let reader = try Engine.open("s.hornbeam", fileSystem: disk, options: options)
            try expectSound(reader, atLeast: 40, call)
            try #require(reader.loss == nil, "interrupted at call \(call)")
            return disk
        }
    }

    @Test func refreshingReaders() throws {
        try interruptEverywhere("refreshing", by: 30) { written, call, interrupted in
            // The calls of the opening are not counted.
            let opening = InterruptedDisk(written.disk, at: .max - 1) {}
            _ = try Engine.open("s.hornbeam", fileSystem: opening, options: Self.reading)
            let disk = interrupted(written, opening.calls + call)
            let reader = try Engine.open("s.hornbeam", fileSystem: disk, options: Self.reading)
            written.goOn(by: 3)
            _ = try reader.refresh()
            try expectSound(reader, atLeast: 43, call)
            return disk
        }
    }

    @Test func backups() throws {
        try interruptEverywhere("a backup", by: 30) { written, call, interrupted in
            let disk = interrupted(written, call)
            let reader = try Engine.open("s.hornbeam", fileSystem: written.disk, options: Self.reading)
            let source = Recovery(path: "s.hornbeam", fileSystem: disk, options: reader.options)
            _ = try Backup(recovery: source, target: "copy.hornbeam", targetSystem: written.disk, durable: nil).run(nil)
            try expectSound(try Engine.open("copy.hornbeam", fileSystem: written.disk, options: Self.oracle.options), atLeast: 40, call)
            return disk
        }
    }
}
