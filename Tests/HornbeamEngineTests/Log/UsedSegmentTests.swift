import HornbeamThreads
import Synchronization
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Released segments are recycled as the next ones.
@Suite struct UsedSegmentTests {
    let disk = MemoryFileSystem()
    let faults: FaultInjector

    init() throws {
        faults = FaultInjector(disk)
        try disk.createDirectory("s")
    }

    private func writer(
        on fileSystem: (any FileSystem)? = nil, from end: LogMark = .origin, first: Int = 16384, largest: Int = 16384
    ) throws -> LogWriter {
        try LogWriter(
            directory: "s", fileSystem: fileSystem ?? faults, store: LogTests.store, continuing: end,
            nextSegment: LogSegmentNumber(1), options: LogTests.options(first, largest: largest))
    }

    /// Appends until so many segments were begun, and returns the number of the last record.
    @discardableResult
    private func fill(_ writer: LogWriter, segments: UInt64, from first: UInt64 = 1) throws -> UInt64 {
        var number = first
        let goal = (writer.currentSegment?.rawValue ?? writer.nextSegment.rawValue - 1) + segments
        while writer.currentSegment.map({ $0.rawValue < goal }) ?? true {
            _ = try writer.append([LogTests.record(number, bytes: 3000, compressible: false)])
            number += 1
        }
        return number - 1
    }

    private func removeAllButTheLast(_ writer: LogWriter) throws {
        try writer.removeSegments(before: writer.segment(holding: writer.end.position))
    }

    private func replay(from mark: LogMark, oldest: LogSegmentNumber) throws -> [UInt64] {
        var numbers: [UInt64] = []
        _ = try LogReader(directory: "s", fileSystem: disk, store: LogTests.store)
            .replay(from: mark, oldest: oldest, cleanlyClosed: false) { (number, payload, _) throws(EngineError) in
                #expect([UInt8](payload) == LogTests.record(number.rawValue, bytes: 3000, compressible: false).payload)
                numbers.append(number.rawValue)
            }
        return numbers
    }

    @Test("when there are enough segments no file is created or unlinked any more, and replay restores all logged changes", arguments: [1, 2, 4])
    func segmentsAreUsedAgain(_ atOnce: UInt64) throws {
        let writer = try writer()
        var last = try fill(writer, segments: atOnce + 1)
        try removeAllButTheLast(writer)
        faults.resetCounts()
        for round in 0..<5 {
            let (mark, oldest) = (writer.end, writer.segment(holding: writer.end.position))
            let first = last + 1
            last = try fill(writer, segments: atOnce, from: first)
            #expect(try replay(from: mark, oldest: oldest) == Array(first...last))
            try removeAllButTheLast(writer)
            if round % 2 == 0 { try writer.prepareSegment() }
        }
        #expect(faults.count(of: [.create, .remove]) == 0)
        #expect(writer.currentSegment?.rawValue == 6 * atOnce + 1)
    }

    /// Even if all segments have one salt, the old content of a recycled segment is not part of the log and proves nothing.
    @Test func oldContentOfARecycledSegmentIsNotInTheLog() throws {
        let writer = try writer()
        let last = try fill(writer, segments: 3)
        try removeAllButTheLast(writer)
        let (mark, oldest) = (writer.end, writer.segment(holding: writer.end.position))
        let first = try #require(writer.currentSegment)
        try writer.prepareSegment()
        let reader = LogReader(directory: "s", fileSystem: disk, store: LogTests.store)
        let unused = try reader.open(first.next)
        #expect(unused.start == nil)
        #expect(try unused.beginning(at: mark).bytes(at: mark.position, count: 4096)?.contains { $0 != 0 } == true)
        #expect(try replay(from: mark, oldest: oldest) == [])
        let newest = try fill(writer, segments: 1, from: last + 1)
        #expect(writer.currentSegment == first.next)
        #expect(try replay(from: mark, oldest: oldest) == Array(last + 1...newest))
        #expect(try reader.open(first.next).start?.position == LogPosition(mark.position.rawValue + (newest - last - 1) * 4096))
    }

    @Test func noMoreWaitThanACheckpointLetsGo() throws {
        let writer = try writer()
        try fill(writer, segments: 9)
        try removeAllButTheLast(writer)
        let names = ["spare-0000000000000001", "spare-0000000000000002", "spare-0000000000000003", "spare-0000000000000004"]
        #expect(try disk.list("s") == names + ["wal-0000000000000009"])
        try writer.removeAll()
        #expect(try disk.list("s") == [])
    }

    @Test("segments of another length than the next is to have are unlinked")
    func onlyWhatFitsIsUsedAgain() throws {
        let writer = try writer(first: 16384, largest: 65536)
        try fill(writer, segments: 5)
        try removeAllButTheLast(writer)
        let reader = LogReader(directory: "s", fileSystem: disk, store: LogTests.store)
        #expect(try reader.open(LogSegmentNumber(5)).header.segmentBytes == 65536)
        #expect(try disk.list("s") == ["spare-0000000000000003", "spare-0000000000000004", "wal-0000000000000005"])
        writer.setSegmentBytesGoal(16384)
        try removeAllButTheLast(writer)
        #expect(try disk.list("s") == ["wal-0000000000000005"])
    }

    @Test func segmentsOfAnEarlierWriterAreNotRecycled() throws {
        let earlier = try writer()
        try fill(earlier, segments: 3)
        let oldest = earlier.segment(holding: earlier.end.position)
        try earlier.removeSegments(before: oldest)
        #expect(try disk.list("s") == ["spare-0000000000000001", "spare-0000000000000002", "wal-0000000000000003"])
        let writer = try writer(from: earlier.end)
        try fill(writer, segments: 2)
        #expect(try disk.list("s").filter(PreparedSegment.isName) == ["spare-0000000000000001", "spare-0000000000000002"])
        try removeAllButTheLast(writer)
        #expect(try disk.list("s") == ["spare-0000000000000004", "wal-0000000000000005"], "3 was not begun by this writer")
    }

    @Test func aGroupThatNeedsALongerSegmentTakesTheRoomOfThoseThatWait() throws {
        let tight = TightDisk(capacity: 6 * 16384)
        try tight.createDirectory("s")
        let writer = try writer(on: tight)
        try fill(writer, segments: 5)
        try removeAllButTheLast(writer)
        #expect(tight.used == 5 * 16384)
        _ = try writer.append([LogTests.record(1, bytes: 50_000, compressible: false)])
        #expect(try tight.list("s") == ["wal-0000000000000005", "wal-0000000000000006"])
        #expect(writer.room.state == .ample)
        #expect(!writer.releaseRecycledSegments(), "none is left")
    }

    @Test("a segment that cannot be recycled is replaced by a new file", arguments: [FileSystemCall.rename, .open, .write])
    func failuresCostOneSegment(_ call: FileSystemCall) throws {
        let writer = try writer()
        let last = try fill(writer, segments: 3)
        try removeAllButTheLast(writer)
        faults.add(FaultRule(.fail(.inputOutput), calls: [call], after: 0))
        #expect(throws: EngineError.self) { try writer.prepareSegment() }
        #expect(try disk.list("s").count(where: PreparedSegment.isName) == (call == .rename ? 2 : 1), "nothing is left that nobody knows of")
        #expect(writer.recycled.withLock(\.count) == (call == .rename ? 2 : 1))
        let (mark, oldest) = (writer.end, writer.segment(holding: writer.end.position))
        let newest = try fill(writer, segments: 3, from: last + 1)
        #expect(try replay(from: mark, oldest: oldest) == Array(last + 1...newest))
    }
}
