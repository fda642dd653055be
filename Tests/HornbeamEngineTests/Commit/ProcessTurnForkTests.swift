import Glibc
import HornbeamThreads
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The turn of real processes, which are forked from this one.
@Suite struct ProcessTurnForkTests {
    /// Executes in this process what forked children execute, so that they find the metadata of all types. A child that makes metadata waits
    /// forever if another thread of this process was making some at the fork.
    private static let preparation = Result {
        let folder = TemporaryFolder()
        let engines = try (0..<2).map { _ in try Engine.open(folder.path + "/s", options: ProcessTurnTests.options()) }
        for _ in 0..<3 { for engine in engines { try ProcessTurnTests.increment(engine) } }
        for engine in engines { _ = try engine.refresh() }
        for engine in engines { try engine.close() }
        #expect(throws: EngineError.self) { try engines[0].begin() }
    }

    @Test func theProcessWithTheTurnIsNamed() throws {
        try Self.preparation.get()
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        try Engine.open(path, options: ProcessTurnTests.options()).close()
        var begun: [Int32] = [-1, -1]
        var ended: [Int32] = [-1, -1]
        #expect(pipe(&begun) == 0)
        #expect(pipe(&ended) == 0)
        let child = try Fork.start {
            do {
                close(ended[1])
                let engine = try Engine.open(path, options: ProcessTurnTests.options())
                let transaction = try engine.begin()
                var byte: UInt8 = 0
                _ = Glibc.write(begun[1], &byte, 1)
                // Until the parent closes the pipe.
                _ = Glibc.read(ended[0], &byte, 1)
                transaction.abort()
                try engine.close()
                return 0
            } catch { return 2 }
        }
        close(begun[1])
        var byte: UInt8 = 0
        #expect(Glibc.read(begun[0], &byte, 1) == 1)
        let engine = try Engine.open(path, options: ProcessTurnTests.options { $0.busyTimeout = .milliseconds(50) })
        let busy = #expect(throws: EngineError.self) { try engine.begin() }
        #expect(busy?.code == .busy)
        #expect(busy?.message == "Process \(child.id) writes the store and did not hand over the turn in time. Try again, or raise the time limit.")
        close(ended[1])
        #expect(child.end() == 0)
        try engine.close()
        for descriptor in [begun[0], ended[0]] { close(descriptor) }
    }

    @Test func aProcessThatIsKilledFreesTheTurn() throws {
        try Self.preparation.get()
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        for round in 1...5 as ClosedRange<UInt64> {
            let child = try Fork.start {
                do {
                    let engine = try Engine.open(path, options: ProcessTurnTests.options())
                    try ProcessTurnTests.increment(engine)
                    let transaction = try engine.begin()
                    try transaction.setValue("other", [1])
                    kill(getpid(), SIGKILL)
                    return 1
                } catch { return 2 }
            }
            #expect(child.end() == -1)
            let engine = try Engine.open(path, options: ProcessTurnTests.options())
            let transaction = try engine.begin()
            #expect(try ProcessTurnTests.number(transaction) == round)
            #expect(try transaction.value("other") == nil)
            transaction.abort()
            try engine.close()
        }
    }

    @Test("processes count beside this one, and are killed", arguments: [false, true])
    func processesCount(areKilled: Bool) throws {
        try Self.preparation.get()
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        try Engine.open(path, options: ProcessTurnTests.options()).close()
        let children = try (0..<3).map { _ in
            try Fork.start {
                do {
                    let engine = try Engine.open(path, options: ProcessTurnTests.options())
                    for _ in 0..<(areKilled ? 1_000_000 : 50) { try ProcessTurnTests.increment(engine) }
                    try engine.close()
                    return 0
                } catch { return 2 }
            }
        }
        let engine = try Engine.open(path, options: ProcessTurnTests.options())
        for _ in 0..<50 { try ProcessTurnTests.increment(engine) }
        if areKilled { for child in children { kill(child.id, SIGKILL) } }
        for child in children { #expect(child.end() == (areKilled ? -1 : 0)) }
        let transaction = try engine.begin()
        let count = try ProcessTurnTests.number(transaction)
        #expect(areKilled ? count >= 50 : count == 200)
        transaction.abort()
        try engine.close()
    }

    @Test("a forked child has no place in the turn, and does not keep that of its parent")
    func aForkedChildHasNoTurn() throws {
        try Self.preparation.get()
        let folder = TemporaryFolder()
        let path = folder.path + "/s"
        let parent = try Engine.open(path, options: ProcessTurnTests.options())
        try ProcessTurnTests.increment(parent)
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let child = try Fork.start {
            do { _ = try parent.begin() } catch {
                guard (error as? EngineError)?.code == .closed else { return 2 }
                do { _ = try parent.refresh() } catch {
                    // The child lives until the parent closes the pipe.
                    close(ends[1])
                    var byte: UInt8 = 0
                    _ = Glibc.read(ends[0], &byte, 1)
                    return (error as? EngineError)?.code == .closed ? 0 : 3
                }
            }
            return 1
        }
        let other = try Engine.open(path, options: ProcessTurnTests.options())
        try ProcessTurnTests.increment(other)
        try ProcessTurnTests.increment(parent)
        close(ends[1])
        #expect(child.end() == 0)
        let transaction = try other.begin()
        #expect(try ProcessTurnTests.number(transaction) == 3)
        transaction.abort()
        try parent.close()
        try other.close()
        close(ends[0])
    }
}
