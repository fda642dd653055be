import Testing
@testable import HornbeamEngine

@Suite struct LogTests {
    let disk = MemoryFileSystem()
    static let store = StoreIdentifier(high: 11, low: 22)

    init() throws { try disk.createDirectory("s") }

    static func options(_ bytes: Int = 16384, largest: Int = 65536) -> LogOptions {
        LogOptions(firstSegmentBytes: bytes, largestSegmentBytes: largest, salt: { 0x5A17 })
    }

    func writer(
        from end: LogMark = .origin, next: LogSegmentNumber = LogSegmentNumber(1), options: LogOptions = options()
    ) throws -> LogWriter {
        try LogWriter(directory: "s", fileSystem: disk, store: Self.store, continuing: end, nextSegment: next, options: options)
    }

    private static let random: [UInt8] = {
        var random = SplitMix(seed: 5)
        return (0..<100_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }()

    /// A payload that differs for each number. A compressible payload is zero after its first bytes.
    static func record(_ number: UInt64, bytes: Int, compressible: Bool = true) -> TransactionRecord {
        var payload: [UInt8] = []
        while payload.count < bytes {
            if compressible { payload += [UInt8](repeating: 0, count: bytes) } else { payload += random[Int(number % 50)...] }
        }
        payload.removeLast(payload.count - bytes)
        if bytes > 0 { payload[0] = UInt8(truncatingIfNeeded: number) }
        return TransactionRecord(number: TransactionNumber(number), payload: payload)
    }

    func replay(
        from mark: LogMark = .origin, oldest: UInt64 = 1, clean: Bool = false
    ) throws -> (records: [TransactionRecord], end: LogEnd) {
        var records: [TransactionRecord] = []
        let reader = LogReader(directory: "s", fileSystem: disk, store: Self.store)
        let end = try reader.replay(from: mark, oldest: LogSegmentNumber(oldest), cleanlyClosed: clean) {
            (number, payload, _) throws(EngineError) in
            records.append(TransactionRecord(number: number, payload: [UInt8](payload)))
        }
        return (records, end)
    }

    @Test(arguments: [0, 1, 500, 511, 512, 4096, 100_000, 1 << 20, (1 << 20) + 1], [false, true])
    func everyPayloadSizeComesBack(bytes: Int, compressible: Bool) throws {
        let writer = try writer()
        var expected: [TransactionRecord] = []
        var random = SplitMix(seed: UInt64(bytes))
        for _ in 0..<3 {
            let group = (0..<Int.random(in: 1...3, using: &random)).map {
                Self.record(UInt64(expected.count + $0), bytes: bytes, compressible: compressible)
            }
            expected += group
            let mark = try writer.append(group)
            #expect(try writer.sync() == mark.position)
        }
        let (records, end) = try replay()
        #expect(records.map(\.number) == expected.map(\.number))
        #expect(records.map(\.payload) == expected.map(\.payload))
        #expect(end.mark == writer.end)
    }

    @Test("a payload is compressed only if the group is longer than a block without it", arguments: [(2000, true), (6000, false)])
    func groupsOfOneBlockAreNotCompressed(bytes: Int, isStoredAsItIs: Bool) throws {
        let record = Self.record(0xEE, bytes: bytes)
        _ = try writer().append([record])
        var stored = [UInt8](repeating: 0, count: 16384)
        let file = try disk.open("s/wal-0000000000000001", .read)
        _ = try stored.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        let payload = LogSegmentHeader.bytes + LogFrame.groupFrameBytes + LogFrame.headerBytes
        #expect((Array(stored[payload..<payload + bytes]) == record.payload) == isStoredAsItIs)
    }

    @Test func replayBeginsAtAnyMark() throws {
        let writer = try writer()
        var marks = [LogMark.origin]
        for number in 1...40 { marks.append(try writer.append([Self.record(UInt64(number), bytes: number * 70, compressible: false)])) }
        for (index, mark) in marks.enumerated() {
            let oldest = writer.segment(holding: mark.position)
            let (records, end) = try replay(from: mark, oldest: oldest.rawValue)
            #expect(records.map(\.number.rawValue) == Array(UInt64(index + 1)..<41))
            #expect(end.mark == writer.end)
        }
    }

    /// The lengths of the segments that are there.
    private func segmentBytes() throws -> [Int] {
        let reader = LogReader(directory: "s", fileSystem: disk, store: Self.store)
        return try reader.segments().map { Int(try reader.open($0).header.segmentBytes) }
    }

    @Test func segmentsDoubleUpToWhatIsAimedAt() throws {
        let writer = try writer(options: Self.options(16384, largest: 1 << 20))
        writer.setSegmentBytesGoal(128 << 10)
        var number: UInt64 = 0
        func fill(segments: Int) throws {
            while try segmentBytes().count < segments {
                number += 1
                _ = try writer.append([Self.record(number, bytes: 3000, compressible: false)])
            }
        }
        try fill(segments: 4)
        #expect(try segmentBytes() == [32 << 10, 64 << 10, 128 << 10, 128 << 10], "the first has a quarter")
        writer.setSegmentBytesGoal(1)
        try fill(segments: 6)
        #expect(try segmentBytes()[4...] == [16 << 10, 16 << 10], "no less than the options say")
        writer.setSegmentBytesGoal(1 << 30)
        try fill(segments: 13)
        #expect(try segmentBytes()[12] == 1 << 20, "no more than the options say")
        #expect(try replay().records.count == Int(number))
    }

    @Test func theNextSegmentIsWantedWhenHalfOfThisOneIsUsedUp() throws {
        let writer = try writer(options: Self.options(64 << 10, largest: 64 << 10))
        #expect(!writer.needsPreparedSegment, "a log that is only read is not written to")
        for number in 1...8 {
            // A group has two blocks and the header one: eight groups are more than half of sixteen blocks.
            #expect(!writer.needsPreparedSegment, "group \(number)")
            _ = try writer.append([Self.record(UInt64(number), bytes: 4096, compressible: false)])
            if number == 4 { break }
        }
        #expect(writer.needsPreparedSegment)
        try writer.prepareSegment()
        #expect(!writer.needsPreparedSegment)
        #expect(try disk.list("s") == ["wal-0000000000000001", "wal-0000000000000002"], "it has its name already")
    }
}
