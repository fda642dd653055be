import Testing
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The cases of other engines' log tests, by their names.
@Suite struct LogCaseTests {
    let disk = SimulatedDisk()

    init() throws {
        try disk.createDirectory("s")
        try disk.syncDirectory(".", .pageFileNames)
    }

    func makeWriter(continuing end: LogMark = .origin, largest: Int = 1 << 20) throws -> LogWriter {
        try LogWriter(
            directory: "s", fileSystem: disk, store: LogOracle.store, continuing: end, nextSegment: LogSegmentNumber(1),
            options: LogOptions(firstSegmentBytes: 16384, largestSegmentBytes: largest))
    }

    func replay() throws -> (texts: [String], end: LogEnd) {
        var texts: [String] = []
        let reader = LogReader(directory: "s", fileSystem: disk, store: LogOracle.store)
        let end = try reader.replay(from: .origin, oldest: LogSegmentNumber(1), cleanlyClosed: true) {
            (_, payload, _) throws(EngineError) in texts.append(String(decoding: payload, as: UTF8.self))
        }
        return (texts, end)
    }

    func record(_ number: Int, _ text: String) -> TransactionRecord {
        TransactionRecord(number: TransactionNumber(UInt64(number)), payload: Array(text.utf8))
    }

    @Test("storage.log.002: empty records are records")
    func emptyRecordsAreRecords() throws {
        let writer = try makeWriter()
        for (index, text) in ["foo", "bar", "", "xxxx"].enumerated() { _ = try writer.append([record(index + 1, text)]) }
        #expect(try replay().texts == ["foo", "bar", "", "xxxx"])
    }

    @Test("storage.log.003: many small records come back in order")
    func manySmallRecords() throws {
        let writer = try makeWriter()
        for start in stride(from: 0, to: 20_000, by: 500) {
            _ = try writer.append((start..<start + 500).map { record($0 + 1, String($0)) })
        }
        #expect(try replay().texts == (0..<20_000).map(String.init))
    }

    @Test("storage.log.005: a group that ends at a block's end, one before it, one after it", arguments: -9...9)
    func groupsAtTheEndOfABlock(slack: Int) throws {
        let writer = try makeWriter()
        let room = 4096 - LogFrame.groupFrameBytes - LogFrame.headerBytes
        let noise = String(decoding: PageBench.payload(2, count: room + slack).map { 33 + $0 % 90 }, as: UTF8.self)
        let expected = [noise, "", "bar"]
        for (index, text) in expected.enumerated() { _ = try writer.append([record(index + 1, text)]) }
        let (texts, end) = try replay()
        #expect(texts == expected)
        #expect(end.mark == writer.end)
    }

    @Test("storage.log.007: a log continues after it was opened again")
    func appendAfterReopening() throws {
        var expected: [String] = []
        for round in 0..<5 {
            let writer = try makeWriter(continuing: replay().end.mark)
            expected.append("hello \(round)")
            _ = try writer.append([record(round + 1, expected[round])])
            _ = try writer.sync()
        }
        #expect(try replay().texts == expected)
    }

    @Test("storage.log.013, storage.log.014: a part without its commit is no transaction")
    func halfATransactionIsNone() throws {
        for kinds in [[LogFrameKind.part], [.part, .commit], [.commit, .part], [.seal], [.group, .commit]] {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let length = LogFrame.groupFrameBytes + kinds.count * LogFrame.headerBytes
            bytes.withMutableBytes { buffer in
                let group = LogFrame(kind: .group, payloadBytes: LogFrame.groupPayloadBytes, position: .zero, value: 0)
                var check = group.encodeSelfChecked(into: buffer, groupBytes: length, previous: 9, segment: 1, seed: 9)
                for (index, kind) in kinds.enumerated() {
                    let offset = LogFrame.groupFrameBytes + index * LogFrame.headerBytes
                    let frame = LogFrame(kind: kind, payloadBytes: 0, position: LogPosition(UInt64(offset)), value: UInt64(index))
                    check = frame.encode(into: buffer.part(offset..<4096), seed: check)
                }
            }
            #expect(LogGroup(decoding: bytes, count: length, at: .zero, seed: 9, path: "") == nil, "\(kinds)")
        }
    }

    @Test("storage.log.020: numbers of segments are not used again, and segments go when they are not needed")
    func numbersOfSegmentsAreNotUsedAgain() throws {
        let writer = try makeWriter(largest: 16384)
        var seen: Set<LogSegmentNumber> = []
        for number in 1...30 {
            _ = try writer.append([record(number, String(repeating: "\(number % 10)", count: 100))])
            if let segment = writer.currentSegment { seen.insert(segment) }
        }
        let limit = writer.segment(holding: writer.end.position)
        try writer.removeSegments(before: limit)
        let reader = LogReader(directory: "s", fileSystem: disk, store: LogOracle.store)
        #expect(try reader.segments() == [limit])
        #expect(seen.count == 15 && writer.nextSegment == limit.next)
        try writer.prepareSegment()
        try writer.removeAll()
        #expect(try disk.list("s") == [])
        #expect(message { try writer.append([record(31, "")]) }.hasPrefix("closed"))
    }

    @Test func aLoneCommitIsOneWriteAndOneSync() throws {
        let faults = FaultInjector(disk)
        let writer = try LogWriter(
            directory: "s", fileSystem: faults, store: LogOracle.store, continuing: .origin, nextSegment: LogSegmentNumber(1))
        #expect(faults.count(of: FileSystemCall.changing) == 0, "a log that is only opened writes nothing")
        _ = try writer.append([record(1, "x")])
        faults.resetCounts()
        for number in 2...20 {
            _ = try writer.append([record(number, "x")])
            _ = try writer.sync()
        }
        #expect(faults.count(of: FileSystemCall.changing) == 2 * 19)
        #expect(faults.count(of: [.write], kind: .log) == 19 && faults.count(of: [.sync], kind: .log) == 19)
        _ = try writer.sync()
        #expect(faults.count(of: [.sync]) == 19, "nothing to sync, no sync")
    }

    /// Threads that append and sync at once; drawn as time running down:
    ///
    ///     A: append 1 | sync 1 ............ |
    ///     B:          | append 2 | sync 2 → waits, finds 2 covered or syncs once
    @Test func concurrentSyncsCoverEverything() async throws {
        let faults = FaultInjector(disk)
        let writer = try LogWriter(
            directory: "s", fileSystem: faults, store: LogOracle.store, continuing: .origin, nextSegment: LogSegmentNumber(1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    for index in 0..<50 {
                        let mark = try writer.append([record(thread * 100 + index, "x")])
                        #expect(try writer.sync() >= mark.position)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try replay().texts.count == 200)
        #expect(faults.count(of: [.sync], kind: .log) <= 200)
    }
}
