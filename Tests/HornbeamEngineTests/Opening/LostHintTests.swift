import HornbeamThreads
import Testing

@testable import HornbeamEngine

/// Readers and backups beside a writer use its durable LSN hint. If they cannot read it, they throw.
@Suite struct LostHintTests {
    private static let path = "s.hornbeam"
    private let disk = MemoryFileSystem()

    private static func options(isReadOnly: Bool = false) -> EngineOptions {
        var options = EngineOptions()
        options.pageSize = 1024
        options.poolBytes = 64 << 10
        options.usesBackgroundThread = false
        options.log.firstSegmentBytes = 64 << 10
        options.isReadOnly = isReadOnly
        return options
    }

    private func makeWriter(commits: Int) throws -> Engine {
        let writer = try Engine.open(Self.path, fileSystem: disk, options: Self.options())
        for number in 0..<commits { try put(number, writer) }
        return writer
    }

    private func put(_ number: Int, _ writer: Engine) throws {
        let transaction = try writer.begin()
        try transaction.setValue("\(number)", [1])
        _ = try transaction.commit()
    }

    private func makeReader() throws -> Engine { try Engine.open(Self.path, fileSystem: disk, options: Self.options(isReadOnly: true)) }

    private func refusal(_ body: () throws -> Void) -> String? {
        do { try body() } catch { return "\(error)" }
        return nil
    }

    private static let unknown = """
        damaged: The durable position of the store's writer is unknown: the file lock, which holds it, is missing or cannot be read. \
        Try again; if that does not help, close the store in the process that writes it and open it there again. [s.hornbeam/lock]
        """

    enum Loss: CaseIterable { case removed, emptied, garbled }

    private func lose(_ loss: Loss) throws {
        switch loss {
        case .removed: try disk.remove(Self.path + "/lock")
        case .emptied:
            try disk.remove(Self.path + "/lock")
            _ = try disk.open(Self.path + "/lock", .create)
        case .garbled: try [UInt8](repeating: 0x5A, count: 8).withUnsafeBytes { try disk.open(Self.path + "/lock", .readWrite).write($0, at: 8) }
        }
    }

    @Test("without the hint a reader throws and shows no older version, and the writer's own backup is complete", arguments: Loss.allCases)
    func aLostHintIsAnError(_ loss: Loss) throws {
        let writer = try makeWriter(commits: 5)
        let reader = try makeReader()
        #expect(reader.latest == writer.latest)
        try lose(loss)
        #expect(refusal { _ = try makeReader() } == Self.unknown)
        #expect(refusal { _ = try reader.refresh() } == Self.unknown)
        #expect(reader.latest == writer.latest, "a reader that could not be refreshed shows what it showed")
        #expect(refusal { try reader.backup(to: "other.hornbeam") } == Self.unknown)
        #expect(try !disk.exists("other.hornbeam"))
        #expect(try writer.backup(to: "copy.hornbeam").transaction == writer.latest)
        let copy = try Engine.open("copy.hornbeam", fileSystem: disk, options: Self.options())
        #expect(try copy.snapshot().value("4") == [1])
        try copy.close()
        // The next checkpoint restores it.
        try put(5, writer)
        try writer.checkpoint()
        #expect(try makeReader().latest == writer.latest)
        #expect(try reader.refresh())
        #expect(reader.latest == writer.latest)
        try writer.close()
    }

    @Test("a reader finds a hint before the first commit of a writer")
    func theNoteIsThereFromTheStart() throws {
        let writer = try makeWriter(commits: 0)
        #expect(try makeReader().latest == writer.latest)
        try put(1, writer)
        try writer.close()
        try disk.remove(Self.path + "/lock")
        #expect(try makeReader().latest.rawValue == 1, "without a writer the log tells all")
        let again = try Engine.open(Self.path, fileSystem: disk, options: Self.options())
        #expect(try makeReader().latest == again.latest)
        try again.close()
    }

    @Test("a reader shows only durable commits, at whatever moment a writer opens the store")
    func aWriterThatComesMeanwhileIsNoticed() throws {
        var call = 0
        var isDone = false
        while !isDone {
            let disk = MemoryFileSystem()
            try Engine.open(Self.path, fileSystem: disk, options: Self.options()).close()
            let writer = Guarded<Engine?>(nil)
            let interrupted = InterruptedDisk(disk, at: call) {
                do {
                    let engine = try Engine.open(Self.path, fileSystem: disk, options: Self.options())
                    let transaction = try engine.begin()
                    try transaction.setValue("late", [1])
                    _ = try transaction.commit(.lazy(maxDelay: .seconds(60)))
                    writer.withLock { $0 = engine }
                } catch {}
            }
            let reader = try Engine.open(Self.path, fileSystem: interrupted, options: Self.options(isReadOnly: true))
            #expect(try reader.snapshot().value("late") == nil, "interrupted at call \(call)")
            isDone = !interrupted.wasInterrupted
            #expect((writer.withLock { $0 } == nil) == isDone)
            call += 1
        }
        #expect(call > 3)
    }

    @Test("a reader that starts again shows no older state than before")
    func aRestartDoesNotGoBack() throws {
        let writer = try makeWriter(commits: 3)
        let seen = try #require(writer.state.withLock { $0.log }).durable
        let recovery = Recovery(path: Self.path, fileSystem: disk, options: Self.options(isReadOnly: true))
        DurableLSNHint(Self.path + "/lock", fileSystem: disk, store: writer.storeIdentifier).recordDurable(LogPosition(4096))
        #expect(try recovery.openForReading().latest.rawValue == 1)
        #expect(try recovery.openForReading(from: seen).latest == writer.latest)
        try writer.close()
    }
}
